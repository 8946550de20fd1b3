# SPDX-License-Identifier: Apache-2.0
"""Open levels of approval, remind their approvers, and expire requests.

Each request that waits for approval has a job from its acceptance to the last decision. The job checks which approvers
are still in the directory, and copies their substitutes to the open level. The directory is asked outside of any
transaction, and its answer is written only if the levels are unchanged.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.auth.models import SERVICE
from chamberlain.changes.models import Change, Event, Subject
from chamberlain.changes.records import record_change
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import EventId, RequestId, UserId
from chamberlain.core.values import Json
from chamberlain.database.clock import ReadTime
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleAnswer
from chamberlain.directory.port import People
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import NOBODY, Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests import records, store
from chamberlain.requests.approvals import (
    acting_substitutes,
    attend,
    attention_question,
    current_level,
    has_run_out,
    next_change,
    with_reminder,
    with_substitutes,
)
from chamberlain.requests.events import approval_required, request_approved, request_expired, summary_of
from chamberlain.requests.models import ApprovalRecord, ApprovalState, RequestRecord, RequestState
from chamberlain.requests.rules import expired, moved_on, next_look, until_deadline
from chamberlain.requests.store import Origin
from chamberlain.substitutes import records as substitute_records
from chamberlain.substitutes.models import Substitution


@dataclass(frozen=True, slots=True)
class Look:
    """A job, its request as read, and the directory's answer.

    `substitutes` were looked up.
    """

    job: Job
    seen: RequestRecord
    origin: Origin
    substitutes: frozenset[UserId]
    answer: PeopleAnswer | TryAgain


# A request that waits for approval, its rule, and the substitutes to look up.
Waiting = tuple[RequestRecord, Origin, frozenset[UserId]]


@dataclass(frozen=True, slots=True)
class RequestJobs:
    """Job handlers of requests. They run with the worker's role.

    `watchers` are notified of requests that may have changed.
    """

    database: Database
    people: People
    watchers: Notifier
    new_id: Callable[[], UUID]
    now: ReadTime

    async def attend_approvals(self, claim: Claim) -> None:
        """Attend to the approvals of claimed jobs.

        Each job has its own outcome. Raises Unavailable if the database is unavailable. The jobs run again at the end
        of their lease.
        """
        waiting = [(job, await self._waiting(job)) for job in claim.jobs]
        # Concurrent lookups form one batch.
        looks = await asyncio.gather(*[self._look(job, *found) for job, found in waiting if found is not None])
        over = [job.id for job, found in waiting if found is None]
        async with self.database.across_tenants() as tx:
            await queue_jobs.complete(tx, claim.lease_id, over)
        for look in looks:
            await self._attend(claim, look)
        self.watchers.tell([look.seen.request_id for look in looks])

    async def _waiting(self, job: Job) -> Waiting | None:
        """Return the request if it still waits for approval."""
        async with self.database.transaction(job.tenant_id) as tx:
            record = await records.find(tx, RequestId(job.subject))
            origin = await store.find_origin(tx, RequestId(job.subject))
            if record is None or origin is None or record.state is not RequestState.PENDING_APPROVAL:
                return None
            named = await _substitutions(tx, record, await self.now(tx))
        return record, origin, frozenset(each.substitute_id for each in named)

    async def _look(self, job: Job, seen: RequestRecord, origin: Origin, substitutes: frozenset[UserId]) -> Look:
        question = attention_question(
            origin.rule,
            seen.approvals,
            tenant_id=seen.tenant_id,
            requester=_requester(seen),
            substitutes=substitutes,
        )
        try:
            return Look(job, seen, origin, substitutes, await self.people.look_up(question))
        except TryAgain as fault:
            return Look(job, seen, origin, substitutes, fault)

    async def _attend(self, claim: Claim, look: Look) -> None:
        # Locks the request before its job, as decisions do, to avoid deadlocks.
        async with self.database.transaction(look.seen.tenant_id) as tx:
            before = await records.hold(tx, look.seen.request_id)
            again = None if before is None else await self._again(tx, before, look)
            if again is None:
                await queue_jobs.complete(tx, claim.lease_id, [look.job.id])
            else:
                await queue_jobs.postpone(tx, claim.lease_id, [Postponed(look.job.id, again)])

    async def _again(self, tx: Transaction, before: RequestRecord, look: Look) -> timedelta | None:
        """Return the time until the next run, None if there is none."""
        now = await self.now(tx)
        if before.state is not RequestState.PENDING_APPROVAL:
            return None
        if has_run_out(before.approvals, now):
            await self._write(tx, before, expired(before, at=now), look.origin)
            return None
        if before.approvals != look.seen.approvals:
            return timedelta(0)
        if isinstance(look.answer, TryAgain):
            return until_deadline(before, look.answer.after, now=now)
        levels = attend(look.origin.rule, before.approvals, look.answer, requester=_requester(before), now=now)
        after = before if levels == before.approvals else moved_on(before, levels, at=now)
        if after is not before:
            await self._write(tx, before, after, look.origin)
        if after.state is not RequestState.PENDING_APPROVAL:
            return None
        return await self._tend(tx, after, look, look.answer, now)

    async def _tend(
        self, tx: Transaction, before: RequestRecord, look: Look, answer: PeopleAnswer, now: datetime
    ) -> timedelta:
        """Copy the substitutes to the open level, and remind before its deadline.

        Returns the time until the next run.
        """
        rule, requester = look.origin.rule, _requester(before)
        named = await _substitutions(tx, before, now)
        levels = with_substitutes(rule, before.approvals, answer, named, requester=requester)
        levels = with_reminder(rule, levels, now)
        if levels != before.approvals:
            after = replace(before, approvals=levels)
            await store.move(tx, before, after, look.origin.trace_id)
            await self._notify(tx, before, after, now)
        if any(each.substitute_id not in look.substitutes for each in named):
            # They were named during the lookup, or their approver has just been found.
            return timedelta(0)
        wait, change = next_look(before, now=now), next_change(rule, levels)
        return wait if change is None else max(min(wait, change - now), timedelta(0))

    async def _notify(self, tx: Transaction, before: RequestRecord, after: RequestRecord, now: datetime) -> None:
        """Queue the mails to new substitutes, and the reminder."""
        for old, new in zip(before.approvals, after.approvals, strict=True):
            known = {each.id for each in acting_substitutes(old)}
            if any(each.id not in known for each in acting_substitutes(new)):
                await store.queue_notice(
                    tx, self.new_id(), "substituteRequired", after, level=new.level, now=now, notified=known
                )
            if new.reminded_at != old.reminded_at:
                await store.queue_notice(tx, self.new_id(), "approvalReminder", after, level=new.level, now=now)

    async def _write(self, tx: Transaction, before: RequestRecord, after: RequestRecord, origin: Origin) -> None:
        await store.move(tx, before, after, origin.trace_id)
        await record_change(tx, _change(before, after, origin, self._event(after)))

    def _event(self, after: RequestRecord) -> Event | None:
        event_id, at = EventId(self.new_id()), after.updated_at
        if after.state is RequestState.EXPIRED:
            return request_expired(event_id, summary_of(after), now=at)
        if after.state is RequestState.QUEUED:
            return request_approved(event_id, summary_of(after), changed_by=SERVICE, now=at)
        current = current_level(after.approvals)
        if current is None or current.state is ApprovalState.NOT_REACHED:
            return None
        return approval_required(event_id, summary_of(after), level=current.level, approvers=current.approvers, now=at)


def _requester(record: RequestRecord) -> UserId:
    # The id of an application excludes no approver: it is not the id of a user.
    return UserId(record.created_by.id or NOBODY)


async def _substitutions(tx: Transaction, record: RequestRecord, now: datetime) -> tuple[Substitution, ...]:
    """Return the current substitutes of approvers and requester."""
    level = current_level(record.approvals)
    approvers = () if level is None else level.approvers
    users = {*(each.id for each in approvers), _requester(record)}
    return await substitute_records.find_of_approvers(tx, users, now)


def _change(before: RequestRecord, after: RequestRecord, origin: Origin, event: Event | None) -> Change:
    """Return the audit row of an expiry or a level."""
    action, was, became = "request.expire", _state(before), _state(after)
    if after.state is not RequestState.EXPIRED:
        (old, new), *_ = [pair for pair in zip(before.approvals, after.approvals, strict=True) if pair[0] != pair[1]]
        action = "request.closeLevel" if new.state is ApprovalState.APPROVED else "request.openLevel"
        was, became = _level(old), _level(new)
    return Change(
        tenant_id=after.tenant_id,
        action=action,
        actor=SERVICE,
        client_id=None,
        subject=Subject("request", after.request_id, after.display_name),
        before=was,
        after=became,
        request_id=after.request_id,
        trace_id=origin.trace_id,
        event=event,
    )


def _state(record: RequestRecord) -> dict[str, Json]:
    return {"state": record.state}


def _level(level: ApprovalRecord) -> dict[str, Json]:
    return {"level": level.level, "state": level.state, "approvers": [str(each.id) for each in level.approvers]}


JOBS = JobTable(RequestJobs, {JobKind.APPROVAL_ATTEND: RequestJobs.attend_approvals})
