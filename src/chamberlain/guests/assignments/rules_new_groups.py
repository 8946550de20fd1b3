"""New groups: what of the guest rules that its template names a group gets when it is ready, and what is said of the
rest."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.auth.models_edits import Editor
from chamberlain.core.ids import RequestId
from chamberlain.guests.assignments.models import AssignmentOrder, Keep, assignment_after, assignment_faults, wish_of
from chamberlain.guests.assignments.rules import AssignmentDraft, Situation, draft_to
from chamberlain.guests.models_assignment import Assignment
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.templates.drafts import Moment

NOUNS: Mapping[str, str] = {"/templateId": "guest template", "/policyId": "guest policy"}
INACTIVE = frozenset({"templateInactive", "policyInactive"})


@dataclass(frozen=True, slots=True)
class NewGroup:
    """A group that was just made, what its template assigns to it, with which it is marked already, and who made it."""

    entry: SubjectEntry
    assignment: Assignment
    editor: Editor

    @property
    def order(self) -> AssignmentOrder:
        """The same as somebody would ask for it."""
        return AssignmentOrder(wish_of(self.assignment.template_id), wish_of(self.assignment.policy_id))


@dataclass(frozen=True, slots=True)
class NewGroupDraft:
    """What is written for a new group, None where there is nothing to write, and what is to be said of the rules that
    it does not get."""

    draft: AssignmentDraft | None
    warnings: tuple[str, ...]


def draft_for_new(
    new: NewGroup, situation: Situation, *, request_id: RequestId, body: bytes, moment: Moment
) -> NewGroupDraft:
    """What somebody has assigned by hand before the group was ready stays. Where it does not get all that it is marked
    with, a request without a change corrects the marks."""
    record = situation.record
    order, warnings = (AssignmentOrder(Keep(), Keep()), ()) if record.generation > 0 else _possible(new, situation)
    after = assignment_after(record.assignment, order)
    if after == record.assignment == new.assignment:
        return NewGroupDraft(None, warnings)
    draft = draft_to(situation, after, new.editor, request_id=request_id, body=body, moment=moment)
    return NewGroupDraft(draft, warnings)


def _possible(new: NewGroup, situation: Situation) -> tuple[AssignmentOrder, tuple[str, ...]]:
    """What a new group asks for, as far as it can be assigned, and why the rest cannot."""
    template, policy = situation.wanted_template, situation.wanted_policy
    faults = tuple(assignment_faults(Assignment(), new.assignment, template=template, policy=policy))
    refused = {fault.pointer for fault in faults}
    order = AssignmentOrder(
        Keep() if "/templateId" in refused else new.order.template,
        Keep() if "/policyId" in refused else new.order.policy,
    )
    return order, tuple([_warning(NOUNS[fault.pointer], is_there=fault.code in INACTIVE) for fault in faults])


def _warning(noun: str, *, is_there: bool) -> str:
    why = "is not in use at present" if is_there else "is not there any more"
    return f"The {noun} that the template of this request names {why}. The group has none; assign one to it."
