# SPDX-License-Identifier: Apache-2.0
"""Drafts of assignments: when there is something to write, which steps follow, and what goes on record."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType, Editor
from chamberlain.changes.models import Subject
from chamberlain.core.errors import NotPossible
from chamberlain.core.ids import ClientId, EventId, PolicyId, RequestId, TemplateId, TraceId
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.assignments.models import Assign, AssignmentOrder, Clear, FieldChange, Keep
from chamberlain.guests.assignments.rules import (
    AssignmentContext,
    AssignmentDraft,
    apply_draft,
    draft_change,
    needed_steps,
)
from chamberlain.guests.models import Assignment
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.guests.subjects.models import SubjectRecord
from chamberlain.requests.models import StepRecord, StepState
from chamberlain.templates.drafts import Moment
from chamberlain.templates.models import TemplateHead, TemplateKind
from tests.adoptions.adoption_values import TENANT, entry

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
T1, T2 = TemplateId(UUID(int=11)), TemplateId(UUID(int=12))
P1, P2 = PolicyId(UUID(int=21)), PolicyId(UUID(int=22))
REQUEST = RequestId(UUID(int=9))
ADA = Editor(Actor(ActorType.USER, UUID(int=2), "Ada"), ClientId("cli"), TraceId("7" * 32), "192.0.2.1")
MARK, ACCESS = Step.MARK_ASSIGNMENT, Step.SET_GUEST_ACCESS
DOMAINS, SHARING = Step.SET_GUEST_DOMAINS, Step.SET_SHARING_CAPABILITY
# A group that has the first template and the first policy, and shows both.
RECORD = SubjectRecord(
    entry=entry(),
    assignment=Assignment(T1, P1),
    template_name="Partners",
    policy_name="90 days",
    generation=4,
    effects=(),
    open_findings=0,
    assignment_request_id=None,
    assigned_at=None,
    assigned_by=None,
    assigned_type=SubjectType.GROUP,
)
LEFT = replace(RECORD, is_incomplete=True, effects=(StepRecord(DOMAINS, StepState.FAILED),))
TURNED = replace(RECORD, assigned_type=SubjectType.SITE)
KEEP = AssignmentOrder(Keep(), Keep())
SAME = AssignmentOrder(Assign(T1), Assign(P1))


def template(template_id: TemplateId, name: str, *, active: bool = True) -> TemplateHead:
    return TemplateHead(TENANT, template_id, 1, TemplateKind.GUEST, name, active)


def policy(policy_id: PolicyId, name: str) -> PolicyHead:
    return PolicyHead(TENANT, policy_id, 1, name, active=True)


def drafted(
    order: AssignmentOrder, record: SubjectRecord = RECORD, *, wanted: TemplateHead | None = None
) -> AssignmentDraft | None:
    context = AssignmentContext(
        record,
        template(T1, "Partners"),
        policy(P1, "90 days"),
        wanted or template(T2, "Suppliers"),
        policy(P2, "Yearly"),
    )
    moment = Moment(EventId(UUID(int=5)), NOW)
    return draft_change(context, order, ADA, request_id=REQUEST, body=b"{}", moment=moment)


@pytest.mark.parametrize(
    ("template_wish", "policy_wish", "after", "names"),
    [
        (Assign(T2), Keep(), Assignment(T2, P1), ("Suppliers", "90 days")),
        (Clear(), Keep(), Assignment(None, P1), (None, "90 days")),
        (Keep(), Assign(P2), Assignment(T1, P2), ("Partners", "Yearly")),
        (Keep(), Clear(), Assignment(T1, None), ("Partners", None)),
        (Clear(), Clear(), Assignment(), (None, None)),
    ],
)
def test_it_works(
    template_wish: FieldChange, policy_wish: FieldChange, after: Assignment, names: tuple[str | None, str | None]
) -> None:
    draft = drafted(AssignmentOrder(template_wish, policy_wish))

    assert draft is not None
    assert draft.after == after
    assert (draft.new_template_id, draft.new_policy_id) == (
        None if after.template_id == T1 else after.template_id,
        None if after.policy_id == P1 else after.policy_id,
    )
    assert apply_draft(draft) == replace(
        RECORD,
        assignment=after,
        template_name=names[0],
        policy_name=names[1],
        generation=5,
        effects=draft.steps,
        assignment_request_id=REQUEST,
        assigned_at=NOW,
        assigned_by=ADA.actor,
    )


@pytest.mark.parametrize(
    ("order", "record", "is_written"),
    [
        # It is so already, or comes about.
        (KEEP, RECORD, False),
        (SAME, RECORD, False),
        # Steps are left: the same request makes them.
        (SAME, LEFT, True),
        (SAME, TURNED, True),
        (SAME, replace(TURNED, is_incomplete=True), True),
        # A change that names nothing asks for nothing.
        (KEEP, LEFT, False),
        (KEEP, TURNED, False),
    ],
)
def test_what_is_so_already_is_written_only_to_finish_it(
    order: AssignmentOrder, record: SubjectRecord, *, is_written: bool
) -> None:
    draft = drafted(order, record)

    assert (draft is not None) is is_written
    if draft is not None:
        # No event reports a change that is none.
        assert draft.change.event is None
        assert (draft.new_template_id, draft.new_policy_id) == (None, None)
        assert apply_draft(draft).is_incomplete is False
        assert apply_draft(draft).assigned_type is SubjectType.GROUP


def test_a_template_that_cannot_be_assigned_is_refused() -> None:
    with pytest.raises(NotPossible) as refused:
        drafted(AssignmentOrder(Assign(T2), Keep()), wanted=template(T2, "Suppliers", active=False))

    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [("/templateId", "templateInactive")]


@pytest.mark.parametrize(
    ("record", "after", "steps"),
    [
        (RECORD, Assignment(T2, P1), (MARK, ACCESS, DOMAINS)),
        (RECORD, Assignment(T1, P2), (MARK,)),
        (RECORD, Assignment(None, P1), (MARK, ACCESS, DOMAINS)),
        # Steps that the change before has left.
        (LEFT, Assignment(T1, P2), (MARK, DOMAINS)),
        (
            replace(
                LEFT, effects=tuple(StepRecord(DOMAINS, state) for state in (StepState.SUCCEEDED, StepState.WARNING))
            ),
            Assignment(T1, P2),
            (MARK,),
        ),
        # It has got a site, or lost it, since its template was assigned.
        (TURNED, Assignment(T1, P1), (MARK, ACCESS, DOMAINS)),
        (
            replace(RECORD, entry=replace(RECORD.entry, type=SubjectType.SITE)),
            Assignment(T1, P2),
            (MARK, ACCESS, DOMAINS, SHARING),
        ),
    ],
)
def test_the_steps_are_those_of_the_change_and_what_was_left(
    record: SubjectRecord, after: Assignment, steps: tuple[Step, ...]
) -> None:
    assert needed_steps(record, after) == steps


def test_the_record_and_the_event_show_what_changed() -> None:
    draft = drafted(AssignmentOrder(Assign(T2), Keep()))

    assert draft is not None
    change = draft.change
    assert (change.tenant_id, change.action, change.request_id) == (TENANT, "group.assign", REQUEST)
    assert (change.actor, change.client_id) == (ADA.actor, "cli")
    assert (change.trace_id, change.client_address) == ("7" * 32, "192.0.2.1")
    assert change.subject == Subject("group", RECORD.entry.id, "Crew 1")
    assert (change.before, change.after) == ({"templateId": str(T1)}, {"templateId": str(T2)})
    event = change.event
    assert event is not None
    assert (event.id, event.type, event.timestamp) == (UUID(int=5), "group.assignmentChanged", NOW)
    assert event.data == {
        "group": {"id": str(RECORD.entry.id), "displayName": "Crew 1"},
        "before": {"templateId": str(T1), "policyId": str(P1)},
        "after": {"templateId": str(T2), "policyId": str(P1)},
        "changedBy": {"type": "user", "id": str(ADA.actor.id), "displayName": "Ada"},
    }
