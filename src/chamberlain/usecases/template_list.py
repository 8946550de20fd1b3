"""List templates for those who administer them, newest first."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import TemplateRecord
from chamberlain.store import template_records
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListTemplates:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization
    area: TemplateArea

    async def __call__(self, caller: Caller, page: PageWanted) -> Page[TemplateRecord]:
        """Those that are not active too. Raises Forbidden."""
        await self.authorization.require(caller, self.area.administer)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await template_records.find_page(tx, self.area.kinds, page)
