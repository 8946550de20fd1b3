"""Groups and sites as the worker takes them up to run their policies: what is assigned now, whatever was before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from chamberlain.core.ids import GroupId, PolicyId, TenantId
from chamberlain.directory.subjects import SubjectReference
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.models_assignment_tasks import Place
from chamberlain.guests.policies.evaluation import AppliedPolicy, Evaluation, Present
from chamberlain.guests.policies.models import PolicyRules
from chamberlain.guests.policies.timers import Clock, ClockPlace, PolicyRule, courses_of


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
