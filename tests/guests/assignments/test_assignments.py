# SPDX-License-Identifier: Apache-2.0
"""Assignments: what each field of a change asks for, what comes of it, and why it cannot be."""

from uuid import UUID

import pytest

from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import PolicyId, TemplateId, TenantId
from chamberlain.guests.assignments.models import (
    ALL_ZERO,
    Assign,
    AssignmentOrder,
    Clear,
    FieldChange,
    Keep,
    assignment_after,
    assignment_faults,
    to_field_change,
)
from chamberlain.guests.assignments.wire import ASSIGNMENT, to_assignment_order
from chamberlain.guests.models import Assignment
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.templates.models import TemplateHead, TemplateKind

pytestmark = pytest.mark.pure

TENANT = TenantId(UUID(int=1))
T1, T2 = TemplateId(UUID(int=11)), TemplateId(UUID(int=12))
P1, P2 = PolicyId(UUID(int=21)), PolicyId(UUID(int=22))
BOTH = Assignment(T1, P1)


def template(kind: TemplateKind = TemplateKind.GUEST, *, active: bool = True) -> TemplateHead:
    return TemplateHead(TENANT, T2, 1, kind, "Partners", active)


def policy(*, active: bool = True) -> PolicyHead:
    return PolicyHead(TENANT, P2, 1, "90 days", active)


@pytest.mark.parametrize(("sent", "wish"), [(None, Keep()), (ALL_ZERO, Clear()), (T1, Assign(T1))])
def test_it_works(sent: UUID | None, wish: FieldChange) -> None:
    assert to_field_change(sent) == wish


@pytest.mark.parametrize(
    ("template_wish", "policy_wish", "after"),
    [
        (Keep(), Keep(), BOTH),
        (Clear(), Keep(), Assignment(None, P1)),
        (Keep(), Clear(), Assignment(T1, None)),
        (Clear(), Clear(), Assignment()),
        (Assign(T2), Keep(), Assignment(T2, P1)),
        (Keep(), Assign(P2), Assignment(T1, P2)),
        (Assign(T2), Assign(P2), Assignment(T2, P2)),
        (Assign(T2), Clear(), Assignment(T2, None)),
        (Clear(), Assign(P2), Assignment(None, P2)),
        (Assign(T1), Assign(P1), BOTH),
    ],
)
def test_it_works_for_both_fields(template_wish: FieldChange, policy_wish: FieldChange, after: Assignment) -> None:
    assert assignment_after(BOTH, AssignmentOrder(template_wish, policy_wish)) == after


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (None, "templateUnknown"),
        (template(active=False), "templateInactive"),
        (template(TemplateKind.TEAM), "templateOfOtherKind"),
        (template(TemplateKind.ROOM, active=False), "templateOfOtherKind"),
        (template(), None),
    ],
)
def test_it_rejects_a_template_that_cannot_be_assigned(found: TemplateHead | None, code: str | None) -> None:
    faults = list(assignment_faults(BOTH, Assignment(T2, P1), template=found, policy=None))

    assert [(fault.pointer, fault.code) for fault in faults] == ([] if code is None else [("/templateId", code)])


@pytest.mark.parametrize(
    ("found", "code"), [(None, "policyUnknown"), (policy(active=False), "policyInactive"), (policy(), None)]
)
def test_it_rejects_a_policy_that_cannot_be_assigned(found: PolicyHead | None, code: str | None) -> None:
    faults = list(assignment_faults(BOTH, Assignment(T1, P2), template=None, policy=found))

    assert [(fault.pointer, fault.code) for fault in faults] == ([] if code is None else [("/policyId", code)])


def test_it_rejects_both_at_once() -> None:
    faults = assignment_faults(BOTH, Assignment(T2, P2), template=None, policy=None)

    assert [fault.pointer for fault in faults] == ["/templateId", "/policyId"]


def test_it_handles_what_is_assigned_already_and_was_switched_off_since() -> None:
    assert list(assignment_faults(BOTH, BOTH, template=template(active=False), policy=None)) == []
    assert list(assignment_faults(BOTH, Assignment(), template=None, policy=None)) == []


def test_the_version_changes_with_the_two_ids_alone() -> None:
    versions = {each.etag for each in (BOTH, Assignment(T1), Assignment(None, P1), Assignment(), Assignment(T2, P1))}

    assert len(versions) == 5
    assert Assignment(T1, P1).etag == BOTH.etag
    assert BOTH.etag.startswith('"')
    assert "," not in BOTH.etag


@pytest.mark.parametrize(
    ("body", "order"),
    [
        (b"{}", AssignmentOrder(Keep(), Keep())),
        (b'{"templateId": "00000000-0000-0000-0000-000000000000"}', AssignmentOrder(Clear(), Keep())),
        (b'{"policyId": "0000000B-0000-0000-0000-00000000000A"}', AssignmentOrder(
            Keep(), Assign(UUID("0000000b-0000-0000-0000-00000000000a")))),
    ],
)  # fmt: skip
def test_it_works_from_the_body(body: bytes, order: AssignmentOrder) -> None:
    assert to_assignment_order(ASSIGNMENT.read(body)) == order


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        (b'{"templateId": null}', [("/templateId", "nullNotAllowed")]),
        (b'{"policyId": null}', [("/policyId", "nullNotAllowed")]),
        (b'{"policyId": null, "templateId": 1}', [("/templateId", "wrongType"), ("/policyId", "nullNotAllowed")]),
        (b'{"templateId": "x"}', [("/templateId", "malformedId")]),
        (b'{"templateId": "00000000000000000000000000000000"}', [("/templateId", "malformedId")]),
        (b'{"policyId": 1}', [("/policyId", "wrongType")]),
        (b'{"policyID": "00000000-0000-0000-0000-000000000000"}', [("/policyID", "unknownProperty")]),
    ],
)  # fmt: skip
def test_it_rejects_a_body_that_cannot_be_read(body: bytes, faults: list[tuple[str, str]]) -> None:
    with pytest.raises(BodyInvalid) as refusal:
        ASSIGNMENT.read(body)

    assert [(fault.pointer, fault.code) for fault in refusal.value.faults] == faults
