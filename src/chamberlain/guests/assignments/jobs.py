# SPDX-License-Identifier: Apache-2.0
"""Apply assignments in the directory: load, observe, plan, apply, record.

The handler is idempotent. It applies the current assignment, whichever request the job belongs to. If the assignment
changes meanwhile, the job runs again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.changes.models import Event
from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import EventId
from chamberlain.core.reasons import SENTENCES, Reason
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.port import Directory, GuestOutcome, Guests, GuestWork, Shortfall, Stayed, Work
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, remaining_of_subject, without
from chamberlain.guests import finding_records
from chamberlain.guests.assignments import records as assignment_tasks
from chamberlain.guests.assignments.rules import AssignmentPlan, violations_found
from chamberlain.guests.models import (
    Assigned,
    AssignmentTask,
    Finding,
    FindingKind,
    FindingSearch,
    FindingSource,
    Place,
    finding_key,
)
from chamberlain.guests.subjects import records as subject_records
from chamberlain.guests.subjects.models import to_entry
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, JobKind, Postponed
from chamberlain.queue.worker import JobTable
from chamberlain.requests.events import RequestSummary, request_failed
from chamberlain.requests.finish import Settled, settle
from chamberlain.requests.models import Progress, RequestKind, RequestResult, RequestState
from chamberlain.requests.steps import (
    FINISHED,
    MOST_TOLD,
    Settlement,
    after_outcome,
    entries_of,
    fall_short,
    reasons_by_step,
    warn,
)

# Findings of this job. It settles no others.
GUESTS = FindingSearch(FindingSource.ASSIGNMENT, (FindingKind.GUEST_AGAINST_RULE,))
# Discovery removes groups that are gone. Until then the directory may only be late.
NOT_SHOWN = TryAgain(timedelta(seconds=10), Reason.build("groupNotShown"))
GONE = Rejected("groupUnknown", "The group is no longer in the directory. Its assignment has no effect.")


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of one group or site.

    `subject` is its current state. `is_removing` is true if guests may have been removed although the directory did
    not report it.
    """

    assigned: Assigned
    subject: ObservedSubject | None
    done: frozenset[Step]
    fault: OutsideFault | None
    is_removing: bool = False
    stayed: tuple[Stayed, ...] = ()
    kept: frozenset[str] = frozenset()
    shortfalls: tuple[Shortfall, ...] = ()

    @property
    def found(self) -> tuple[Finding, ...]:
        """Return the findings of guests who still violate the assigned rules."""
        if self.subject is None:
            return ()
        return violations_found(self.assigned, self.subject, removed=self.is_removing, kept=self.kept)


@dataclass(frozen=True, slots=True)
class AssignmentJobs:
    """Job handlers of assignments. They run with the worker's role."""

    database: Database
    directory: Directory
    guests: Guests
    notifier: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def apply(self, claim: Claim) -> None:
        """Apply the assignments of claimed jobs. Each job has its own outcome.

        Raises Unavailable if the database is unavailable. The jobs run again at the end of their lease.
        """
        started_at = self.now()
        async with self.database.across_tenants() as tx:
            tasks = await assignment_tasks.claim_tasks(tx, [job.subject for job in claim.jobs])
        self.notifier.tell([task.request_id for task in tasks])
        runs = await self._run(_steps_by_subject(tasks))
        await self._record(claim, tasks, runs, started_at)

    async def _run(self, steps: Mapping[Place, tuple[Assigned, tuple[Step, ...]]]) -> Mapping[Place, Run]:
        """Run once per group or site, for all requests together."""
        if not steps:
            return {}
        try:
            observed = await self.guests.observe([assigned.reference for assigned, _ in steps.values()])
        except TryAgain as fault:
            return {place: Run(assigned, None, frozenset(), fault) for place, (assigned, _) in steps.items()}
        plans = await self._announce(
            [AssignmentPlan(*entry, shown) for entry, shown in zip(steps.values(), observed, strict=True)]
        )
        works = [Work(plan.wanted, await self._remaining(plan)) for plan in plans]
        outcomes = await self._outcomes(plans, works)
        runs = [_run(plan, work, outcome) for plan, work, outcome in zip(plans, works, outcomes, strict=True)]
        return {run.assigned.place: run for run in runs}

    async def _remaining(self, plan: AssignmentPlan) -> tuple[Step, ...]:
        """Return the steps whose effect is not observed.

        A replica may show the state before the last assignment. So a directory that trusts writes gets all steps.
        """
        capabilities = await self.directory.capabilities(plan.assigned.tenant_id)
        if capabilities.trusts_writes:
            return plan.steps
        return remaining_of_subject(plan.wanted, plan.observed, plan.steps)

    async def _announce(self, plans: Sequence[AssignmentPlan]) -> Sequence[AssignmentPlan]:
        """Store findings of guests before their removal.

        Afterwards the directory does not show them any more. The same transaction reads accepted findings, so that a
        later acceptance sees that the removal is announced.
        """
        places = [plan.assigned.place for plan in plans if any(each.action is not None for each in plan.found)]
        if not places:
            return plans
        async with self.database.across_tenants() as tx:
            kept = await finding_records.lock_accepted(tx, places, GUESTS)
            plans = [replace(plan, kept=kept.get(plan.assigned.place, frozenset())) for plan in plans]
            found = [each for plan in plans for each in plan.found if each.action is not None]
            await finding_records.save(tx, [(self.new_id(), each) for each in found], at=self.now())
        return plans

    async def _outcomes(self, plans: Sequence[AssignmentPlan], works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """Apply the works that have steps left and whose group exists."""
        possible = [work for plan, work in zip(plans, works, strict=True) if plan.observed is not None and work.steps]
        try:
            ensured = iter(await self.guests.ensure(possible) if possible else ())
        except TryAgain as fault:
            ensured = iter([GuestOutcome(None, (), fault) for _ in possible])
        return [
            GuestOutcome(None, (), NOT_SHOWN)
            if plan.observed is None
            else next(ensured)
            if work.steps
            else GuestOutcome(plan.observed, (), None)
            for plan, work in zip(plans, works, strict=True)
        ]

    async def _record(
        self, claim: Claim, tasks: Sequence[AssignmentTask], runs: Mapping[Place, Run], started_at: datetime
    ) -> None:
        now = self.now()
        async with self.database.across_tenants() as tx:
            # Locks the groups first, so that unchanged ones stay unchanged until the commit.
            same = await assignment_tasks.unchanged(tx, [run.assigned for run in runs.values()])
            overtaken = {
                task.request_id for task in tasks if task.assigned is not None and task.assigned.place not in same
            }
            settled = [self._settled(task, runs, started_at) for task in tasks if task.request_id not in overtaken]
            again = [job for job in claim.jobs if job.subject in overtaken]
            kept = replace(claim, jobs=tuple(job for job in claim.jobs if job.subject not in overtaken))
            changed = await settle(tx, kept, settled, now=now)
            await queue_jobs.postpone(tx, claim.lease_id, [Postponed(job.id, timedelta(0)) for job in again])
            failed = _failed(tasks, settled)
            await self._keep(tx, [run for place, run in runs.items() if place in same], failed, now)
        self.notifier.tell(changed)

    async def _keep(self, tx: Transaction, runs: Sequence[Run], failed: Collection[Place], now: datetime) -> None:
        """Store the observed state, and the guests who violate the rules."""
        shown = [(run.assigned.finding_subject, run.subject) for run in runs if run.subject is not None]
        await subject_records.observe(tx, [to_entry(subject, at=now) for _, subject in shown])
        found = [each for run in runs for each in run.found]
        await finding_records.save(tx, [(self.new_id(), each) for each in found], at=now)
        # Guests who are still present and violate no rule any more were not removed.
        stayed = {(of, str(guest.id)) for of, subject in shown for guest in subject.guests}
        stayed -= {(each.subject, each.about) for each in found}
        await finding_records.cancel_actions(tx, list(stayed), GUESTS)
        places = [(of.tenant_id, of.id) for of, _ in shown]
        await finding_records.close_missing(tx, places, GUESTS, remaining=[finding_key(each) for each in found], at=now)
        off = [(run.assigned.finding_subject, None) for run in runs if run.assigned.place in failed]
        await finding_records.cancel_actions(tx, off, GUESTS)

    def _settled(self, task: AssignmentTask, runs: Mapping[Place, Run], started_at: datetime) -> Settled:
        run = None if task.assigned is None else runs[task.assigned.place]
        done: frozenset[Step] = frozenset() if run is None else run.done
        fault = GONE if run is None else run.fault
        if all(record.step in done for record in task.steps):
            # The failed step belongs to another request for the same group.
            fault = None
        now = self.now()
        progress = after_outcome(task.steps, done=done, fault=fault, started_at=started_at, now=now)
        if run is not None:
            recorded = {record.step for record in task.steps if record.state in FINISHED}
            progress = fall_short(progress, reasons_by_step(run.shortfalls, recorded))
        if run is not None and run.stayed:
            progress = warn(progress, Step.SET_GUEST_ACCESS, _stayed(run.stayed))
        result = None if run is None or progress.state is not RequestState.SUCCEEDED else _result(run.subject)
        timeline = entries_of(task.steps, progress, result=result, at=now)
        settlement = Settlement(task.request_id, progress, result, people_checked=True, at=now, timeline=timeline)
        return Settled(settlement, self._event(task, progress, now), task=None)

    def _event(self, task: AssignmentTask, progress: Progress, now: datetime) -> Event | None:
        if progress.state is not RequestState.FAILED:
            return None
        summary = RequestSummary(
            request_id=task.request_id,
            tenant_id=task.tenant_id,
            kind=RequestKind.ASSIGNMENT,
            state=progress.state,
            display_name=task.display_name,
            error=progress.error,
            created_by=task.created_by,
        )
        return request_failed(EventId(self.new_id()), summary, now=now)


def _stayed(stayed: Sequence[Stayed]) -> Reason:
    """Name the guests who were not removed, a few of many."""
    if len(stayed) == 1:
        (only,) = stayed
        known = only.code in SENTENCES and only.display_name
        return Reason.build(only.code, guest=only.display_name) if known else _uncoded(only)
    names = tuple([each.display_name for each in stayed[:MOST_TOLD]])
    return Reason.build("guestsNotRemoved", count=len(stayed), guests=names)


def _uncoded(stayed: Stayed) -> Reason:
    return Reason.build("guestNotRemoved", problem=stayed.detail)


def _steps_by_subject(tasks: Sequence[AssignmentTask]) -> Mapping[Place, tuple[Assigned, tuple[Step, ...]]]:
    """Return the steps of each group or site, in order."""
    wanted: dict[Place, set[Step]] = {}
    known: dict[Place, Assigned] = {}
    for task in tasks:
        if task.assigned is not None:
            known[task.assigned.place] = task.assigned
            wanted.setdefault(task.assigned.place, set()).update(record.step for record in task.steps)
    return {place: (known[place], tuple([step for step in Step if step in steps])) for place, steps in wanted.items()}


def _failed(tasks: Sequence[AssignmentTask], settled: Sequence[Settled]) -> Collection[Place]:
    """Return the groups and sites with a request that failed for good."""
    failed = {each.settlement.request_id for each in settled if each.settlement.progress.state is RequestState.FAILED}
    return {task.assigned.place for task in tasks if task.assigned is not None and task.request_id in failed}


def _run(plan: AssignmentPlan, work: GuestWork, outcome: GuestOutcome) -> Run:
    shown = frozenset(plan.steps).difference(work.steps) if plan.observed is not None else frozenset()
    is_taken = Step.SET_GUEST_ACCESS in outcome.done
    # The observation may be older than the step that removed them.
    gone = set(work.wanted.remove_guests).difference([each.id for each in outcome.stayed]) if is_taken else ()
    subject = without(outcome.subject, gone)
    is_removing = bool(work.wanted.remove_guests) and not is_taken and isinstance(outcome.fault, TryAgain)
    done = shown | set(outcome.done)
    return Run(plan.assigned, subject, done, outcome.fault, is_removing, outcome.stayed, plan.kept, outcome.shortfalls)


def _result(subject: ObservedSubject | None) -> RequestResult | None:
    """Return the result of the request: the group or security group."""
    if subject is None:
        return None
    return RequestResult("team" if subject.is_team else "group", subject.id, subject.display_name, subject.mail)


JOBS = JobTable(AssignmentJobs, {JobKind.ASSIGNMENT_APPLY: AssignmentJobs.apply})
