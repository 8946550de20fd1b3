# SPDX-License-Identifier: Apache-2.0
"""Evaluate a policy at one moment.

The result has the reminders, actions and findings of a group or site. The job and the simulation use it. The caller
saves the evaluation in one transaction, asks the directory for due actions, and passes their results to
`apply_outcomes`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeAlias

from chamberlain.core.ids import GroupId, PolicyId, TenantId, UserId
from chamberlain.directory.subjects import Guest, SubjectReference
from chamberlain.guests.models import Finding, FindingClosure, FindingState, FindingSubject, Place
from chamberlain.guests.policies.events import finding_about, finding_kind, guest_finding, owner_finding
from chamberlain.guests.policies.models import MinimumOwners, PolicyAction, PolicyRules
from chamberlain.guests.policies.timers import (
    PolicyRule,
    Schedule,
    Timer,
    TimerEvent,
    TimerKey,
    advance,
    guest_schedules,
    owner_terms,
    pause,
    record_failure,
    record_success,
    resume,
    start_timer,
)
from chamberlain.queue.models import Job


@dataclass(frozen=True, slots=True)
class AppliedPolicy:
    """An assigned policy.

    With `is_begun` its timers exist, so guests without one are new.
    """

    id: PolicyId
    rules: PolicyRules
    assigned_at: datetime
    is_begun: bool


@dataclass(frozen=True, slots=True)
class Membership:
    """The guests of a group or site, and the number of owners."""

    guests: tuple[Guest, ...]
    owners: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of an evaluation.

    `timers` are all timers afterwards, `changed` are to be saved, `gone` to be deleted. `reminders` are to be sent.
    `taken` are completed actions for the report and the audit trail. `due` are actions for the directory. `found` are
    all current findings, `ended` the closed ones. `next_at` is the next event apart from due actions, or None.
    """

    timers: tuple[Timer, ...]
    changed: tuple[Timer, ...]
    gone: tuple[Timer, ...]
    reminders: tuple[Timer, ...]
    taken: tuple[Timer, ...]
    due: tuple[Timer, ...]
    found: tuple[Finding, ...]
    ended: tuple[FindingClosure, ...]
    next_at: datetime | None


# If the first run is later, as in a suspended tenant, timers start with the run. So each guest has a whole period
# before the first action.
LATEST_START = timedelta(days=1)
# An action that was requested, and the reason of its failure or None.
Act: TypeAlias = tuple[Timer, str | None]


@dataclass(slots=True)
class _Evaluator:
    """Collects an evaluation. `left` are timers that are not processed yet."""

    subject: FindingSubject
    now: datetime
    accepted: Collection[TimerKey]
    left: dict[TimerKey, Timer]
    timers: list[Timer] = field(default_factory=list)
    changed: list[Timer] = field(default_factory=list)
    gone: list[Timer] = field(default_factory=list)
    reminders: list[Timer] = field(default_factory=list)
    taken: list[Timer] = field(default_factory=list)
    due: list[Timer] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    ended: list[FindingClosure] = field(default_factory=list)
    removed: set[UserId | None] = field(default_factory=set)

    def run(self, schedule: Schedule, policy: AppliedPolicy, guests: Sequence[Guest]) -> None:
        """Advance the timers of a rule, and start missing ones."""
        for guest in guests:
            before = self.left.get((schedule.rule, guest.id))
            timer = _current_timer(before, schedule, policy, guest, now=self.now)
            if before is not None and timer is not before and before.has_finding:
                self._close_finding(before, FindingState.GONE)
            self._advance(before, timer, schedule)

    def _advance(self, before: Timer | None, timer: Timer, schedule: Schedule) -> None:
        event = TimerEvent.NOTHING
        if self._is_paused(timer):
            timer = pause(timer)
        else:
            timer, event = advance(resume(timer, schedule, now=self.now), schedule, now=self.now)
        match event:
            case TimerEvent.NOTHING:
                pass
            case TimerEvent.REMINDER:
                self.reminders.append(timer)
            case TimerEvent.TAKEN:
                self.taken.append(timer)
            case TimerEvent.DUE:
                self.due.append(timer)
        self.keep(before, timer, schedule)

    def check_owners(self, rule: MinimumOwners, policy: AppliedPolicy, owners: int) -> None:
        """Report too few owners, once. The service cannot add owners."""
        if owners >= rule.count:
            return
        before = self.left.pop((PolicyRule.MINIMUM_OWNERS, None), None)
        terms = owner_terms(rule.count)
        timer = before
        if timer is None or not _is_current(timer, policy, terms):
            timer = Timer(
                rule=PolicyRule.MINIMUM_OWNERS,
                guest=None,
                policy_id=policy.id,
                terms=terms,
                action=PolicyAction.NOTIFY,
                started_at=self.now,
                action_at=None,
                next_at=None,
            )
            self.reminders.append(timer)
            self.changed.append(timer)
        self.timers.append(timer)
        self.found.append(owner_finding(self.subject, timer, owners=owners, wanted=rule.count))

    def keep(self, before: Timer | None, timer: Timer, schedule: Schedule) -> None:
        """Add a timer with its finding."""
        self.left.pop(timer.place, None)
        self.timers.append(timer)
        if timer is not before:
            self.changed.append(timer)
        if timer.guest is not None and timer.has_finding:
            self.found.append(guest_finding(self.subject, timer, timer.guest, schedule))

    def end(self, timer: Timer, *, by_us: bool) -> None:
        """End a timer. With `by_us` the guest was removed by it."""
        self.left.pop(timer.place, None)
        self.gone.append(timer)
        # A guest whose time is over by several rules is removed once.
        if by_us and timer.place[1] not in self.removed:
            self.removed.add(timer.place[1])
            self.taken.append(record_success(timer, now=self.now))
        if timer.has_finding:
            self._close_finding(timer, FindingState.REPAIRED if by_us else FindingState.GONE)

    def evaluation(self) -> Evaluation:
        """Build the evaluation.

        A finding that ended and was found again stays open.
        """
        found = {(each.kind, each.about) for each in self.found}
        ended = [each for each in self.ended if (each.kind, each.about) not in found]
        moments = [
            timer.next_at
            for timer in self.timers
            if timer.next_at is not None and not timer.is_in_progress and not self._is_paused(timer)
        ]
        return Evaluation(
            timers=tuple(self.timers),
            changed=tuple(self.changed),
            gone=tuple(self.gone),
            reminders=tuple(self.reminders),
            taken=tuple(self.taken),
            due=tuple(self.due),
            found=tuple(self.found),
            ended=tuple(ended),
            next_at=min(moments, default=None),
        )

    def _is_paused(self, timer: Timer) -> bool:
        return bool(self.accepted) and timer.place in self.accepted and not timer.is_in_progress

    def _close_finding(self, timer: Timer, state: FindingState) -> None:
        self.ended.append(FindingClosure(self.subject, finding_kind(timer.rule), finding_about(timer), state))


@dataclass(frozen=True, slots=True)
class Idle:
    """The end of the idle time, or None without an end.

    It is valid while the digest of the run's input is the same.
    """

    digest: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class AssignedPolicy:
    """The policy of a group or site.

    `assigned_at` is None for assignments of old versions. `idle` is set if the last run found nothing.
    """

    id: PolicyId
    rules: PolicyRules
    assigned_at: datetime | None
    is_begun: bool
    idle: Idle | None

    def applied(self, *, now: datetime) -> AppliedPolicy:
        """Return the policy for an evaluation."""
        return AppliedPolicy(self.id, self.rules, self.assigned_at or now, self.is_begun)

    def is_idle(self, present: Membership, *, now: datetime) -> bool:
        """Return whether a run has no effect and needs no timer."""
        if self.idle is None or not self.is_begun or (self.idle.until is not None and self.idle.until <= now):
            return False
        return self.idle.digest == self.digest(present)

    def idle_after(self, present: Membership, evaluation: Evaluation) -> Idle | None:
        """Return the idle time after a run.

        Findings and due actions need further runs.
        """
        if evaluation.found or evaluation.due:
            return None
        return Idle(self.digest(present), evaluation.next_at)

    def digest(self, present: Membership) -> str:
        """Digest the input of a run: the rules and the members."""
        schedules = tuple(guest_schedules(self.rules))
        sees = any(schedule.rule is PolicyRule.INACTIVITY for schedule in schedules)
        told = [str(self.id), *[f"{schedule.rule} {schedule.terms}" for schedule in schedules]]
        if (owners := self.rules.minimum_owners) is not None:
            told.append(f"{owners.count} {present.owners}")
        told += [
            f"{guest.id} {guest.mail} {guest.display_name} {guest.last_seen_at if sees else None}"
            for guest in present.guests
        ]
        return sha256("\n".join(told).encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class PolicyTask:
    """A group or site with its policy, or None.

    `timers` are set once they are read. `accepted` are timers with an accepted finding, each with the end of the
    acceptance or None.
    """

    place: Place
    subject: FindingSubject
    policy: AssignedPolicy | None
    timers: tuple[Timer, ...] = ()
    accepted: Mapping[TimerKey, datetime | None] = field(default_factory=dict)

    def still_due(self, due: Iterable[Timer]) -> tuple[Timer, ...]:
        """Return announced actions that are unchanged and still part of the policy."""
        policy = self.policy
        if policy is None or not policy.is_begun:
            return ()
        timers = {timer.place: timer for timer in self.timers}
        asked = {(policy.id, schedule.rule, schedule.terms) for schedule in guest_schedules(policy.rules)}
        return tuple(
            [
                timer
                for timer in due
                if timers.get(timer.place) == timer and (timer.policy_id, timer.rule, timer.terms) in asked
            ]
        )


@dataclass(frozen=True, slots=True)
class PolicyPlace:
    """A group or site with a policy, and its directory reference."""

    tenant_id: TenantId
    id: GroupId
    extension: str

    @property
    def place(self) -> Place:
        """Return the key of the group or site."""
        return self.tenant_id, self.id

    @property
    def reference(self) -> SubjectReference:
        """Return the reference in the directory."""
        return SubjectReference(self.tenant_id, self.id, self.extension)


@dataclass(frozen=True, slots=True)
class Run:
    """The run of a group or site, with its job.

    `idle` is set if nothing was found. `is_over` is true if no action is left. `is_last` marks the last batch of
    actions.
    """

    job: Job
    task: PolicyTask
    evaluation: Evaluation
    idle: Idle | None = None
    is_over: bool = True
    is_last: bool = True

    @property
    def subject(self) -> FindingSubject:
        """Return the group or site."""
        return self.task.subject

    @property
    def rules(self) -> PolicyRules:
        """Return the rules of the policy, or none."""
        return PolicyRules(None, None, None, None) if self.task.policy is None else self.task.policy.rules


def evaluate(
    subject: FindingSubject,
    policy: AppliedPolicy | None,
    present: Membership,
    timers: Iterable[Timer],
    *,
    now: datetime,
    accepted: Collection[TimerKey] = (),
) -> Evaluation:
    """Evaluate a group or site at a moment.

    Without a policy all findings end.

    `accepted` are timers with an accepted finding. They are paused.
    """
    totals = _Evaluator(subject, now, accepted, {timer.place: timer for timer in timers})
    if policy is not None:
        for schedule in guest_schedules(policy.rules):
            totals.run(schedule, policy, present.guests)
        if policy.rules.minimum_owners is not None:
            totals.check_owners(policy.rules.minimum_owners, policy, present.owners)
    there = {guest.id for guest in present.guests}
    for timer in list(totals.left.values()):
        was_removed = timer.is_in_progress and timer.action is PolicyAction.REMOVE
        totals.end(timer, by_us=was_removed and timer.guest is not None and timer.guest.id not in there)
    return totals.evaluation()


def apply_outcomes(
    subject: FindingSubject,
    rules: PolicyRules,
    timers: Iterable[Timer],
    acts: Sequence[Act],
    *,
    now: datetime,
    accepted: Collection[TimerKey] = (),
) -> Evaluation:
    """Evaluate the results of due actions.

    `timers` are the current timers, at least all of the guests concerned. An action whose timer changed meanwhile is
    skipped, because its result is already saved. All timers of a removed guest end.
    """
    schedules = {schedule.rule: schedule for schedule in guest_schedules(rules)}
    totals = _Evaluator(subject, now, accepted, {timer.place: timer for timer in timers})
    removed = set()
    for timer, trouble in acts:
        if totals.left.get(timer.place) != timer:
            continue
        if trouble is not None:
            totals.keep(timer, record_failure(timer, trouble, now=now), schedules[timer.rule])
        elif timer.action is PolicyAction.REMOVE:
            totals.end(timer, by_us=True)
            removed.add(timer.guest and timer.guest.id)
        else:
            acted = record_success(timer, now=now)
            totals.taken.append(acted)
            totals.keep(timer, acted, schedules[timer.rule])
    for timer in list(totals.left.values()):
        if timer.guest is not None and timer.guest.id in removed:
            totals.end(timer, by_us=False)
    totals.timers.extend(totals.left.values())
    return totals.evaluation()


def start_run(job: Job, task: PolicyTask, present: Membership, now: datetime) -> Run:
    """Evaluate a group or site with its current members."""
    policy = None if task.policy is None else task.policy.applied(now=now)
    evaluation = evaluate(task.subject, policy, present, task.timers, now=now, accepted=task.accepted)
    idle = None if task.policy is None else task.policy.idle_after(present, evaluation)
    return Run(job, task, evaluation, idle, is_over=not evaluation.due)


def split_by_guests(
    wanted: Mapping[Place, Job], present: Mapping[Place, Membership], max_guests: int
) -> Iterator[Mapping[Place, Job]]:
    """Split groups and sites into batches of at most so many guests.

    A batch has at least one.
    """
    part: dict[Place, Job] = {}
    guests = 0
    for place, job in wanted.items():
        number = len(present[place].guests) if place in present else 0
        if part and guests + number > max_guests:
            yield part
            part, guests = {}, 0
        part[place] = job
        guests += number
    yield part


def split_actions(runs: Sequence[Run], max_actions: int) -> Iterator[Sequence[Run]]:
    """Split the actions of runs into batches.

    A large run is in several of them.
    """
    batch: list[Run] = []
    left = max_actions
    for run in runs:
        due = run.evaluation.due
        start = 0
        while start < len(due):
            if left == 0:
                yield batch
                batch, left = [], max_actions
            taken = due[start : start + left]
            start += len(taken)
            left -= len(taken)
            batch.append(replace(keep_due(run, taken), is_last=start == len(due)))
    if batch:
        yield batch


def keep_due(run: Run, due: tuple[Timer, ...]) -> Run:
    """Limit a run to these due actions."""
    return replace(run, evaluation=replace(run.evaluation, due=due))


def _current_timer(
    before: Timer | None, schedule: Schedule, policy: AppliedPolicy, guest: Guest, *, now: datetime
) -> Timer:
    """Return the current timer of a guest, unchanged if possible."""
    if before is None or not _is_current(before, policy, schedule.terms):
        at = now if policy.is_begun or now - policy.assigned_at > LATEST_START else policy.assigned_at
        return start_timer(schedule, guest, policy.id, at=_last_activity(at, schedule, guest, now=now))
    seen_at = _last_activity(before.started_at, schedule, guest, now=now)
    if seen_at > before.started_at and not before.is_in_progress:
        return start_timer(schedule, guest, policy.id, at=seen_at)
    known = before.guest
    if known is None or (known.mail, known.display_name) != (guest.mail, guest.display_name):
        return replace(before, guest=replace(guest, last_seen_at=None))
    return before


def _is_current(timer: Timer, policy: AppliedPolicy, terms: str) -> bool:
    """Return whether a timer belongs to this rule of this assignment."""
    return policy.is_begun and timer.policy_id == policy.id and timer.terms == terms


def _last_activity(at: datetime, schedule: Schedule, guest: Guest, *, now: datetime) -> datetime:
    """Return the start of inactivity.

    It is the start of the timer or a later activity. Times in the future are capped.
    """
    if schedule.rule is not PolicyRule.INACTIVITY or guest.last_seen_at is None:
        return at
    return max(at, min(guest.last_seen_at, now))
