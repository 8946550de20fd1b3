# SPDX-License-Identifier: Apache-2.0
"""Decide on changes of assignments, and build their rows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chamberlain.auth.models import SERVICE, Actor, Edit, Editor
from chamberlain.changes.models import (
    Change,
    Event,
    EventType,
    Subject,
    actor_document,
    change_by,
    differences,
    shorten_name,
)
from chamberlain.core.errors import NotPossible
from chamberlain.core.ids import EventId, GroupId, PolicyId, RequestId, TemplateId, TraceId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, SubjectType, WantedGuestRules, plan_guest_rules
from chamberlain.guests.assignments.models import (
    AssignmentOrder,
    Keep,
    assignment_after,
    assignment_faults,
    to_field_change,
)
from chamberlain.guests.models import Assigned, Assignment, Finding, FindingSubject, guest_findings
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.guests.subjects.models import SubjectEntry, SubjectRecord
from chamberlain.requests.models import StepRecord, begin_steps
from chamberlain.requests.steps import FINISHED
from chamberlain.templates.drafts import Moment
from chamberlain.templates.models import GuestTemplate, TemplateHead


@dataclass(frozen=True, slots=True)
class WantedAssignment:
    """A requested change: its target, the JSON and the edit."""

    id: GroupId
    type: SubjectType
    order: AssignmentOrder
    body: bytes
    edit: Edit


@dataclass(frozen=True, slots=True)
class AssignmentContext:
    """The state that a change depends on.

    It has the group or site, its template and policy, and the requested ones. None means that there is none.
    """

    record: SubjectRecord
    template: TemplateHead | None
    policy: PolicyHead | None
    wanted_template: TemplateHead | None
    wanted_policy: PolicyHead | None


@dataclass(frozen=True, slots=True)
class AssignmentDraft:
    """A validated change of an assignment.

    It is an optimistic write: the generation of `before` must be current, and a newly assigned template or policy must
    still be active. `template` is None if none is assigned afterwards. `body` is the JSON that was sent.
    """

    before: SubjectRecord
    after: Assignment
    template: TemplateHead | None
    policy_name: str | None
    request_id: RequestId
    steps: tuple[StepRecord, ...]
    body: bytes
    change: Change
    at: datetime

    @property
    def new_template_id(self) -> TemplateId | None:
        """Return the newly assigned template, which must not be deleted meanwhile."""
        return None if self.after.template_id == self.before.assignment.template_id else self.after.template_id

    @property
    def new_policy_id(self) -> PolicyId | None:
        """Return the newly assigned policy, which must not be deleted meanwhile."""
        return None if self.after.policy_id == self.before.assignment.policy_id else self.after.policy_id


@dataclass(frozen=True, slots=True)
class AssignmentPlan:
    """A group or site, its assignment and its steps.

    `steps` are those of all its requests. `kept` are the guests whose findings are accepted.
    """

    assigned: Assigned
    steps: tuple[Step, ...]
    observed: ObservedSubject | None
    kept: frozenset[str] = frozenset()

    @property
    def found(self) -> tuple[Finding, ...]:
        """Return the findings of guests who violate the assigned rules."""
        if self.observed is None:
            return ()
        removed = self.assigned.removes_guests and Step.SET_GUEST_ACCESS in self.steps
        return violations_found(self.assigned, self.observed, removed=removed, kept=self.kept)

    @property
    def wanted(self) -> WantedGuestRules:
        """Return the desired state. Guests whose removal is announced are removed."""
        going = tuple([UserId(UUID(each.about)) for each in self.found if each.action is not None])
        return replace(self.assigned.wanted, remove_guests=going)


NOUNS: Mapping[str, str] = {"/templateId": "guest template", "/policyId": "guest policy"}
INACTIVE = frozenset({"templateInactive", "policyInactive"})


@dataclass(frozen=True, slots=True)
class NewGroup:
    """A created group with the assignment of its template.

    The group is already marked with it. `editor` created the group.
    """

    entry: SubjectEntry
    assignment: Assignment
    editor: Editor

    @property
    def order(self) -> AssignmentOrder:
        """Convert the assignment to a requested change."""
        return AssignmentOrder(to_field_change(self.assignment.template_id), to_field_change(self.assignment.policy_id))


@dataclass(frozen=True, slots=True)
class NewGroupDraft:
    """The rows of a new group, or None, with warnings.

    Warnings name the rules that the group does not get.
    """

    draft: AssignmentDraft | None
    warnings: tuple[Reason, ...]


def assignment_changed(
    event_id: EventId,
    subject: FindingSubject,
    before: Assignment,
    after: Assignment,
    *,
    request_id: RequestId | None,
    changed_by: Actor,
    now: datetime,
) -> Event:
    """An assignment of a guest template or policy has changed.

    `request_id` is None if the group or site, or the template or policy, was deleted.
    """
    is_site = subject.type is SubjectType.SITE
    return Event(
        id=event_id,
        type=EventType.SITE_ASSIGNMENT_CHANGED if is_site else EventType.GROUP_ASSIGNMENT_CHANGED,
        timestamp=now,
        tenant_id=subject.tenant_id,
        request_id=request_id,
        data={
            str(subject.type): {"id": str(subject.id), "displayName": shorten_name(subject.display_name)},
            "before": assignment_document(before),
            "after": assignment_document(after),
            "changedBy": actor_document(changed_by),
        },
    )


def removed_assignment(
    subject: FindingSubject, before: Assignment, trace_id: TraceId, event_id: EventId, *, now: datetime
) -> Change:
    """Build the audit entry and the event of a deleted subject's assignment."""
    document = assignment_document(before)
    return Change(
        tenant_id=subject.tenant_id,
        action=f"{subject.type}.assign",
        actor=SERVICE,
        client_id=None,
        subject=Subject(subject.type, subject.id, subject.display_name),
        before={name: value for name, value in document.items() if value is not None},
        after=None,
        request_id=None,
        trace_id=trace_id,
        event=assignment_changed(event_id, subject, before, Assignment(), request_id=None, changed_by=SERVICE, now=now),
    )


def assignment_document(assignment: Assignment) -> Mapping[str, str | None]:
    """Encode an assignment, with null for none."""
    return {
        "templateId": None if assignment.template_id is None else str(assignment.template_id),
        "policyId": None if assignment.policy_id is None else str(assignment.policy_id),
    }


def draft_change(
    context: AssignmentContext,
    order: AssignmentOrder,
    editor: Editor,
    *,
    request_id: RequestId,
    body: bytes,
    moment: Moment,
) -> AssignmentDraft | None:
    """Draft a change, or return None if nothing is left to do.

    That is the case if the assignment exists or is being applied. Raises NotPossible with all errors.
    """
    record = context.record
    before, after = record.assignment, assignment_after(record.assignment, order)
    is_so = not record.is_incomplete and not record.has_changed_type
    if after == before and (is_so or not order.is_change):
        return None
    faults = tuple(assignment_faults(before, after, template=context.wanted_template, policy=context.wanted_policy))
    if faults:
        raise NotPossible(faults)
    return draft_request(context, after, editor, request_id=request_id, body=body, moment=moment)


def draft_request(
    context: AssignmentContext,
    after: Assignment,
    editor: Editor,
    *,
    request_id: RequestId,
    body: bytes,
    moment: Moment,
) -> AssignmentDraft:
    """Draft the request that leads to a valid assignment.

    If nothing changes, it applies the remaining steps and has no event.
    """
    record = context.record
    before = record.assignment
    template = context.template if after.template_id == before.template_id else context.wanted_template
    policy = context.policy if after.policy_id == before.policy_id else context.wanted_policy
    return AssignmentDraft(
        before=record,
        after=after,
        template=None if after.template_id is None else template,
        policy_name=None if after.policy_id is None or policy is None else policy.name,
        request_id=request_id,
        steps=begin_steps(needed_steps(record, after)),
        body=body,
        change=build_change(record, after, editor, request_id=request_id, moment=moment),
        at=moment.now,
    )


def needed_steps(before: SubjectRecord, after: Assignment) -> tuple[Step, ...]:
    """Return the steps of a change in the directory.

    They include unfinished steps of the previous change. If a group became a site since then, all steps of its template
    are repeated. So the newest request covers the whole assignment.
    """
    template_changes = after.template_id != before.assignment.template_id or before.has_changed_type
    planned = plan_guest_rules(before.entry.type, template_changes=template_changes)
    left = {record.step for record in before.effects if record.state not in FINISHED}
    whole = plan_guest_rules(before.entry.type, template_changes=True)
    return tuple([step for step in whole if step in planned or step in left])


def build_change(
    before: SubjectRecord, after: Assignment, editor: Editor, *, request_id: RequestId, moment: Moment
) -> Change:
    """Build the audit entry of a change, with its event if any."""
    entry = before.entry
    changed_from, changed_to = differences(assignment_document(before.assignment), assignment_document(after))
    event = assignment_changed(
        moment.event_id,
        FindingSubject(entry.tenant_id, entry.id, entry.type, entry.display_name),
        before.assignment,
        after,
        request_id=request_id,
        changed_by=editor.actor,
        now=moment.now,
    )
    return change_by(
        editor,
        entry.tenant_id,
        f"{entry.type}.assign",
        Subject(entry.type, entry.id, entry.display_name),
        before=changed_from,
        after=changed_to,
        request_id=request_id,
        event=None if after == before.assignment else event,
    )


def apply_draft(draft: AssignmentDraft) -> SubjectRecord:
    """Return the group or site after the change."""
    return replace(
        draft.before,
        assignment=draft.after,
        template_name=None if draft.template is None else draft.template.name,
        policy_name=draft.policy_name,
        generation=draft.before.generation + 1,
        effects=draft.steps,
        is_incomplete=False,
        assigned_type=draft.before.entry.type,
        assignment_request_id=draft.request_id,
        assigned_at=draft.at,
        assigned_by=draft.change.actor,
    )


def draft_for_group(
    new: NewGroup, context: AssignmentContext, *, request_id: RequestId, body: bytes, moment: Moment
) -> NewGroupDraft:
    """Draft the assignment of a new group.

    An assignment that an administrator made meanwhile stays. If the group gets less than its marks say, a request
    without a change corrects the marks.
    """
    record = context.record
    order, warnings = (AssignmentOrder(Keep(), Keep()), ()) if record.generation > 0 else _possible_order(new, context)
    after = assignment_after(record.assignment, order)
    if after == record.assignment == new.assignment:
        return NewGroupDraft(None, warnings)
    draft = draft_request(context, after, new.editor, request_id=request_id, body=body, moment=moment)
    return NewGroupDraft(draft, warnings)


def _possible_order(new: NewGroup, context: AssignmentContext) -> tuple[AssignmentOrder, tuple[Reason, ...]]:
    """Return the possible part of the assignment, and warnings about the rest."""
    template, policy = context.wanted_template, context.wanted_policy
    faults = tuple(assignment_faults(Assignment(), new.assignment, template=template, policy=policy))
    refused = {fault.pointer for fault in faults}
    order = AssignmentOrder(
        Keep() if "/templateId" in refused else new.order.template,
        Keep() if "/policyId" in refused else new.order.policy,
    )
    return order, tuple([_warning(fault.pointer, is_there=fault.code in INACTIVE) for fault in faults])


def _warning(pointer: str, *, is_there: bool) -> Reason:
    """Return the warning that the group has no template or policy."""
    noun, why = "Template" if pointer == "/templateId" else "Policy", "Inactive" if is_there else "Unknown"
    return Reason.build(f"guest{noun}{why}")


def assigned_after(draft: AssignmentDraft, template: GuestTemplate | None, *, extension: str) -> Assigned:
    """Return the assignment after a change, with the content of its template."""
    entry = draft.before.entry
    return Assigned(
        tenant_id=entry.tenant_id,
        id=entry.id,
        type=entry.type,
        display_name=entry.display_name,
        extension=extension,
        generation=draft.before.generation + 1,
        assignment=draft.after,
        template=template,
    )


def violations_found(
    assigned: Assigned, subject: ObservedSubject, *, removed: bool, kept: Collection[str]
) -> tuple[Finding, ...]:
    """Return the findings of guests who violate the assigned template."""
    rules = None if assigned.template is None else assigned.template.rules
    return guest_findings(assigned.finding_subject, subject, rules, removed=removed, kept=kept)
