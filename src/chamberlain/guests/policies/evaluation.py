"""What a policy makes of the guests and owners who are there: reminders, actions and findings at one moment.

The job and the simulation are callers of this. What it gives is written in one go; actions that are due are then asked
of the directory, and what came of them is given to `apply_outcomes`.
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
    """A policy that is assigned. `is_begun` says that its clocks were started before: whoever has none came later."""

    id: PolicyId
    rules: PolicyRules
    assigned_at: datetime
    is_begun: bool


@dataclass(frozen=True, slots=True)
class Membership:
    """Who is in a group or site now: its guests, each once, and how many own it."""

    guests: tuple[Guest, ...]
    owners: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What happens, and the clocks as they become.

    `timers` are all that there are then, `changed` those of them that are to be written, and `gone` those that are to
    be removed. `reminders` are told now. `taken` are actions that were taken, to be told and put on record; `due` are
    those to be asked of the directory. `found` is all that is true now, `ended` what was found and is not any more.
    `next_at` is when something happens next, but for what is due; None when nothing will by itself.
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


# When the first run comes later than this after the assignment, as in a tenant that was suspended, clocks start with
# it: nobody meets an action sooner than a whole period after they were first met.
LATEST_START = timedelta(days=1)
# A clock whose action was asked for, and why it was not taken; None when it was.
Act: TypeAlias = tuple[Timer, str | None]


@dataclass(slots=True)
class _Evaluator:
    """What has come together so far. `left` are the clocks that nobody has looked at yet."""

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
        """Let the clocks of a rule go on, and start those that there are not yet."""
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
        """Nobody can do anything about it from here: it is told once, when it begins."""
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
        """A clock as it is now, with what is found by it."""
        self.left.pop(timer.place, None)
        self.timers.append(timer)
        if timer is not before:
            self.changed.append(timer)
        if timer.guest is not None and timer.has_finding:
            self.found.append(guest_finding(self.subject, timer, timer.guest, schedule))

    def end(self, timer: Timer, *, by_us: bool) -> None:
        """A clock that counts no more; `by_us` says that the guest was removed by it."""
        self.left.pop(timer.place, None)
        self.gone.append(timer)
        # A guest whose time is over by several rules is removed once.
        if by_us and timer.place[1] not in self.removed:
            self.removed.add(timer.place[1])
            self.taken.append(record_success(timer, now=self.now))
        if timer.has_finding:
            self._close_finding(timer, FindingState.REPAIRED if by_us else FindingState.GONE)

    def evaluation(self) -> Evaluation:
        """All of it. What has ended and was found again at the same moment stands."""
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
    """Until when nothing happens (None: nothing at all) as long as the digest of what a run goes by is this one."""

    digest: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class AssignedPolicy:
    """The policy of a group or site. Without `assigned_at` it was assigned before that was kept. It is `idle` when the
    last run has left nothing to tell."""

    id: PolicyId
    rules: PolicyRules
    assigned_at: datetime | None
    is_begun: bool
    idle: Idle | None

    def applied(self, *, now: datetime) -> AppliedPolicy:
        """The policy as it is evaluated at this moment."""
        return AppliedPolicy(self.id, self.rules, self.assigned_at or now, self.is_begun)

    def is_idle(self, present: Membership, *, now: datetime) -> bool:
        """Whether nothing can happen now, so that its clocks need not even be looked at."""
        if self.idle is None or not self.is_begun or (self.idle.until is not None and self.idle.until <= now):
            return False
        return self.idle.digest == self.digest(present)

    def idle_after(self, present: Membership, evaluation: Evaluation) -> Idle | None:
        """For how long nothing happens after a run. While there are findings every run sees to them."""
        if evaluation.found or evaluation.due:
            return None
        return Idle(self.digest(present), evaluation.next_at)

    def digest(self, present: Membership) -> str:
        """What a run goes by, in short: the rules, and who is there."""
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
    """A group or site with its policy, None when it has none (any more), and, once they are read, the clocks that there
    are. `accepted` are the clocks whose finding somebody has accepted, each until its moment, for good where that is
    None."""

    place: Place
    subject: FindingSubject
    policy: AssignedPolicy | None
    timers: tuple[Timer, ...] = ()
    accepted: Mapping[TimerKey, datetime | None] = field(default_factory=dict)

    def still_due(self, due: Iterable[Timer]) -> tuple[Timer, ...]:
        """Those of the actions that were announced that nobody has seen to meanwhile, and that the policy still asks
        for."""
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
    """Where a policy may have something to do, and how the directory finds it."""

    tenant_id: TenantId
    id: GroupId
    extension: str

    @property
    def place(self) -> Place:
        """What tells it from all others."""
        return self.tenant_id, self.id

    @property
    def reference(self) -> SubjectReference:
        """How the directory finds it."""
        return SubjectReference(self.tenant_id, self.id, self.extension)


@dataclass(frozen=True, slots=True)
class Run:
    """What happens with one group or site, and the job that it happens by; `idle` when nothing is left to tell. It is
    over when no action of it is still to be asked for, and `is_last` of the portions that these are asked for in."""

    job: Job
    task: PolicyTask
    evaluation: Evaluation
    idle: Idle | None = None
    is_over: bool = True
    is_last: bool = True

    @property
    def subject(self) -> FindingSubject:
        """The group or site."""
        return self.task.subject

    @property
    def rules(self) -> PolicyRules:
        """What its policy asks for, when it has one."""
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
    """What happens at this moment to a group or site; without a policy all that was found ends.

    `accepted` are the clocks whose finding somebody has accepted: they rest, and nothing is told or done about them.
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
    """What happens when it is known what came of actions that were due. `timers` are those of the group or site as they
    are by now, at least all of the guests whom the actions are about: when something happens next is said of these.
    Where one is not as it was when its action was announced, somebody has told of that already. With a guest who was
    removed all of their clocks go."""
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
    """The run of a group or site with those who are there."""
    policy = None if task.policy is None else task.policy.applied(now=now)
    evaluation = evaluate(task.subject, policy, present, task.timers, now=now, accepted=task.accepted)
    idle = None if task.policy is None else task.policy.idle_after(present, evaluation)
    return Run(job, task, evaluation, idle, is_over=not evaluation.due)


def split_by_guests(
    wanted: Mapping[Place, Job], present: Mapping[Place, Membership], max_guests: int
) -> Iterator[Mapping[Place, Job]]:
    """The groups and sites in parts that have so many guests together, or are one."""
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
    """The runs with their actions in portions of so many at most. One that has more is in several."""
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
    """The same run with these actions alone."""
    return replace(run, evaluation=replace(run.evaluation, due=due))


def _current_timer(
    before: Timer | None, schedule: Schedule, policy: AppliedPolicy, guest: Guest, *, now: datetime
) -> Timer:
    """The clock that counts for a guest at this moment, the same one where nothing has changed."""
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
    """Whether a clock was started by just this rule of this assignment."""
    return policy.is_begun and timer.policy_id == policy.id and timer.terms == terms


def _last_activity(at: datetime, schedule: Schedule, guest: Guest, *, now: datetime) -> datetime:
    """From when on a guest counts as inactive: the start, or a later sign of them. A clock of others that is ahead of
    ours is not believed."""
    if schedule.rule is not PolicyRule.INACTIVITY or guest.last_seen_at is None:
        return at
    return max(at, min(guest.last_seen_at, now))
