# SPDX-License-Identifier: Apache-2.0
"""List findings, accept or ignore them, and confirm guests in reviews."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Extent, Operation
from chamberlain.changes.records import record_change
from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import GroupId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.guests import finding_records
from chamberlain.guests.findings import store
from chamberlain.guests.findings.rules import (
    AcceptanceRequest,
    acceptance_change,
    accepted,
    confirmation_change,
    confirmed_finding,
    confirmed_timer,
    ignored,
    ignoring_change,
    not_yours,
    present_finding,
    require_ahead,
    require_no_action,
    require_not_guest,
    require_not_removed,
    require_not_self,
    require_open_review,
    require_owner,
    require_owner_review,
    review_ended,
    subject_key,
)
from chamberlain.guests.models import FindingClosure, FindingFilter, FindingRecord
from chamberlain.guests.policies import store as policy_store
from chamberlain.http import idempotency
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import JobKind


@dataclass(slots=True)
class FindingService:
    """List, accept, ignore and confirm the findings of a tenant.

    Every method raises Forbidden for callers without the permission. It raises Unavailable if the directory does not
    answer whether the caller is an administrator or owner, or if a group or site stays locked for longer than
    `lock_timeout`.
    """

    database: Database
    people: People
    authorization: Authorization
    now: Callable[[], datetime]
    lock_timeout: timedelta = policy_store.LOCK_TIMEOUT

    async def list(self, caller: Caller, wanted: FindingFilter, page: PageWanted) -> Page[FindingRecord]:
        """List the findings that match the filter, newest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await store.find_page(tx, caller.tenant_id, wanted, page)

    async def accept(
        self,
        caller: Caller,
        finding_id: UUID,
        wanted: AcceptanceRequest,
        act: Act,
        *,
        render: Callable[[FindingRecord], bytes],
    ) -> KeptAnswer:
        """Accept a finding and return the answer that `render` builds.

        Raises BodyInvalid for an end in the past, NotFound, and Conflict for a finding that is neither open nor
        accepted.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            now = self.now()
            require_ahead(wanted, now=now)
            # The evaluation of a policy locks the group before it writes findings.
            seen = present_finding(await finding_records.find(tx, caller.tenant_id, finding_id))
            held = await policy_store.lock_or_fail(tx, subject_key(seen), wait=self.lock_timeout)
            tasks = await policy_store.read_timers(tx, held)
            before = present_finding(await finding_records.lock(tx, caller.tenant_id, finding_id))
            require_no_action(before, [timer for task in tasks for timer in task.timers])
            require_not_removed(before, is_applied=await finding_records.is_applied(tx, before))
            after = accepted(before, wanted, editor, now=now)
            await finding_records.save_acceptance(tx, after)
            await record_change(tx, acceptance_change(before, after, editor))
            # Withdraws the job of the former end. A job that runs at present checks the end itself.
            await queue_jobs.withdraw(tx, JobKind.FINDING_REOPEN, finding_id)
            if wanted.until is not None:
                await queue_jobs.queue_at(tx, JobKind.FINDING_REOPEN, finding_id, act.trace_id, at=wanted.until)
            return render(after)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

    async def ignore(
        self, caller: Caller, finding_id: UUID, act: Act, render: Callable[[FindingRecord], bytes]
    ) -> KeptAnswer:
        """Ignore the observed value of a finding.

        Returns the answer that `render` builds. With another observed value, the finding is open again. Raises
        NotFound, and Conflict for a finding that is closed or is not of a drift check.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            before = present_finding(await finding_records.lock(tx, caller.tenant_id, finding_id))
            after = ignored(before, act, editor, now=self.now())
            await finding_records.save_acceptance(tx, after)
            await record_change(tx, ignoring_change(before, after, editor, act))
            await queue_jobs.withdraw(tx, JobKind.FINDING_REOPEN, finding_id)
            return render(after)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

    async def confirm(
        self, caller: Caller, finding_id: UUID, act: Act, render: Callable[[FindingRecord], bytes]
    ) -> KeptAnswer:
        """Confirm a guest and return the answer that `render` builds.

        The next review counts from now. Administrators can confirm. Owners of the group or site can if the policy says
        so and they are not guests. Raises NotFound, and Conflict for anything but an open review.
        """
        extent = await self.authorization.extent(caller, Operation.CONFIRM_FINDING)
        if extent is Extent.OWN:
            await self._require_owner(caller, finding_id)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            await finding_records.name_editor(tx, editor.actor)
            before, after = await self._confirm(tx, caller, finding_id, extent)
            await record_change(tx, confirmation_change(before, after, editor, act))
            return render(after)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

    async def _require_owner(self, caller: Caller, finding_id: UUID) -> None:
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await finding_records.find(tx, caller.tenant_id, finding_id)
        if record is None:
            raise not_yours()
        group_id = GroupId(record.subject.id)
        try:
            answer = await self.people.look_up(
                PeopleQuestion(
                    caller.tenant_id,
                    users=frozenset(() if caller.user_id is None else (caller.user_id,)),
                    owners_of=frozenset((group_id,)),
                )
            )
        except TryAgain as error:
            detail = "The directory does not answer whether you own this group or site. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        require_owner(caller, answer.owners.get(group_id, ()))
        require_not_guest(answer.people.get(caller.user_id) if caller.user_id is not None else None)

    async def _confirm(
        self, tx: Transaction, caller: Caller, finding_id: UUID, extent: Extent
    ) -> tuple[FindingRecord, FindingRecord]:
        """Return the finding before and after the confirmation."""
        # The evaluation of a policy locks the group before it writes findings.
        seen = present_finding(await finding_records.find(tx, caller.tenant_id, finding_id))
        held = await policy_store.lock_or_fail(tx, subject_key(seen), wait=self.lock_timeout)
        task = next(iter(await policy_store.read_timers(tx, held)), None)
        before = present_finding(await finding_records.lock(tx, caller.tenant_id, finding_id))
        if extent is Extent.OWN:
            require_owner_review(task)
        require_not_self(caller, before)
        require_open_review(before)
        if task is None:
            raise review_ended()
        now = self.now()
        await store.save_timer(tx, task.subject, confirmed_timer(before, task, now=now))
        after = confirmed_finding(before, now=now)
        await finding_records.close(tx, [FindingClosure(task.subject, before.kind, before.about, after.state)], at=now)
        return before, after
