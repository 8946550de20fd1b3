"""What a policy makes of the guests and owners who are there: reminders, actions and findings at one moment.

The job and the simulation are callers of this. What it gives is written in one go; actions that are due are then asked
of the directory, and what came of them is given to `settle`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeAlias

from chamberlain.core.ids import GroupId, PolicyId, TenantId, UserId
from chamberlain.directory.subjects import Guest, SubjectReference
from chamberlain.guests.models import Ended, FindingState, FindingSubject, Found, Place
from chamberlain.guests.policies.events import about_of, guest_found, kind_of, owners_found
from chamberlain.guests.policies.models import MinimumOwners, PolicyAction, PolicyRules
from chamberlain.guests.policies.timers import (
    Clock,
    ClockPlace,
    Course,
    Happening,
    PolicyRule,
    after_action,
    after_trouble,
    courses_of,
    rested,
    resumed,
    started,
    terms_of_owners,
    tick,
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
class Present:
    """Who is in a group or site now: its guests, each once, and how many own it."""

    guests: tuple[Guest, ...]
    owners: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What happens, and the clocks as they become.

    `clocks` are all that there are then, `changed` those of them that are to be written, and `gone` those that are to
    be removed. `reminders` are told now. `taken` are actions that were taken, to be told and put on record; `due` are
    those to be asked of the directory. `found` is all that is true now, `ended` what was found and is not any more.
    `next_at` is when something happens next, but for what is due; None when nothing will by itself.
    """

    clocks: tuple[Clock, ...]
    changed: tuple[Clock, ...]
    gone: tuple[Clock, ...]
    reminders: tuple[Clock, ...]
    taken: tuple[Clock, ...]
    due: tuple[Clock, ...]
    found: tuple[Found, ...]
    ended: tuple[Ended, ...]
    next_at: datetime | None


# When the first run comes later than this after the assignment, as in a tenant that was suspended, clocks start with
# it: nobody meets an action sooner than a whole period after they were first met.
LATEST_START = timedelta(days=1)

# A clock whose action was asked for, and why it was not taken; None when it was.
Act: TypeAlias = tuple[Clock, str | None]


def evaluate(
    subject: FindingSubject,
    policy: AppliedPolicy | None,
    present: Present,
    clocks: Iterable[Clock],
    *,
    now: datetime,
    accepted: Collection[ClockPlace] = (),
) -> Evaluation:
    """What happens at this moment to a group or site; without a policy all that was found ends.

    `accepted` are the clocks whose finding somebody has accepted: they rest, and nothing is told or done about them.
    """
    tally = _Tally(subject, now, accepted, {clock.place: clock for clock in clocks})
    if policy is not None:
        for course in courses_of(policy.rules):
            tally.run(course, policy, present.guests)
        if policy.rules.minimum_owners is not None:
            tally.look_at_owners(policy.rules.minimum_owners, policy, present.owners)
    there = {guest.id for guest in present.guests}
    for clock in list(tally.left.values()):
        was_removed = clock.is_under_way and clock.action is PolicyAction.REMOVE
        tally.end(clock, by_us=was_removed and clock.guest is not None and clock.guest.id not in there)
    return tally.evaluation()


def settle(
    subject: FindingSubject,
    rules: PolicyRules,
    clocks: Iterable[Clock],
    acts: Sequence[Act],
    *,
    now: datetime,
    accepted: Collection[ClockPlace] = (),
) -> Evaluation:
    """What happens when it is known what came of actions that were due. `clocks` are those of the group or site as they
    are by now, at least all of the guests whom the actions are about: when something happens next is said of these.
    Where one is not as it was when its action was announced, somebody has told of that already. With a guest who was
    removed all of their clocks go."""
    courses = {course.rule: course for course in courses_of(rules)}
    tally = _Tally(subject, now, accepted, {clock.place: clock for clock in clocks})
    removed = set()
    for clock, trouble in acts:
        if tally.left.get(clock.place) != clock:
            continue
        if trouble is not None:
            tally.keep(clock, after_trouble(clock, trouble, now=now), courses[clock.rule])
        elif clock.action is PolicyAction.REMOVE:
            tally.end(clock, by_us=True)
            removed.add(clock.guest and clock.guest.id)
        else:
            acted = after_action(clock, now=now)
            tally.taken.append(acted)
            tally.keep(clock, acted, courses[clock.rule])
    for clock in list(tally.left.values()):
        if clock.guest is not None and clock.guest.id in removed:
            tally.end(clock, by_us=False)
    tally.clocks.extend(tally.left.values())
    return tally.evaluation()


@dataclass(slots=True)
class _Tally:
    """What has come together so far. `left` are the clocks that nobody has looked at yet."""

    subject: FindingSubject
    now: datetime
    accepted: Collection[ClockPlace]
    left: dict[ClockPlace, Clock]
    clocks: list[Clock] = field(default_factory=list)
    changed: list[Clock] = field(default_factory=list)
    gone: list[Clock] = field(default_factory=list)
    reminders: list[Clock] = field(default_factory=list)
    taken: list[Clock] = field(default_factory=list)
    due: list[Clock] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    removed: set[UserId | None] = field(default_factory=set)

    def run(self, course: Course, policy: AppliedPolicy, guests: Sequence[Guest]) -> None:
        """Let the clocks of a rule go on, and start those that there are not yet."""
        for guest in guests:
            before = self.left.get((course.rule, guest.id))
            clock = _current(before, course, policy, guest, now=self.now)
            if before is not None and clock is not before and before.is_told:
                self._ended(before, FindingState.GONE)
            self._go_on(before, clock, course)

    def _go_on(self, before: Clock | None, clock: Clock, course: Course) -> None:
        happening = Happening.NOTHING
        if self._rests(clock):
            clock = rested(clock)
        else:
            clock, happening = tick(resumed(clock, course, now=self.now), course, now=self.now)
        match happening:
            case Happening.NOTHING:
                pass
            case Happening.REMINDER:
                self.reminders.append(clock)
            case Happening.TAKEN:
                self.taken.append(clock)
            case Happening.DUE:
                self.due.append(clock)
        self.keep(before, clock, course)

    def look_at_owners(self, rule: MinimumOwners, policy: AppliedPolicy, owners: int) -> None:
        """Nobody can do anything about it from here: it is told once, when it begins."""
        if owners >= rule.count:
            return
        before = self.left.pop((PolicyRule.MINIMUM_OWNERS, None), None)
        terms = terms_of_owners(rule.count)
        clock = before
        if clock is None or not _counts(clock, policy, terms):
            clock = Clock(
                rule=PolicyRule.MINIMUM_OWNERS,
                guest=None,
                policy_id=policy.id,
                terms=terms,
                action=PolicyAction.NOTIFY,
                started_at=self.now,
                action_at=None,
                next_at=None,
            )
            self.reminders.append(clock)
            self.changed.append(clock)
        self.clocks.append(clock)
        self.found.append(owners_found(self.subject, clock, owners=owners, wanted=rule.count))

    def keep(self, before: Clock | None, clock: Clock, course: Course) -> None:
        """A clock as it is now, with what is found by it."""
        self.left.pop(clock.place, None)
        self.clocks.append(clock)
        if clock is not before:
            self.changed.append(clock)
        if clock.guest is not None and clock.is_told:
            self.found.append(guest_found(self.subject, clock, clock.guest, course))

    def end(self, clock: Clock, *, by_us: bool) -> None:
        """A clock that counts no more; `by_us` says that the guest was removed by it."""
        self.left.pop(clock.place, None)
        self.gone.append(clock)
        # A guest whose time is over by several rules is removed once.
        if by_us and clock.place[1] not in self.removed:
            self.removed.add(clock.place[1])
            self.taken.append(after_action(clock, now=self.now))
        if clock.is_told:
            self._ended(clock, FindingState.REPAIRED if by_us else FindingState.GONE)

    def evaluation(self) -> Evaluation:
        """All of it. What has ended and was found again at the same moment stands."""
        found = {(each.kind, each.about) for each in self.found}
        ended = [each for each in self.ended if (each.kind, each.about) not in found]
        moments = [
            clock.next_at
            for clock in self.clocks
            if clock.next_at is not None and not clock.is_under_way and not self._rests(clock)
        ]
        return Evaluation(
            clocks=tuple(self.clocks),
            changed=tuple(self.changed),
            gone=tuple(self.gone),
            reminders=tuple(self.reminders),
            taken=tuple(self.taken),
            due=tuple(self.due),
            found=tuple(self.found),
            ended=tuple(ended),
            next_at=min(moments, default=None),
        )

    def _rests(self, clock: Clock) -> bool:
        return bool(self.accepted) and clock.place in self.accepted and not clock.is_under_way

    def _ended(self, clock: Clock, state: FindingState) -> None:
        self.ended.append(Ended(self.subject, kind_of(clock.rule), about_of(clock), state))


def _current(before: Clock | None, course: Course, policy: AppliedPolicy, guest: Guest, *, now: datetime) -> Clock:
    """The clock that counts for a guest at this moment, the same one where nothing has changed."""
    if before is None or not _counts(before, policy, course.terms):
        at = now if policy.is_begun or now - policy.assigned_at > LATEST_START else policy.assigned_at
        return started(course, guest, policy.id, at=_seen(at, course, guest, now=now))
    seen_at = _seen(before.started_at, course, guest, now=now)
    if seen_at > before.started_at and not before.is_under_way:
        return started(course, guest, policy.id, at=seen_at)
    known = before.guest
    if known is None or (known.mail, known.display_name) != (guest.mail, guest.display_name):
        return replace(before, guest=replace(guest, last_seen_at=None))
    return before


def _counts(clock: Clock, policy: AppliedPolicy, terms: str) -> bool:
    """Whether a clock was started by just this rule of this assignment."""
    return policy.is_begun and clock.policy_id == policy.id and clock.terms == terms


def _seen(at: datetime, course: Course, guest: Guest, *, now: datetime) -> datetime:
    """From when on a guest counts as inactive: the start, or a later sign of them. A clock of others that is ahead of
    ours is not believed."""
    if course.rule is not PolicyRule.INACTIVITY or guest.last_seen_at is None:
        return at
    return max(at, min(guest.last_seen_at, now))


@dataclass(frozen=True, slots=True)
class Quiet:
    """Until when nothing happens (None: nothing at all) as long as the digest of what a run goes by is this one."""

    digest: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class AssignedPolicy:
    """The policy of a group or site. Without `assigned_at` it was assigned before that was kept. It is `quiet` when the
    last run has left nothing to tell."""

    id: PolicyId
    rules: PolicyRules
    assigned_at: datetime | None
    is_begun: bool
    quiet: Quiet | None

    def applied(self, *, now: datetime) -> AppliedPolicy:
        """The policy as it is evaluated at this moment."""
        return AppliedPolicy(self.id, self.rules, self.assigned_at or now, self.is_begun)

    def is_quiet(self, present: Present, *, now: datetime) -> bool:
        """Whether nothing can happen now, so that its clocks need not even be looked at."""
        if self.quiet is None or not self.is_begun or (self.quiet.until is not None and self.quiet.until <= now):
            return False
        return self.quiet.digest == self.digest_with(present)

    def quiet_after(self, present: Present, evaluation: Evaluation) -> Quiet | None:
        """For how long nothing happens after a run. While there are findings every run sees to them."""
        if evaluation.found or evaluation.due:
            return None
        return Quiet(self.digest_with(present), evaluation.next_at)

    def digest_with(self, present: Present) -> str:
        """What a run goes by, in short: the rules, and who is there."""
        courses = tuple(courses_of(self.rules))
        sees = any(course.rule is PolicyRule.INACTIVITY for course in courses)
        told = [str(self.id), *[f"{course.rule} {course.terms}" for course in courses]]
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
    clocks: tuple[Clock, ...] = ()
    accepted: Mapping[ClockPlace, datetime | None] = field(default_factory=dict)

    def still_due(self, due: Iterable[Clock]) -> tuple[Clock, ...]:
        """Those of the actions that were announced that nobody has seen to meanwhile, and that the policy still asks
        for."""
        policy = self.policy
        if policy is None or not policy.is_begun:
            return ()
        clocks = {clock.place: clock for clock in self.clocks}
        asked = {(policy.id, course.rule, course.terms) for course in courses_of(policy.rules)}
        return tuple(
            [
                clock
                for clock in due
                if clocks.get(clock.place) == clock and (clock.policy_id, clock.rule, clock.terms) in asked
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
    """What happens with one group or site, and the job that it happens by; `quiet` when nothing is left to tell. It is
    over when no action of it is still to be asked for, and `is_last` of the portions that these are asked for in."""

    job: Job
    task: PolicyTask
    evaluation: Evaluation
    quiet: Quiet | None = None
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


def begun(job: Job, task: PolicyTask, present: Present, now: datetime) -> Run:
    """The run of a group or site with those who are there."""
    policy = None if task.policy is None else task.policy.applied(now=now)
    evaluation = evaluate(task.subject, policy, present, task.clocks, now=now, accepted=task.accepted)
    quiet = None if task.policy is None else task.policy.quiet_after(present, evaluation)
    return Run(job, task, evaluation, quiet, is_over=not evaluation.due)


def parts_of(
    wanted: Mapping[Place, Job], present: Mapping[Place, Present], most_guests: int
) -> Iterator[Mapping[Place, Job]]:
    """The groups and sites in parts that have so many guests together, or are one."""
    part: dict[Place, Job] = {}
    guests = 0
    for place, job in wanted.items():
        number = len(present[place].guests) if place in present else 0
        if part and guests + number > most_guests:
            yield part
            part, guests = {}, 0
        part[place] = job
        guests += number
    yield part


def portions_of(runs: Sequence[Run], most_acts: int) -> Iterator[Sequence[Run]]:
    """The runs with their actions in portions of so many at most. One that has more is in several."""
    portion: list[Run] = []
    left = most_acts
    for run in runs:
        due = run.evaluation.due
        start = 0
        while start < len(due):
            if left == 0:
                yield portion
                portion, left = [], most_acts
            taken = due[start : start + left]
            start += len(taken)
            left -= len(taken)
            portion.append(replace(with_due(run, taken), is_last=start == len(due)))
    if portion:
        yield portion


def with_due(run: Run, due: tuple[Clock, ...]) -> Run:
    """The same run with these actions alone."""
    return replace(run, evaluation=replace(run.evaluation, due=due))
