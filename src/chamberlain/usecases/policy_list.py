"""List guest policies for those who administer them, newest first."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.rules.policy_records import PolicyRecord
from chamberlain.store import policies
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListPolicies:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, page: PageWanted) -> Page[PolicyRecord]:
        """Those that are not active too. Raises Forbidden."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await policies.find_page(tx, caller.tenant_id, page)
