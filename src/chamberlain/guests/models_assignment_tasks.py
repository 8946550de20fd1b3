"""Assignments as the worker takes them up: what is true now, whatever was true when somebody asked."""

from dataclasses import dataclass
from typing import TypeAlias

from chamberlain.auth.models import Actor
from chamberlain.core.ids import GroupId, RequestId, TenantId
from chamberlain.directory.subjects import SubjectReference, SubjectType, WantedGuestRules
from chamberlain.directory.subjects_guests import PresentGuests
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.models_assignment import Assignment
from chamberlain.requests.models import StepRecord
from chamberlain.templates.models_guest_template import GuestTemplate

# Ids are a tenant's own.
Place: TypeAlias = tuple[TenantId, GroupId]


@dataclass(frozen=True, slots=True)
class Assigned:
    """What is assigned to a group or site at one moment; its generation says whether that is still so later. A template
    of None: nothing is said about guests."""

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str
    extension: str
    generation: int
    assignment: Assignment
    template: GuestTemplate | None

    @property
    def place(self) -> Place:
        """What tells it from all others."""
        return self.tenant_id, self.id

    @property
    def reference(self) -> SubjectReference:
        """How the directory finds it."""
        return SubjectReference(self.tenant_id, self.id, self.extension)

    @property
    def finding_subject(self) -> FindingSubject:
        """How findings name it."""
        return FindingSubject(self.tenant_id, self.id, self.type, self.display_name)

    @property
    def removes_guests(self) -> bool:
        """Whether guests who are against the rules are taken out of the group."""
        return self.template is not None and self.template.present_guests is PresentGuests.REMOVE

    @property
    def wanted(self) -> WantedGuestRules:
        """What the directory shall show, before it is known which guests have to go."""
        return WantedGuestRules(
            tenant_id=self.tenant_id,
            id=self.id,
            extension=self.extension,
            template_id=self.assignment.template_id,
            policy_id=self.assignment.policy_id,
            rules=None if self.template is None else self.template.rules,
        )


@dataclass(frozen=True, slots=True)
class AssignmentTask:
    """A request of kind assignment that is worked on. `assigned` is None when the group is not known any more."""

    request_id: RequestId
    tenant_id: TenantId
    display_name: str
    steps: tuple[StepRecord, ...]
    created_by: Actor
    assigned: Assigned | None
