# SPDX-License-Identifier: Apache-2.0
"""Groups that are gone: the record says what was assigned to them."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.core.ids import EventId, GroupId, PolicyId, TemplateId, TraceId
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.assignments.rules import removed_assignment
from chamberlain.guests.models import Assignment, FindingSubject
from tests.groups.group_values import TENANT

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
TEMPLATE, POLICY = TemplateId(UUID(int=1)), PolicyId(UUID(int=2))


@pytest.mark.parametrize(
    ("assignment", "shown"),
    [
        (Assignment(TEMPLATE, POLICY), {str(TEMPLATE), str(POLICY)}),
        (Assignment(TEMPLATE, None), {str(TEMPLATE)}),
        (Assignment(None, POLICY), {str(POLICY)}),
    ],
)
def test_the_record_names_what_was_assigned(assignment: Assignment, shown: set[str]) -> None:
    subject = FindingSubject(TENANT, GroupId(UUID(int=3)), SubjectType.GROUP, "Crew")

    change = removed_assignment(subject, assignment, TraceId("0" * 32), EventId(UUID(int=4)), now=NOW)

    assert change.action == "group.assign"
    assert change.before is not None
    assert set(change.before.values()) == shown
    assert change.after is None
