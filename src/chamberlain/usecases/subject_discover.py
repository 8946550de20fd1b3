"""Discover the groups and sites of the directory: all of them once, and then what changes, page by page.

There is a job for each tenant that queues itself again, and one for the whole installation that gives new tenants
theirs. What a page showed and where the next begins is written together, so that nothing is skipped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.directory.former_marks import with_former_marks
from chamberlain.directory.port import MOST_CHANGES, Guests, SubjectChanges
from chamberlain.rules.departures import change_of
from chamberlain.rules.errors import Rejected, TryAgain
from chamberlain.rules.ids import EventId, GroupId, TenantId, TraceId
from chamberlain.rules.jobs import NOBODY, Claim, Job, JobKind, Postponed
from chamberlain.rules.subject_records import entry_of
from chamberlain.rules.subjects import SubjectReference
from chamberlain.rules.tenants import Tenant
from chamberlain.store import changes, discovery, findings, jobs, policy_clocks, subjects, tenants
from chamberlain.store.database import Database, Transaction
from chamberlain.store.discovery import Discovery

# What is new in the directory is in the lists after so long. Ours: a question or two a minute costs a suite nothing.
EVERY = timedelta(seconds=30)
# A new tenant waits so long for its first look.
SPREAD_EVERY = timedelta(seconds=10)
# So many pages at a time, so that every tenant has its turn.
PAGES = 10
AT_ONCE = timedelta(0)


@dataclass(frozen=True, slots=True)
class DiscoverSubjects:
    """Works as the worker's role, on all tenants."""

    database: Database
    guests: Guests
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def begin(self, trace_id: TraceId) -> None:
        """See to it that there is the job for the installation. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await jobs.queue_the_one(tx, JobKind.SUBJECT_DISCOVER, trace_id)

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable."""
        for job in claim.jobs:
            after = await (
                self._spread(job) if job.tenant_id == NOBODY else self._discover(job.tenant_id, job.trace_id)
            )
            async with self.database.across_tenants() as tx:
                if after is None:
                    await discovery.forget(tx, job.tenant_id)
                    await jobs.complete(tx, claim.lease_id, [job.id])
                else:
                    await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _spread(self, job: Job) -> timedelta:
        async with self.database.across_tenants() as tx:
            await discovery.spread(tx, job.trace_id)
        return SPREAD_EVERY

    async def _discover(self, tenant_id: TenantId, trace_id: TraceId) -> timedelta | None:
        """When to look again; None for a tenant that is not there any more."""
        async with self.database.across_tenants() as tx:
            tenant = await tenants.find(tx, tenant_id)
            known = await discovery.find(tx, tenant_id)
        if tenant is None:
            return None
        try:
            for _ in range(PAGES):
                known, is_complete = await self._take_page(tenant, known, trace_id)
                if is_complete:
                    return EVERY
        except TryAgain as fault:
            return max(fault.after, EVERY)
        return AT_ONCE

    async def _take_page(self, tenant: Tenant, known: Discovery, trace_id: TraceId) -> tuple[Discovery, bool]:
        """Keep what the next page shows; gives where the one behind it begins, and whether there is nothing yet."""
        at = self.now()
        page = await self._page(tenant, known)
        if page is None:
            return Discovery(None, at), False
        found = await with_former_marks(self.guests.observe, tenant, page.subjects)
        going_on = Discovery(page.cursor, at if known.position is None else known.scan_began_at)
        async with self.database.across_tenants() as tx:
            await subjects.hold(tx, tenant.id, [*[each.id for each in page.subjects], *page.removed])
            await subjects.observe(tx, [entry_of(each, at=at) for each in found])
            await self._leave(tx, tenant.id, page.removed, trace_id, at=at)
            await discovery.put(tx, tenant.id, going_on)
        if page.is_complete and going_on.scan_began_at is not None:
            await self._forget_unseen(tenant, going_on.scan_began_at, trace_id)
            going_on = Discovery(page.cursor, None)
            async with self.database.across_tenants() as tx:
                await discovery.put(tx, tenant.id, going_on)
        return going_on, page.is_complete

    async def _page(self, tenant: Tenant, known: Discovery) -> SubjectChanges | None:
        """None when the directory does not know the place any more, and all has to be looked through again."""
        try:
            return await self.guests.changes(tenant.id, _extension(tenant), known.position)
        except Rejected:
            if known.position is None:
                raise
            return None

    async def _forget_unseen(self, tenant: Tenant, since: datetime, trace_id: TraceId) -> None:
        """What a whole scan has not met is not there any more; but clocks differ, so that each is asked for by name."""
        while True:
            async with self.database.across_tenants() as tx:
                unseen = await subjects.unseen(tx, tenant.id, since, MOST_CHANGES)
            if not unseen:
                return
            # A clock that went back must not let the same ones be asked for for ever.
            at = max(self.now(), since)
            shown = await self.guests.observe(
                [SubjectReference(tenant.id, each, _extension(tenant)) for each in unseen]
            )
            gone = [each for each, observed in zip(unseen, shown, strict=True) if observed is None]
            there = await with_former_marks(self.guests.observe, tenant, [each for each in shown if each is not None])
            async with self.database.across_tenants() as tx:
                await subjects.hold(tx, tenant.id, unseen)
                await subjects.observe(tx, [entry_of(each, at=at) for each in there])
                await self._leave(tx, tenant.id, gone, trace_id, at=at)

    async def _leave(
        self, tx: Transaction, tenant_id: TenantId, gone: Sequence[GroupId], trace_id: TraceId, *, at: datetime
    ) -> None:
        """What was assigned to a group goes with it, which is on record and told, and nothing is true about it any
        more."""
        if gone:
            for departure in await discovery.departing(tx, tenant_id, gone):
                await changes.record(tx, change_of(departure, trace_id, EventId(self.new_id()), now=at))
            await findings.leave(tx, tenant_id, gone, at=at)
            await policy_clocks.leave(tx, tenant_id, gone)
            await subjects.remove(tx, tenant_id, gone)


def _extension(tenant: Tenant) -> str:
    return f"{tenant.extension_prefix}_group"
