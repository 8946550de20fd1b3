# SPDX-License-Identifier: Apache-2.0
"""The guest rules that a new group gets of those that its template names."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.core.ids import EventId, PolicyId, TemplateId
from chamberlain.guests.assignments.models import Assign, AssignmentOrder, Keep
from chamberlain.guests.assignments.rules import AssignmentContext, NewGroup, NewGroupDraft, draft_for_group
from chamberlain.guests.models import Assignment
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.templates.drafts import Moment
from chamberlain.templates.models import TemplateHead, TemplateKind
from tests.auth.editor_values import EDITOR, NOW
from tests.groups.group_values import REQUEST, TENANT
from tests.guests.subjects.subject_values import ENTRY, RECORD

pytestmark = pytest.mark.pure

TEMPLATE, POLICY = TemplateId(UUID(int=11)), PolicyId(UUID(int=12))
GUESTS = TemplateHead(TENANT, TEMPLATE, 1, TemplateKind.GUEST, "Partners", active=True)
NINETY_DAYS = PolicyHead(TENANT, POLICY, 1, "90 days", active=True)
NOTHING, BOTH = Assignment(), Assignment(TEMPLATE, POLICY)
NEW = replace(RECORD, assignment=NOTHING, template_name=None, generation=0)
WANTED = NewGroup(ENTRY, BOTH, EDITOR)


def draft(
    *,
    before: Assignment = NOTHING,
    generation: int = 0,
    template: TemplateHead | None = GUESTS,
    policy: PolicyHead | None = NINETY_DAYS,
) -> NewGroupDraft:
    """The draft for a new group that is kept with this assignment, where template and policy are found like this."""
    record = replace(NEW, assignment=before, generation=generation)
    return draft_for_group(
        WANTED,
        AssignmentContext(record, None, None, template, policy),
        request_id=REQUEST,
        body=b"{}",
        moment=Moment(EventId(UUID(int=1)), NOW),
    )


def test_it_works() -> None:
    made = draft()

    assert made.draft is not None
    assert (made.draft.after, made.draft.template, made.draft.policy_name) == (BOTH, GUESTS, "90 days")
    assert (made.draft.request_id, made.draft.body, made.draft.at) == (REQUEST, b"{}", NOW)
    assert made.draft.change.event is not None
    assert made.warnings == ()


@pytest.mark.parametrize(
    ("template", "policy", "after", "nouns"),
    [
        (None, NINETY_DAYS, Assignment(None, POLICY), ["guest template"]),
        (replace(GUESTS, active=False), NINETY_DAYS, Assignment(None, POLICY), ["guest template"]),
        (GUESTS, None, Assignment(TEMPLATE, None), ["guest policy"]),
        (GUESTS, replace(NINETY_DAYS, active=False), Assignment(TEMPLATE, None), ["guest policy"]),
        (None, None, NOTHING, ["guest template", "guest policy"]),
    ],
)
def test_it_does_not_get_what_cannot_be_assigned(
    template: TemplateHead | None, policy: PolicyHead | None, after: Assignment, nouns: list[str]
) -> None:
    made = draft(template=template, policy=policy)

    # Where it gets nothing, the request corrects its marks.
    assert made.draft is not None
    assert made.draft.after == after
    assert [noun in warning.sentence for noun, warning in zip(nouns, made.warnings, strict=True)] == [True] * len(nouns)


def test_a_warning_tells_what_is_gone_from_what_is_inactive() -> None:
    gone, inactive = draft(template=None).warnings, draft(template=replace(GUESTS, active=False)).warnings

    assert gone != inactive


def test_what_was_assigned_by_hand_meanwhile_stays() -> None:
    by_hand = Assignment(None, POLICY)

    made = draft(before=by_hand, generation=1, template=None)

    assert made.draft is not None
    assert (made.draft.after, made.draft.change.event, made.warnings) == (by_hand, None, ())


def test_nothing_is_written_where_all_is_assigned() -> None:
    assert draft(before=BOTH, generation=1) == NewGroupDraft(None, ())


@pytest.mark.parametrize(
    ("assignment", "order"),
    [
        (NOTHING, AssignmentOrder(Keep(), Keep())),
        (BOTH, AssignmentOrder(Assign(TEMPLATE), Assign(POLICY))),
    ],
)
def test_a_group_asks_for_what_it_is_marked_with(assignment: Assignment, order: AssignmentOrder) -> None:
    assert replace(WANTED, assignment=assignment).order == order
