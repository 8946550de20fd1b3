"""Read a template, for those who administer it."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import TemplateRecord, in_area
from chamberlain.store import template_records
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ReadTemplate:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization
    area: TemplateArea

    async def __call__(self, caller: Caller, template_id: TemplateId) -> TemplateRecord:
        """Raises Forbidden, and NotFound, for a template of another area too."""
        await self.authorization.require(caller, self.area.administer)
        async with self.database.transaction(caller.tenant_id) as tx:
            return in_area(await template_records.find(tx, template_id), self.area)
