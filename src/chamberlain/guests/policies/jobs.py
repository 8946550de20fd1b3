# SPDX-License-Identifier: Apache-2.0
"""Evaluate the policies of groups and sites: observe, decide, announce, act, record.

Each group and site with a policy has a job, which queues itself again. The handler is idempotent: effects are written
together with the timers, under the lock of the group. Actions of the directory run between two transactions. The first
announces them, the second records the results. After a crash between them, the next run catches up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from chamberlain.changes.records import append_events, record_changes
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import EventId, GroupId, JobId, NoticeId, TraceId
from chamberlain.database.clock import ReadTime
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.port import ActOutcome, DisableGuest, GuestAct, Guests, RemoveGuest
from chamberlain.directory.subjects import Guest
from chamberlain.guests import finding_records
from chamberlain.guests.models import Place
from chamberlain.guests.policies import report_records, store
from chamberlain.guests.policies.evaluation import (
    Membership,
    PolicyTask,
    Run,
    apply_outcomes,
    keep_due,
    split_actions,
    split_by_guests,
    start_run,
)
from chamberlain.guests.policies.events import action_taken, reminded
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.reports import RunReport, report_lines
from chamberlain.guests.policies.store import GuestPlace
from chamberlain.guests.policies.timers import Timer
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind, Postponed
from chamberlain.queue.worker import JobTable

# New guests get a timer within this time. The rules count in days.
EVERY = timedelta(hours=24)
# The directory does not show the group. Discovery handles deleted ones.
AGAIN = timedelta(minutes=1)
# Minimum wait before a retry. Hundreds of groups wait for the directory.
MIN_WAIT = timedelta(seconds=10)
# Wait after a partial result. It prevents several retries within a second.
PARTIAL_WAIT = timedelta(seconds=1)
AT_ONCE = timedelta(0)
# Groups and sites of one directory call. More guests per transaction take over a second. Guests of one group always
# share a transaction.
BATCH_SIZE = 50
MAX_GUESTS = 50_000
# Actions of one directory call, and of the transaction that records them. Meanwhile the group is locked.
MAX_ACTIONS = 1_000

# Due actions with their results.
Done: TypeAlias = Sequence[tuple[Timer, ActOutcome]]


@dataclass(frozen=True, slots=True)
class PolicyJobs:
    """Job handler of policies.

    Needs the worker's role. Works on many groups and sites at a time.
    """

    database: Database
    guests: Guests
    new_id: Callable[[], UUID]
    now: ReadTime
    max_guests: int = MAX_GUESTS
    max_actions: int = MAX_ACTIONS

    async def begin(self, trace_id: TraceId) -> None:
        """Queue the missing jobs of groups and sites with a policy.

        Raises Unavailable.
        """
        async with self.database.across_tenants() as tx:
            await store.queue_missing_jobs(tx, trace_id)

    async def evaluate(self, claim: Claim) -> None:
        """Evaluate the policies of claimed jobs.

        Raises Unavailable if the database is unavailable. The jobs run again at the end of their lease.
        """
        for start in range(0, len(claim.jobs), BATCH_SIZE):
            await self._run(replace(claim, jobs=claim.jobs[start : start + BATCH_SIZE]))

    async def _run(self, claim: Claim) -> None:
        wanted = {_place(job): job for job in claim.jobs}
        async with self.database.statement() as connection:
            places = await store.find_places(connection, list(wanted))
        try:
            shown = await self.guests.observe([each.reference for each in places]) if places else ()
        except TryAgain as fault:
            await self._wait(claim, max(fault.after, MIN_WAIT))
            return
        present = {
            each.place: Membership(subject.guests, subject.owners)
            for each, subject in zip(places, shown, strict=True)
            if subject is not None
        }
        for part in split_by_guests(wanted, present, self.max_guests):
            jobs_of_part = tuple([job for job in claim.jobs if _place(job) in part])
            await self._run_part(replace(claim, jobs=jobs_of_part), part, present)

    async def _run_part(self, claim: Claim, part: Mapping[Place, Job], present: Mapping[Place, Membership]) -> None:
        runs = await self._evaluate(claim, part, present)
        waits: dict[JobId, timedelta] = {}
        batches = split_actions(runs, self.max_actions)
        for batch in batches:
            done = await self._act(await self._still_due(batch))
            waits |= _max_waits(waits, batch, done)
            await self._save_outcomes(claim, batch, done, waits)
            if _is_deferred(done):
                # The rest is not asked for, but left to the next run.
                left = tuple([run.job for each in batches for run in each if run.is_last])
                await self._wait(replace(claim, jobs=left), max(waits.values()))
                return

    async def _wait(self, claim: Claim, after: timedelta) -> None:
        async with self.database.across_tenants() as tx:
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, after) for job in claim.jobs])

    async def _evaluate(
        self, claim: Claim, wanted: Mapping[Place, Job], present: Mapping[Place, Membership]
    ) -> Sequence[Run]:
        """Save the effects of a run. Returns the runs with due actions."""
        async with self.database.across_tenants() as tx:
            now = await self.now(tx)
            held = await store.lock(tx, list(wanted))
            idle_times = {task.place: _idle_time(task, present.get(task.place), now) for task in held}
            tasks = await store.read_timers(tx, [task for task in held if idle_times[task.place] is None])
            runs = [start_run(wanted[task.place], task, present[task.place], now) for task in tasks]
            await self._write(tx, runs, now)
            await store.save_idle(tx, {run.task.place: run.idle for run in runs}, at=now)
            await store.delete_duplicate_jobs(tx, [task.place for task in tasks], [job.id for job in claim.jobs])
            waits = {wanted[place].id: rest for place, rest in idle_times.items() if rest is not None}
            waits |= {run.job.id: _after(run.evaluation.next_at, now) for run in runs if run.task.policy is not None}
            due = [run for run in runs if run.evaluation.due]
            await self._reschedule(tx, claim, waits, unfinished=[run.job.id for run in due])
        return due

    async def _reschedule(
        self, tx: Transaction, claim: Claim, waits: Mapping[JobId, timedelta], *, unfinished: Sequence[JobId]
    ) -> None:
        """Postpone jobs with a wait, and complete all others.

        Completed are jobs of deleted groups and groups without a policy, and duplicates.
        """
        postponed = [Postponed(job_id, after) for job_id, after in waits.items() if job_id not in unfinished]
        await queue_jobs.postpone(tx, claim.lease_id, postponed)
        await queue_jobs.complete(tx, claim.lease_id, [job.id for job in claim.jobs if job.id not in waits])

    async def _still_due(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Keep due actions that are still valid.

        The policy may have changed during earlier batches.
        """
        guests = _guests_of(runs)
        async with self.database.across_tenants() as tx:
            found = await store.find(tx, [run.task.place for run in runs])
            tasks = {task.place: task for task in await store.read_guest_timers(tx, found, guests)}
        return [
            keep_due(run, task.still_due(run.evaluation.due)) for run in runs if (task := tasks.get(run.task.place))
        ]

    async def _act(self, runs: Sequence[Run]) -> Mapping[Place, Done]:
        """Ask the directory for due actions, and return the results."""
        due = [(run, timer) for run in runs for timer in run.evaluation.due]
        acts = [_to_action(run.task.place, timer) for run, timer in due]
        try:
            outcomes = await self.guests.act(acts) if acts else ()
        except TryAgain as fault:
            outcomes = [ActOutcome(None, fault) for _ in acts]
        done: dict[Place, list[tuple[Timer, ActOutcome]]] = {}
        for (run, timer), outcome in zip(due, outcomes, strict=True):
            done.setdefault(run.task.place, []).append((timer, outcome))
        return done

    async def _save_outcomes(
        self, claim: Claim, runs: Sequence[Run], done: Mapping[Place, Done], waits: Mapping[JobId, timedelta]
    ) -> None:
        """Record the results of actions, unless another run did.

        `waits` are waits for deferred actions, by job.
        """
        async with self.database.across_tenants() as tx:
            now = await self.now(tx)
            held = await store.lock(tx, [run.task.place for run in runs])
            tasks = {task.place: task for task in await store.read_guest_timers(tx, held, _guests_of(runs))}
            settled = [
                _apply_outcomes(run, task, done.get(task.place, ()), now, is_put_off=run.job.id in waits)
                for run in runs
                if (task := tasks.get(run.task.place))
            ]
            await self._write(tx, settled, now)
            last = [run for run in runs if run.is_last]
            # Next events of others are known from the evaluation. Refused actions wait for a day.
            ready = {
                run.job.id: min(_after(run.evaluation.next_at, now), waits.get(run.job.id, EVERY))
                for run in last
                if run.task.place in tasks
            }
            await self._reschedule(tx, replace(claim, jobs=tuple([run.job for run in last])), ready, unfinished=())

    async def _write(self, tx: Transaction, runs: Sequence[Run], now: datetime) -> None:
        await store.delete_timers(tx, [(run.subject, timer) for run in runs for timer in run.evaluation.gone])
        await store.save_timers(tx, [(run.subject, timer) for run in runs for timer in run.evaluation.changed])
        await finding_records.save(
            tx, [(self.new_id(), found) for run in runs for found in run.evaluation.found], at=now
        )
        await finding_records.close(tx, [ended for run in runs for ended in run.evaluation.ended], at=now)
        told = [(run.subject, timer) for run in runs for timer in run.evaluation.reminders]
        await append_events(tx, [reminded(self._event_id(), *each, now=now) for each in told])
        taken = [(run.subject, timer, run.job.trace_id) for run in runs for timer in run.evaluation.taken]
        await record_changes(tx, [action_taken(self._event_id(), *each, now=now) for each in taken])
        if self.database.notices:
            await report_records.save(tx, [self._report(run) for run in runs], at=now)

    def _report(self, run: Run) -> RunReport:
        lines = report_lines(run.evaluation)
        return RunReport(NoticeId(self.new_id()), run.task.place, run.job.trace_id, lines, run.is_over)

    def _event_id(self) -> EventId:
        return EventId(self.new_id())


def _place(job: Job) -> Place:
    return job.tenant_id, GroupId(job.subject)


def _guests_of(runs: Sequence[Run]) -> frozenset[GuestPlace]:
    """Return the guests of due actions."""
    due = [(run.task.place, timer.guest) for run in runs for timer in run.evaluation.due]
    return frozenset([(place, guest.id) for place, guest in due if guest is not None])


def _idle_time(task: PolicyTask, present: Membership | None, now: datetime) -> timedelta | None:
    """Return the wait if a run has no effect, or None."""
    if present is None:
        return AGAIN
    policy = task.policy
    if policy is None or policy.idle is None or not policy.is_idle(present, now=now):
        return None
    return _after(policy.idle.until, now)


def _after(next_at: datetime | None, now: datetime) -> timedelta:
    """Return the wait until the next event, or until the daily run."""
    return EVERY if next_at is None else min(max(next_at - now, AT_ONCE), EVERY)


def _to_action(place: Place, timer: Timer) -> GuestAct:
    """Convert a due action to a call of the directory."""
    tenant_id, group_id = place
    match timer:
        case Timer(guest=Guest() as guest, action=PolicyAction.REMOVE):
            return RemoveGuest(tenant_id, group_id, guest.id)
        case Timer(guest=Guest() as guest, action=PolicyAction.DISABLE):
            return DisableGuest(tenant_id, guest.id)
        case _:
            raise ValueError(f"The action {timer.action} of {timer.rule} is not a call of the directory.")


def _apply_outcomes(run: Run, task: PolicyTask, done: Done, now: datetime, *, is_put_off: bool) -> Run:
    acts = [(timer, _trouble(outcome)) for timer, outcome in done if _is_final(outcome)]
    evaluation = apply_outcomes(task.subject, run.rules, task.timers, acts, now=now)
    return Run(run.job, task, evaluation, is_over=run.is_last and not is_put_off, is_last=run.is_last)


def _is_deferred(done: Mapping[Place, Done]) -> bool:
    """Return whether the directory deferred all actions."""
    return bool(done) and not any(_is_final(outcome) for acts in done.values() for _, outcome in acts)


def _is_final(outcome: ActOutcome) -> bool:
    """Return whether the result of an action is final."""
    return not isinstance(outcome.fault, TryAgain)


def _trouble(outcome: ActOutcome) -> str | None:
    """Why it was not done, as a sentence."""
    if outcome.stayed is not None:
        return outcome.stayed.detail
    return None if outcome.fault is None else str(outcome.fault)


def _max_waits(
    waits: Mapping[JobId, timedelta], runs: Sequence[Run], done: Mapping[Place, Done]
) -> dict[JobId, timedelta]:
    """Return the wait for deferred actions by job, including earlier batches."""
    own = {run.job.id: _wait_for(done.get(run.task.place, ()), len(run.evaluation.due)) for run in runs}
    return {job_id: max(after, waits.get(job_id, AT_ONCE)) for job_id, after in own.items() if after is not None}


def _wait_for(done: Done, due: int) -> timedelta | None:
    """Return the wait for deferred and invalidated actions, or None."""
    waits = [outcome.fault.after for _, outcome in done if isinstance(outcome.fault, TryAgain)]
    if waits:
        return max(min(waits), PARTIAL_WAIT if len(waits) < len(done) else MIN_WAIT)
    return PARTIAL_WAIT if len(done) < due else None


JOBS = JobTable(PolicyJobs, {JobKind.POLICY_EVALUATE: PolicyJobs.evaluate})
