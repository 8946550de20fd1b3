"""List the jobs that wait for a person: those of a tenant, newest first, or all that there are."""

from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.jobs import HeldJob
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import held_jobs
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListJobs:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, page: PageWanted) -> Page[HeldJob]:
        """Raises Forbidden."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await held_jobs.find_page(tx, page)


@dataclass(frozen=True, slots=True)
class ListJobsByHand:
    """For whoever has the database, as the worker's role: those of all tenants, oldest first."""

    database: Database

    async def __call__(self) -> Sequence[HeldJob]:
        """Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            return await held_jobs.find_all(tx)
