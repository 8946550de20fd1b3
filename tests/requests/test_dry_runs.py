# SPDX-License-Identifier: Apache-2.0
"""A group as it would be requested."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from chamberlain.core.reasons import Reason
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.groups.dry_run import GroupDryRun, has_number, plan_dry_run
from chamberlain.groups.rules import Situation, names_of, with_second_address
from chamberlain.requests.approvals import NO_REQUEST, LevelDryRun
from chamberlain.requests.models import ApprovalLevel, ApprovalMode, ApprovalRule, Approver, ApproverType
from chamberlain.templates.models import GroupTemplate
from chamberlain.templates.rules import compile_group_template
from tests.groups.group_values import ADA, ANSWER, BEN, CLEO, DARA, EMBEDDED, GROUP_HEAD, ORDER, TEMPLATE
from tests.mailboxes.mailbox_values import HOUSE, USER

pytestmark = pytest.mark.pure

FIRST, SECOND = "apollo@estate.example", "apollo-00000000@estate.example"
NUMBERED = replace(TEMPLATE, display_name_rule="{input}{counter:2}")
NONE: Mapping[str, str] = {}


def situation(template: GroupTemplate = TEMPLATE, name: str = "Apollo") -> Situation:
    order = replace(ORDER, display_name=name, members=(BEN, CLEO))
    return Situation(
        USER,
        ADA,
        order,
        NO_REQUEST,
        HOUSE,
        compile_group_template(template),
        ask_addresses=False,
        capabilities=EMBEDDED,
    )


def preview(
    it: Situation,
    *,
    answer: PeopleAnswer | None = ANSWER,
    approvers: PeopleAnswer | None = ANSWER,
    reserved: frozenset[str] = frozenset(),
) -> GroupDryRun:
    names = names_of(it.order, it.compiled, request_id=NO_REQUEST, domain="estate.example", properties=NONE)
    names = with_second_address(names, it.template, NO_REQUEST)
    return plan_dry_run(it, names, properties=NONE, answer=answer, approvers=approvers, reserved=reserved)


def test_it_works() -> None:
    assert preview(situation()) == GroupDryRun(
        template=GROUP_HEAD,
        display_name="Apollo",
        mail_nickname="apollo",
        address=FIRST,
        member_ship_type=MemberShipType.PRIVATE,
        owners=(NamedPerson(ADA, "Somebody"),),
        member_count=3,
        approvals=(),
        steps=(Step.CREATE_GROUP, Step.ADD_MEMBERS),
        conflicts=(),
        warnings=(),
    )


def test_zeros_replace_the_digits_of_a_name_without_letters() -> None:
    found = preview(situation(name="!!!"), reserved=frozenset({"group-00000000@estate.example"}))

    assert (found.mail_nickname, found.conflicts, len(found.warnings)) == ("group-00000000", (), 1)


def test_nobody_counts_the_members_of_a_rule() -> None:
    template = replace(TEMPLATE, member_ship_type=2, membership_rule="rule")

    found = preview(situation(template))

    assert (found.member_ship_type, found.member_count) == (MemberShipType.DYNAMIC, None)


@pytest.mark.parametrize("is_reserved", [True, False])
def test_the_second_address_is_taken_where_the_first_is(*, is_reserved: bool) -> None:
    taken = frozenset({FIRST})
    answer = ANSWER if is_reserved else replace(ANSWER, taken_addresses=taken)

    found = preview(situation(), answer=answer, reserved=taken if is_reserved else frozenset())

    assert (found.address, found.mail_nickname, found.conflicts) == (SECOND, "apollo-00000000", ())
    assert [(warning.code, warning.values) for warning in found.warnings] == [
        ("addressDigitsFollow", {"address": FIRST})
    ]


def test_an_address_by_a_rule_has_no_second() -> None:
    template = replace(TEMPLATE, mail_nickname_rule="{input}")

    found = preview(situation(template), reserved=frozenset({FIRST}))

    assert [(fault.pointer, fault.code) for fault in found.conflicts] == [("/displayName", "addressTaken")]
    assert (found.address, found.warnings) == (FIRST, ())


def test_nobody_has_an_address_whose_number_is_not_drawn() -> None:
    template = replace(NUMBERED, mail_nickname_rule="{input}{counter:2}")

    found = preview(situation(template), reserved=frozenset({"apollo00@estate.example"}))

    assert (found.address, found.conflicts) == ("apollo00@estate.example", ())
    assert len(found.warnings) == 1


@pytest.mark.parametrize(
    ("template", "name", "expected"),
    [
        (TEMPLATE, "Apollo", False),
        (NUMBERED, "Apollo", True),
        (replace(NUMBERED, mail_nickname_rule="{input}"), "Apollo", False),
        # Of a long name the number is cut off.
        (NUMBERED, "a" * 63, True),
        (NUMBERED, "a" * 64, False),
    ],
)
def test_it_knows_whether_a_number_is_in_the_address(template: GroupTemplate, name: str, *, expected: bool) -> None:
    it = situation(template, name)
    names = names_of(it.order, it.compiled, request_id=NO_REQUEST, domain="estate.example", properties=NONE)

    assert has_number(it, names, NONE) is expected


def test_it_warns_of_levels_at_which_nobody_approves() -> None:
    levels = tuple([ApprovalLevel(ApprovalMode.ANY, (Approver(ApproverType.USER, user),)) for user in (BEN, DARA)])
    it = situation(replace(TEMPLATE, approval=ApprovalRule(levels, None)))

    found, unknown = preview(it), preview(it, approvers=None)

    assert found.approvals == (
        LevelDryRun(1, ApprovalMode.ANY, (NamedPerson(BEN, "Somebody"),)),
        LevelDryRun(2, ApprovalMode.ANY, ()),
    )
    assert found.warnings == (Reason.build("noApprover", level=2),)
    assert unknown.warnings == (Reason.build("noApprover", level=1), Reason.build("noApprover", level=2))


def test_it_warns_when_the_directory_does_not_answer() -> None:
    found = preview(situation(), answer=None)

    assert len(found.warnings) == 1
    assert found.steps[0] is Step.CHECK_PEOPLE
    assert found.owners == (NamedPerson(ADA, ""),)
