"""List the adoptions of a tenant, newest first."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.adoption_records import AdoptionRecord
from chamberlain.rules.callers import Caller
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import adoptions
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListAdoptions:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, page: PageWanted) -> Page[AdoptionRecord]:
        """Raises Forbidden."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await adoptions.find_page(tx, page)
