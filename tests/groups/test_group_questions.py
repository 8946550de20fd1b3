# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.models import PeopleQuestion
from chamberlain.groups.rules import caller_question, people_question
from chamberlain.requests.approvals import approvers_question
from chamberlain.requests.models import ApprovalLevel, ApprovalMode, ApprovalRule, Approver, ApproverType
from chamberlain.templates.models import Audience, CustomField, FieldType
from chamberlain.templates.rules import compile_group_template
from tests.groups.group_values import ADA, BEN, CLEO, DARA, ELI, LABEL, NAMES, NOBODY, ORDER, STAFF, TEMPLATE, TENANT

pytestmark = pytest.mark.pure


def test_it_works() -> None:
    question = people_question(ORDER, TEMPLATE, NAMES, caller=ADA)

    assert question == PeopleQuestion(TENANT, frozenset({ADA}), addresses=frozenset({"apollo@estate.example"}))


def test_it_asks_for_everybody_who_is_named() -> None:
    lead = CustomField("lead", "Lead", FieldType.USER, required=True)
    template = replace(TEMPLATE, owners=(BEN,), members=(CLEO,), custom_fields=(lead,), label_id="theirs")
    order = replace(ORDER, owners=(NOBODY,), members=(BEN, DARA), metadata={"lead": str(ELI)}, label_id=LABEL)

    question = people_question(order, template, NAMES, caller=ADA)

    assert question.users == {ADA, BEN, CLEO, DARA, ELI, NOBODY}
    assert question.labels == {LABEL}


def test_it_asks_for_the_label_of_the_template_when_none_was_sent() -> None:
    assert people_question(ORDER, replace(TEMPLATE, label_id=LABEL), NAMES, caller=ADA).labels == {LABEL}


@pytest.mark.parametrize(
    ("audience", "member", "groups"),
    [
        (None, None, frozenset()),
        (Audience(frozenset({ADA}), frozenset({STAFF})), None, frozenset()),
        (Audience(frozenset({BEN}), frozenset({STAFF})), ADA, frozenset({STAFF})),
        (Audience(frozenset({BEN}), frozenset()), None, frozenset()),
    ],
)
def test_it_asks_for_the_audience_only_when_that_decides(
    audience: Audience | None, member: UserId | None, groups: frozenset[GroupId]
) -> None:
    question = people_question(ORDER, replace(TEMPLATE, audience=audience), NAMES, caller=ADA)

    assert (question.member, question.groups) == (member, groups)


def test_it_asks_for_the_approvers_of_the_first_level_alone() -> None:
    first = (
        Approver(ApproverType.USER, DARA),
        Approver(ApproverType.GROUP, STAFF),
        Approver(ApproverType.MANAGER, None),
    )
    levels = tuple(
        ApprovalLevel(ApprovalMode.ANY, approvers) for approvers in (first, (Approver(ApproverType.USER, ELI),))
    )
    template = replace(TEMPLATE, approval=ApprovalRule(levels, None))

    question = people_question(ORDER, template, NAMES, caller=ADA)
    every_level = approvers_question(levels, tenant_id=TENANT, requester=ADA)

    assert question.users == {ADA, DARA}
    assert question.members_of == {STAFF}
    assert question.manager_of == ADA
    assert every_level == PeopleQuestion(TENANT, frozenset({DARA, ELI}), manager_of=ADA, members_of=frozenset({STAFF}))


def test_it_asks_for_the_caller_alone() -> None:
    assert caller_question(compile_group_template(TEMPLATE), ADA) == PeopleQuestion(TENANT, frozenset({ADA}))
