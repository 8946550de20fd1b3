"""List the jobs of a tenant that wait for a person, newest first."""

from dataclasses import dataclass

from chamberlain.rules.callers import Caller
from chamberlain.rules.jobs import HeldJob
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation, ScopePrefixes, require
from chamberlain.store import jobs
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListJobs:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes

    async def __call__(self, caller: Caller, page: PageWanted) -> Page[HeldJob]:
        """Raises Forbidden."""
        await self.callers.extent(caller, require(caller, Operation.ADMINISTER_SERVICE, self.prefixes))
        async with self.database.transaction(caller.tenant_id) as tx:
            return await jobs.held_page(tx, page)
