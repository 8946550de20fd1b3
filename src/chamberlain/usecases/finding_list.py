"""List findings, newest first: what is against the rules, and what was."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.findings import FindingFilter, FindingRecord
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import finding_lists
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListFindings:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, wanted: FindingFilter, page: PageWanted) -> Page[FindingRecord]:
        """Those that the filter names. Raises Forbidden."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await finding_lists.find_page(tx, caller.tenant_id, wanted, page)
