# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.core.ids import PolicyId, TemplateId
from chamberlain.directory.groups import MemberShipType, WantedGroup
from chamberlain.directory.models import MailAddress
from chamberlain.groups.models import GroupOrder
from chamberlain.groups.rules import wanted_group
from chamberlain.templates.models import GroupTemplate
from tests.groups.group_values import ADA, BEN, CLEO, LABEL, NOBODY, ORDER, REQUEST, TEAM_HEAD, TEMPLATE, WANTED

pytestmark = pytest.mark.pure

GUESTS = TemplateId(UUID("7e000000-0000-4000-8000-000000000021"))
POLICY = PolicyId(UUID("90110000-0000-4000-8000-000000000001"))


def want(order: GroupOrder, template: GroupTemplate) -> WantedGroup:
    return wanted_group(
        order,
        template,
        request_id=REQUEST,
        caller=ADA,
        display_name="CONF-Apollo",
        address=MailAddress("conf-apollo", "conf-apollo@estate.example"),
        prefix="chamberlain",
    )


def test_it_works() -> None:
    assert want(replace(ORDER, description="To the moon"), TEMPLATE) == replace(
        WANTED,
        display_name="CONF-Apollo",
        mail_nickname="conf-apollo",
        mail="conf-apollo@estate.example",
        description="To the moon",
    )


def test_it_adds_the_caller_and_the_people_of_the_template_once_each() -> None:
    template = replace(TEMPLATE, owners=(CLEO, ADA), members=(NOBODY, BEN))
    order = replace(ORDER, owners=(BEN, ADA, BEN), members=(CLEO, NOBODY))

    wanted = want(order, template)

    assert wanted.owners == (ADA, BEN, CLEO)
    assert wanted.members == (ADA, BEN, CLEO, NOBODY)


def test_it_leaves_the_members_of_a_dynamic_group_to_its_rule() -> None:
    template = replace(TEMPLATE, member_ship_type=2, membership_rule="rule", members=(BEN,), owners=(CLEO,))

    wanted = want(ORDER, template)

    assert (wanted.member_ship_type, wanted.membership_rule) == (MemberShipType.DYNAMIC, "rule")
    assert (wanted.owners, wanted.members) == ((ADA, CLEO), ())


def test_it_leaves_the_rule_out_when_another_type_was_chosen() -> None:
    template = replace(TEMPLATE, member_ship_type=2, membership_rule="rule")

    wanted = want(replace(ORDER, member_ship_type=MemberShipType.PRIVATE), template)

    assert (wanted.member_ship_type, wanted.membership_rule) == (MemberShipType.PRIVATE, None)
    assert wanted.members == (ADA,)


@pytest.mark.parametrize(
    ("sent", "of_template", "label"),
    [(None, None, None), (LABEL, "theirs", LABEL), (None, "theirs", "theirs")],
)
def test_it_takes_the_label_sent_else_that_of_the_template(
    sent: str | None, of_template: str | None, label: str | None
) -> None:
    assert want(replace(ORDER, label_id=sent), replace(TEMPLATE, label_id=of_template)).label_id == label


def test_it_gives_channels_to_teams_only() -> None:
    channels = ("General", "Planning")

    assert want(ORDER, replace(TEMPLATE, head=TEAM_HEAD, channels=channels)).channels == channels
    assert want(ORDER, replace(TEMPLATE, head=TEAM_HEAD)).channels == ()
    assert want(ORDER, replace(TEMPLATE, channels=channels)).channels is None


def test_it_marks_the_rules_for_guests() -> None:
    wanted = want(ORDER, replace(TEMPLATE, guest_template_id=GUESTS, guest_policy_id=POLICY))

    assert wanted.marks == {"requestId": str(REQUEST), "templateId": str(GUESTS), "policyId": str(POLICY)}
