# SPDX-License-Identifier: Apache-2.0
"""Questions about approvers: the directory is asked for exactly the people that the levels name."""

from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.models import PeopleQuestion
from chamberlain.requests.approvals import approvers_question
from chamberlain.requests.models import ApprovalLevel, ApprovalMode, Approver, ApproverType
from tests.groups.group_values import ADA, BEN, STAFF, TENANT

pytestmark = pytest.mark.pure

USER = Approver(ApproverType.USER, BEN)
GROUP = Approver(ApproverType.GROUP, STAFF)
MANAGER = Approver(ApproverType.MANAGER, None)


@pytest.mark.parametrize(
    ("approvers", "users", "manager_of", "members_of"),
    [
        ((USER,), {BEN}, None, set()),
        ((GROUP,), set(), None, {STAFF}),
        ((MANAGER,), set(), ADA, set()),
        ((USER, GROUP, MANAGER), {BEN}, ADA, {STAFF}),
        ((), set(), None, set()),
    ],
)
def test_it_asks_for_the_named_people(
    approvers: tuple[Approver, ...], users: set[UserId], manager_of: UUID | None, members_of: set[GroupId]
) -> None:
    levels = [ApprovalLevel(next(iter(ApprovalMode)), (each,)) for each in approvers]

    assert approvers_question(levels, tenant_id=TENANT, requester=ADA) == PeopleQuestion(
        tenant_id=TENANT,
        users=frozenset(users),
        manager_of=None if manager_of is None else UserId(manager_of),
        members_of=frozenset(members_of),
    )
