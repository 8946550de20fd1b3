"""Bring the effects of assignments about: load what is true now, observe, plan, apply, record.

Running it twice is boring. Whichever request asks for it, what is assigned now comes about; and when that has changed
while it ran, it runs again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.directory.port import GuestOutcome, Guests, GuestWork, Stayed
from chamberlain.rules.assignment_tasks import Assigned, AssignmentTask, Place
from chamberlain.rules.errors import OutsideFault, Rejected, TryAgain
from chamberlain.rules.events import Event
from chamberlain.rules.findings import FindingKind, FindingSource, Found, Searched, guests_found, standpoint_of
from chamberlain.rules.guest_plans import remaining_of_subject, without
from chamberlain.rules.ids import EventId, UserId
from chamberlain.rules.jobs import Claim, Postponed
from chamberlain.rules.plans import Step
from chamberlain.rules.progress import Settlement
from chamberlain.rules.request_events import RequestSummary, request_failed
from chamberlain.rules.requests import Progress, RequestKind, RequestResult, RequestState
from chamberlain.rules.steps import MOST_TOLD, after_outcome, warn
from chamberlain.rules.subject_records import entry_of
from chamberlain.rules.subjects import ObservedSubject, WantedGuestRules
from chamberlain.rules.timeline import entries_of
from chamberlain.store import acceptances, assignment_tasks, findings, jobs, subjects
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier
from chamberlain.store.settle import Settled, settle_within

# What is found here, and in whose name.
GUESTS = Searched(FindingSource.ASSIGNMENT, (FindingKind.GUEST_AGAINST_RULE,))
# Found out by whoever follows the directory's changes; until then it may only be late.
NOT_SHOWN = TryAgain(timedelta(seconds=10), "The directory does not show this group at present.")
GONE = Rejected("groupUnknown", "The directory has no such group any more. What was assigned to it has no effect.")


@dataclass(frozen=True, slots=True)
class Plan:
    """A group or site with what is assigned to it, and the steps of all requests that are about it. `kept` are the
    guests of whom somebody has accepted that they are there."""

    assigned: Assigned
    steps: tuple[Step, ...]
    observed: ObservedSubject | None
    kept: frozenset[str] = frozenset()

    @property
    def found(self) -> tuple[Found, ...]:
        """The guests who are there against what is assigned."""
        if self.observed is None:
            return ()
        removed = self.assigned.removes_guests and Step.SET_GUEST_ACCESS in self.steps
        return _found(self.assigned, self.observed, removed=removed, kept=self.kept)

    @property
    def wanted(self) -> WantedGuestRules:
        """What the directory shall show; those whose removal was announced go."""
        going = tuple([UserId(UUID(each.about)) for each in self.found if each.action is not None])
        return replace(self.assigned.wanted, remove_guests=going)


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one group or site in this run: how it is now, and which steps are true. `is_removing` says that
    guests may have been removed without our having heard of it."""

    assigned: Assigned
    subject: ObservedSubject | None
    done: frozenset[Step]
    fault: OutsideFault | None
    is_removing: bool = False
    stayed: tuple[Stayed, ...] = ()
    kept: frozenset[str] = frozenset()

    @property
    def found(self) -> tuple[Found, ...]:
        """The guests who are there against what is assigned, now."""
        if self.subject is None:
            return ()
        return _found(self.assigned, self.subject, removed=self.is_removing, kept=self.kept)


@dataclass(frozen=True, slots=True)
class ApplyAssignments:
    """Works on a batch of claimed jobs; each has its own outcome."""

    database: Database
    guests: Guests
    notifier: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def __call__(self, claim: Claim) -> None:
        """Raises Unavailable when the database is away; the jobs are then taken up again when their lease ends."""
        started_at = self.now()
        async with self.database.across_tenants() as tx:
            tasks = await assignment_tasks.take_up(tx, [job.subject for job in claim.jobs])
        self.notifier.tell([task.request_id for task in tasks])
        runs = await self._run(_steps_of(tasks))
        await self._record(claim, tasks, runs, started_at)

    async def _run(self, steps: Mapping[Place, tuple[Assigned, tuple[Step, ...]]]) -> Mapping[Place, Run]:
        """Each group or site once, whoever has asked."""
        if not steps:
            return {}
        try:
            observed = await self.guests.observe([assigned.reference for assigned, _ in steps.values()])
        except TryAgain as fault:
            return {place: Run(assigned, None, frozenset(), fault) for place, (assigned, _) in steps.items()}
        plans = await self._announce(
            [Plan(*entry, shown) for entry, shown in zip(steps.values(), observed, strict=True)]
        )
        works = [GuestWork(plan.wanted, remaining_of_subject(plan.wanted, plan.observed, plan.steps)) for plan in plans]
        outcomes = await self._outcomes(plans, works)
        runs = [_run(plan, work, outcome) for plan, work, outcome in zip(plans, works, outcomes, strict=True)]
        return {run.assigned.place: run for run in runs}

    async def _announce(self, plans: Sequence[Plan]) -> Sequence[Plan]:
        """Who is about to be removed is on record before that: afterwards nobody would know of it. Whom somebody has
        kept is seen by the same transaction: who accepts it later meets what is announced."""
        places = [plan.assigned.place for plan in plans if any(each.action is not None for each in plan.found)]
        if not places:
            return plans
        async with self.database.across_tenants() as tx:
            kept = await acceptances.hold(tx, places, GUESTS)
            plans = [replace(plan, kept=kept.get(plan.assigned.place, frozenset())) for plan in plans]
            found = [each for plan in plans for each in plan.found if each.action is not None]
            await findings.keep(tx, [(self.new_id(), each) for each in found], at=self.now())
        return plans

    async def _outcomes(self, plans: Sequence[Plan], works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """What comes of each work; what is there already is left alone, and what is not there at all is not tried."""
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
            # Held first, so that what is found unchanged stays so until all is written.
            same = await assignment_tasks.unchanged(tx, [run.assigned for run in runs.values()])
            overtaken = {
                task.request_id for task in tasks if task.assigned is not None and task.assigned.place not in same
            }
            settled = [self._settled(task, runs, started_at) for task in tasks if task.request_id not in overtaken]
            again = [job for job in claim.jobs if job.subject in overtaken]
            kept = replace(claim, jobs=tuple(job for job in claim.jobs if job.subject not in overtaken))
            changed = await settle_within(tx, kept, settled, now=now)
            await jobs.postpone(tx, claim.lease_id, [Postponed(job.id, timedelta(0)) for job in again])
            failed = _failed(tasks, settled)
            await self._keep(tx, [run for place, run in runs.items() if place in same], failed, now)
        self.notifier.tell(changed)

    async def _keep(self, tx: Transaction, runs: Sequence[Run], failed: Collection[Place], now: datetime) -> None:
        """What the directory shows now, and who is in a group against the rules."""
        shown = [(run.assigned.finding_subject, run.subject) for run in runs if run.subject is not None]
        await subjects.observe(tx, [entry_of(subject, at=now) for _, subject in shown])
        found = [each for run in runs for each in run.found]
        await findings.keep(tx, [(self.new_id(), each) for each in found], at=now)
        # Whoever is there still, though nothing is against that any more, was not removed.
        stayed = {(of, str(guest.id)) for of, subject in shown for guest in subject.guests}
        stayed -= {(each.subject, each.about) for each in found}
        await findings.call_off(tx, list(stayed), GUESTS)
        places = [(of.tenant_id, of.id) for of, _ in shown]
        await findings.settle(tx, places, GUESTS, standing=[standpoint_of(each) for each in found], at=now)
        off = [(run.assigned.finding_subject, None) for run in runs if run.assigned.place in failed]
        await findings.call_off(tx, off, GUESTS)

    def _settled(self, task: AssignmentTask, runs: Mapping[Place, Run], started_at: datetime) -> Settled:
        run = None if task.assigned is None else runs[task.assigned.place]
        done: frozenset[Step] = frozenset() if run is None else run.done
        fault = GONE if run is None else run.fault
        if all(record.step in done for record in task.steps):
            # What stopped belongs to another request about the same group.
            fault = None
        now = self.now()
        progress = after_outcome(task.steps, done=done, fault=fault, started_at=started_at, now=now)
        if run is not None and run.stayed:
            reasons = [each.detail for each in run.stayed[:MOST_TOLD]]
            progress = warn(progress, Step.SET_GUEST_ACCESS, " ".join(reasons))
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


def _steps_of(tasks: Sequence[AssignmentTask]) -> Mapping[Place, tuple[Assigned, tuple[Step, ...]]]:
    """The steps of all tasks about each group or site, in their order."""
    wanted: dict[Place, set[Step]] = {}
    known: dict[Place, Assigned] = {}
    for task in tasks:
        if task.assigned is not None:
            known[task.assigned.place] = task.assigned
            wanted.setdefault(task.assigned.place, set()).update(record.step for record in task.steps)
    return {place: (known[place], tuple([step for step in Step if step in steps])) for place, steps in wanted.items()}


def _found(assigned: Assigned, subject: ObservedSubject, *, removed: bool, kept: Collection[str]) -> tuple[Found, ...]:
    rules = None if assigned.template is None else assigned.template.rules
    return guests_found(assigned.finding_subject, subject, rules, removed=removed, kept=kept)


def _failed(tasks: Sequence[AssignmentTask], settled: Sequence[Settled]) -> Collection[Place]:
    """Where a request has failed, so that nothing more comes of it by itself."""
    failed = {each.settlement.request_id for each in settled if each.settlement.progress.state is RequestState.FAILED}
    return {task.assigned.place for task in tasks if task.assigned is not None and task.request_id in failed}


def _run(plan: Plan, work: GuestWork, outcome: GuestOutcome) -> Run:
    shown = frozenset(plan.steps).difference(work.steps) if plan.observed is not None else frozenset()
    is_taken = Step.SET_GUEST_ACCESS in outcome.done
    # What is shown may be older than the step that removed them.
    gone = set(work.wanted.remove_guests).difference([each.id for each in outcome.stayed]) if is_taken else ()
    subject = without(outcome.subject, gone)
    is_removing = bool(work.wanted.remove_guests) and not is_taken and isinstance(outcome.fault, TryAgain)
    done = shown | set(outcome.done)
    return Run(plan.assigned, subject, done, outcome.fault, is_removing, outcome.stayed, plan.kept)


def _result(subject: ObservedSubject | None) -> RequestResult | None:
    """What the effects are shown by: the group, of a site its security group."""
    if subject is None:
        return None
    return RequestResult("team" if subject.is_team else "group", subject.id, subject.display_name, subject.mail)
