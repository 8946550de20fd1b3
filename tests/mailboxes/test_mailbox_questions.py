# SPDX-License-Identifier: Apache-2.0
"""The lookups in the directory before a mailbox is accepted."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.core.ids import UserId
from chamberlain.directory.mailboxes import MailboxProperties, PermissionLevel
from chamberlain.directory.models import PeopleQuestion
from chamberlain.mailboxes.rules import caller_question, people_question
from chamberlain.requests.models import ApprovalLevel, ApprovalMode, ApprovalRule, Approver, ApproverType
from chamberlain.templates.models import Audience, CustomField, FieldType
from tests.groups.group_values import ADA, BEN, CLEO, DARA, ELI, NOBODY, STAFF, TENANT
from tests.mailboxes.mailbox_values import APPLICATION, ORDER, SHARED, USER, names_in, situation

pytestmark = pytest.mark.pure

LEVEL = ApprovalLevel(
    ApprovalMode.ANY,
    (
        Approver(ApproverType.USER, DARA),
        Approver(ApproverType.GROUP, STAFF),
        Approver(ApproverType.MANAGER, None),
    ),
)
LATER = ApprovalLevel(ApprovalMode.ANY, (Approver(ApproverType.USER, ELI),))


def test_it_works() -> None:
    sent = replace(
        ORDER,
        permissions={BEN: PermissionLevel.SEND_AS, NOBODY: PermissionLevel.NONE},
        primary_owner=CLEO,
        secondary_owner=CLEO,
        alias="desk",
    )
    it = situation(sent)

    question = people_question(it, names_in(it))

    assert question == PeopleQuestion(
        TENANT,
        users=frozenset({ADA, BEN, NOBODY, CLEO}),
        addresses=frozenset({"info-desk@estate.example", "desk@estate.example"}),
    )


def test_it_asks_for_those_whom_the_template_names() -> None:
    template = replace(
        SHARED,
        defaults=MailboxProperties(permissions={BEN: PermissionLevel.FULL_ACCESS}, primary_owner=CLEO),
        custom_fields=(CustomField("lead", "Lead", FieldType.USER, required=False),),
        approval=ApprovalRule((LEVEL, LATER), None),
    )
    it = situation(replace(ORDER, metadata={"lead": str(ELI)}, primary_owner=DARA), template)

    question = people_question(it, names_in(it))

    assert question.users == {ADA, BEN, DARA, ELI}
    assert (question.manager_of, question.members_of) == (ADA, frozenset({STAFF}))


def test_it_asks_whether_the_caller_is_in_the_audience_only_where_that_matters() -> None:
    template = replace(SHARED, audience=Audience(frozenset(), frozenset({STAFF})))
    named = replace(SHARED, audience=Audience(frozenset({ADA}), frozenset({STAFF})))
    by_user, by_name, by_application = (
        people_question(it, names_in(it))
        for it in (situation(ORDER, template), situation(ORDER, named), situation(ORDER, template, caller=APPLICATION))
    )

    assert (by_user.member, by_user.groups) == (ADA, frozenset({STAFF}))
    assert (by_name.member, by_name.groups) == (None, frozenset())
    assert (by_application.member, by_application.groups) == (None, frozenset())


def test_an_application_is_no_user_to_ask_for() -> None:
    it = situation(ORDER, caller=APPLICATION)

    assert people_question(it, names_in(it)).users == frozenset()
    assert caller_question(it) is None
    assert it.requester == UserId(UUID("c11e0000-0000-4000-8000-000000000002"))


def test_it_asks_who_the_caller_is() -> None:
    assert caller_question(situation(ORDER, caller=USER)) == PeopleQuestion(TENANT, users=frozenset({ADA}))
