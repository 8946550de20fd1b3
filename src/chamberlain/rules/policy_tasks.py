"""Groups and sites as the worker takes them up to run their policies: what is assigned now, whatever was before."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.rules.assignment_tasks import Place
from chamberlain.rules.findings import FindingSubject
from chamberlain.rules.guest_clocks import Clock, ClockPlace
from chamberlain.rules.ids import GroupId, PolicyId, TenantId
from chamberlain.rules.policies import PolicyRules
from chamberlain.rules.policy_evaluation import AppliedPolicy
from chamberlain.rules.subjects import SubjectReference


@dataclass(frozen=True, slots=True)
class AssignedPolicy:
    """The policy of a group or site. Without `assigned_at` it was assigned before that was kept."""

    id: PolicyId
    rules: PolicyRules
    assigned_at: datetime | None
    is_begun: bool

    def applied(self, *, now: datetime) -> AppliedPolicy:
        """The policy as it is evaluated at this moment."""
        return AppliedPolicy(self.id, self.rules, self.assigned_at or now, self.is_begun)


@dataclass(frozen=True, slots=True)
class PolicyTask:
    """A group or site with its policy, None when it has none (any more), and the clocks that there are. `accepted` are
    the clocks whose finding somebody has accepted."""

    subject: FindingSubject
    policy: AssignedPolicy | None
    clocks: tuple[Clock, ...]
    accepted: frozenset[ClockPlace]

    @property
    def place(self) -> Place:
        """What tells it from all others."""
        return self.subject.tenant_id, self.subject.id


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
