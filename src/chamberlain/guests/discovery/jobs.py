# SPDX-License-Identifier: Apache-2.0
"""Discover the groups and sites of the directory.

The first run is a full scan; later runs read changes, page by page. Each tenant has a job. It queues itself again, or
sleeps if the directory names the tenants with changes: then one sweep for the installation wakes their jobs. Another
job queues the jobs of new tenants. A page and the cursor of the next one are written in one
transaction, so that no page is skipped. Changed mailboxes are noted for the drift check only.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.changes.records import record_change
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import EventId, GroupId, TenantId, TraceId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.port import MOST_CHANGES, Adoptions, ChangedTenants, Guests, MailboxChanges, SubjectChanges
from chamberlain.directory.subjects import SubjectReference, SubjectSummary, SubjectType
from chamberlain.guests import finding_records
from chamberlain.guests.assignments.rules import removed_assignment
from chamberlain.guests.discovery import store
from chamberlain.guests.discovery.store import Discovery
from chamberlain.guests.policies import store as policy_store
from chamberlain.guests.subjects import records
from chamberlain.guests.subjects.import_subject import with_former_marks
from chamberlain.guests.subjects.models import SubjectEntry, summary_entry, to_entry
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, Claim, Job, JobKind, Postponed, sleep_time
from chamberlain.queue.worker import JobTable
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# New groups are listed after this time. It is our choice: two queries a minute are no load for a directory.
EVERY = timedelta(seconds=30)
# A new tenant waits at most so long for its first scan.
NEW_TENANTS_EVERY = timedelta(seconds=10)
# Pages of one run, so that every tenant has its turn.
PAGES = 10
# Tenants of one question of a sweep, which takes some ten milliseconds.
TENANTS = 1_000


@dataclass(frozen=True, slots=True)
class SubjectJobs:
    """Job handlers of discovery. They run with the worker's role."""

    database: Database
    guests: Guests
    adoptions: Adoptions
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    # Without it, the job of each tenant asks the directory again and again.
    changed: ChangedTenants | None = None

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the job of the installation unless it exists. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            await queue_jobs.queue_the_one(tx, JobKind.SUBJECT_DISCOVER, trace_id)
            if self.changed is not None:
                await queue_jobs.queue_the_one(tx, JobKind.SUBJECT_SWEEP, trace_id)

    async def sweep(self, claim: Claim) -> None:
        """Wake the jobs of tenants with changes. Raises Unavailable."""
        if self.changed is not None:
            # The next sweep asks again.
            with suppress(TryAgain):
                await self._wake(self.changed)
        async with self.database.across_tenants() as tx:
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, EVERY) for job in claim.jobs])

    async def _wake(self, changed: ChangedTenants) -> None:
        last = NOBODY
        while True:
            async with self.database.across_tenants() as tx:
                cursors = await store.find_cursors(tx, last, TENANTS)
            if not cursors:
                return
            if found := await changed.changed_tenants(cursors):
                async with self.database.across_tenants() as tx:
                    await store.wake(tx, found)
            last = cursors[-1].tenant_id

    async def discover(self, claim: Claim) -> None:
        """Discover the groups and sites of claimed jobs. Raises Unavailable."""
        for job in claim.jobs:
            after = await (
                self._queue_missing_jobs(job)
                if job.tenant_id == NOBODY
                else self._discover(job.tenant_id, job.trace_id)
            )
            async with self.database.across_tenants() as tx:
                if after is None:
                    await store.delete(tx, job.tenant_id)
                    await queue_jobs.complete(tx, claim.lease_id, [job.id])
                else:
                    await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after)])

    async def _queue_missing_jobs(self, job: Job) -> timedelta:
        async with self.database.across_tenants() as tx:
            await store.queue_missing_jobs(tx, job.trace_id)
        return NEW_TENANTS_EVERY

    async def _discover(self, tenant_id: TenantId, trace_id: TraceId) -> timedelta | None:
        """Return the time until the next run, None for a deleted tenant."""
        async with self.database.across_tenants() as tx:
            tenant = await tenant_records.find(tx, tenant_id)
            known = await store.find(tx, tenant_id)
        if tenant is None:
            return None
        try:
            for _ in range(PAGES):
                known, is_complete = await self._store_page(tenant, known, trace_id)
                if is_complete:
                    return await self._note_changed_mailboxes(tenant, trace_id)
        except TryAgain as fault:
            return max(fault.after, EVERY)
        return timedelta(0)

    async def _note_changed_mailboxes(self, tenant: Tenant, trace_id: TraceId) -> timedelta:
        """Note the mailboxes that changed for the drift check.

        Returns the time until the next run.
        """
        for _ in range(PAGES):
            at = self.now()
            async with self.database.across_tenants() as tx:
                position = await store.find_mailbox_position(tx, tenant.id)
            page = await self._mailbox_page(tenant, position)
            async with self.database.across_tenants() as tx:
                await store.save_changed_mailboxes(tx, tenant.id, page, trace_id, at=at)
            if page.is_complete:
                return await self._pause(tenant.id)
        return timedelta(0)

    async def _pause(self, tenant_id: TenantId) -> timedelta:
        """Return the time until the next run of a tenant without changes."""
        if self.changed is None:
            return EVERY
        async with self.database.across_tenants() as tx:
            return sleep_time(tenant_id) if await queue_jobs.may_sleep(tx) else EVERY

    async def _mailbox_page(self, tenant: Tenant, position: str | None) -> MailboxChanges:
        """Read the next page of changed mailboxes.

        An expired cursor starts at later changes. The nightly check compares the others.
        """
        extensions = [f"{prefix}_mailbox" for prefix in (tenant.extension_prefix, *tenant.marked_under)]
        try:
            return await self.adoptions.changed_mailboxes(tenant.id, extensions, position)
        except Rejected:
            if position is None:
                raise
            return await self.adoptions.changed_mailboxes(tenant.id, extensions, None)

    async def _store_page(self, tenant: Tenant, known: Discovery, trace_id: TraceId) -> tuple[Discovery, bool]:
        """Store the next page.

        Returns the new position, and whether it was the last page.
        """
        at = self.now()
        page = await self._page(tenant, known)
        if page is None:
            return Discovery(None, at), False
        entries = await self._entries(tenant, page.subjects, at=at)
        position = Discovery(page.cursor, at if known.position is None else known.scan_began_at)
        async with self.database.across_tenants() as tx:
            await records.lock(tx, tenant.id, [*[each.id for each in entries], *page.removed])
            await records.observe(tx, entries)
            if position.scan_began_at is None:
                # A full scan returns all groups. The nightly check compares them.
                await store.save_changed(tx, tenant.id, page, trace_id, at=at)
            await self._remove(tx, tenant.id, page.removed, trace_id, at=at)
            await store.save(tx, tenant.id, position)
        if page.is_complete and position.scan_began_at is not None:
            await self._remove_unseen(tenant, position.scan_began_at, trace_id)
            position = Discovery(page.cursor, None)
            async with self.database.across_tenants() as tx:
                await store.save(tx, tenant.id, position)
        return position, page.is_complete

    async def _page(self, tenant: Tenant, known: Discovery) -> SubjectChanges | None:
        """Read the next page, None if the cursor is invalid."""
        try:
            return await self.guests.changes(tenant.id, _extension(tenant), known.position)
        except Rejected:
            if known.position is None:
                raise
            return None

    async def _entries(
        self, tenant: Tenant, subjects: Sequence[SubjectSummary], *, at: datetime
    ) -> Sequence[SubjectEntry]:
        """Convert the summaries of a page.

        Sites are observed by id. A page may repeat a subject; the last one is current. A site that was deleted
        meanwhile is left out: a later page reports it.
        """
        latest = list({each.id: each for each in subjects}.values())
        entries = [summary_entry(each, at=at) for each in latest if each.type is SubjectType.GROUP]
        others = [each.id for each in latest if each.type is not SubjectType.GROUP]
        for begin in range(0, len(others), MOST_CHANGES):
            shown = await self.guests.observe(
                [SubjectReference(tenant.id, each, _extension(tenant)) for each in others[begin : begin + MOST_CHANGES]]
            )
            entries += [to_entry(each, at=at) for each in shown if each is not None]
        return await with_former_marks(self.guests.observe, tenant, entries)

    async def _remove_unseen(self, tenant: Tenant, since: datetime, trace_id: TraceId) -> None:
        """Remove groups that a full scan did not find.

        Clocks differ, so each one is read by id first.
        """
        while True:
            async with self.database.across_tenants() as tx:
                unseen = await records.find_unseen(tx, tenant.id, since, MOST_CHANGES)
            if not unseen:
                return
            # Without this, a clock that went back would repeat the same groups for ever.
            at = max(self.now(), since)
            shown = await self.guests.observe(
                [SubjectReference(tenant.id, each, _extension(tenant)) for each in unseen]
            )
            gone = [each for each, observed in zip(unseen, shown, strict=True) if observed is None]
            there = await with_former_marks(
                self.guests.observe, tenant, [to_entry(each, at=at) for each in shown if each is not None]
            )
            async with self.database.across_tenants() as tx:
                await records.lock(tx, tenant.id, unseen)
                await records.observe(tx, there)
                await self._remove(tx, tenant.id, gone, trace_id, at=at)

    async def _remove(
        self, tx: Transaction, tenant_id: TenantId, gone: Sequence[GroupId], trace_id: TraceId, *, at: datetime
    ) -> None:
        """Remove groups with their assignments, findings and timers, and audit the assignments."""
        if gone:
            for subject, before in await store.lock_assigned(tx, tenant_id, gone):
                change = removed_assignment(subject, before, trace_id, EventId(self.new_id()), now=at)
                await record_change(tx, change)
            await finding_records.close_all(tx, tenant_id, gone, at=at)
            await policy_store.delete_all_timers(tx, tenant_id, gone)
            await records.delete(tx, tenant_id, gone)


def _extension(tenant: Tenant) -> str:
    return f"{tenant.extension_prefix}_group"


JOBS = JobTable(SubjectJobs, {JobKind.SUBJECT_DISCOVER: SubjectJobs.discover, JobKind.SUBJECT_SWEEP: SubjectJobs.sweep})
