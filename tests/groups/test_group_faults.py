# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict, Unpack
from uuid import UUID

import pytest

from chamberlain.core.errors import Fault
from chamberlain.core.ids import UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.models import MailAddress, PeopleAnswer, Person
from chamberlain.groups.capabilities import team_license_missing
from chamberlain.groups.models import GroupNames, GroupOrder
from chamberlain.groups.rules import faults_in_directory, faults_of, faults_without_directory
from chamberlain.templates.models import CustomField, FieldType, GroupTemplate
from tests.groups.group_values import (
    ADA,
    ANSWER,
    BEN,
    CLEO,
    EMBEDDED,
    LABEL,
    NAMES,
    NOBODY,
    ORDER,
    TEAM_HEAD,
    TEMPLATE,
    person,
)

pytestmark = pytest.mark.pure

DYNAMIC = replace(TEMPLATE, member_ship_type=2, membership_rule='user.department -eq "Sales"')
FIXED = replace(TEMPLATE, member_ship_type_changeable=False)
CUSTOMER = CustomField("el-text-1", "Customer", FieldType.TEXT, required=True)
LEAD = CustomField("lead", "Lead", FieldType.USER, required=False)


class Changes(TypedDict, total=False):
    """The properties that a case changes in an ordinary order."""

    member_ship_type: MemberShipType
    owners: tuple[UserId, ...]
    members: tuple[UserId, ...]
    metadata: Mapping[str, str | bool]
    label_id: str


def order(**changes: Unpack[Changes]) -> GroupOrder:
    return replace(ORDER, **changes)


def found(faults: tuple[Fault, ...]) -> list[tuple[str, str]]:
    return [(fault.pointer, fault.code) for fault in faults]


def test_it_works() -> None:
    full = order(owners=(BEN,), members=(CLEO, BEN), metadata={"any": True}, label_id=LABEL)

    assert faults_of(full, TEMPLATE, NAMES, ANSWER, caller=ADA) == ()


def test_it_looks_for_a_hundred_unknown_users_and_no_more() -> None:
    class CountedPeople(dict[UserId, Person]):
        """People of a directory that counts how often it was asked for one."""

        asked = 0

        def keys(self) -> "CountedPeople":  # type: ignore[override]  # Of the view, only `in` is used.
            return self

        def __contains__(self, user: object) -> bool:
            self.asked += 1
            return super().__contains__(user)

    people = CountedPeople(ANSWER.people)
    unknown = order(members=tuple(UserId(UUID(int=number)) for number in range(10_000)))

    faults = faults_of(unknown, TEMPLATE, NAMES, replace(ANSWER, people=people), caller=ADA)

    assert len(faults) == 101
    assert people.asked <= 110


@pytest.mark.parametrize(
    ("sent", "template", "faults"),
    [
        (order(owners=(NOBODY, BEN)), TEMPLATE, [("/owners/0", "userUnknown")]),
        (
            order(members=(ADA, BEN, CLEO, NOBODY, NOBODY)),
            TEMPLATE,
            [("/members/3", "userUnknown"), ("/members/4", "userUnknown")],
        ),
        (ORDER, replace(TEMPLATE, owners=(NOBODY,), members=(NOBODY,)), [("/templateId", "userUnknown")]),
        (ORDER, replace(DYNAMIC, members=(NOBODY,)), []),
        (ORDER, replace(DYNAMIC, owners=(NOBODY,)), [("/templateId", "userUnknown")]),
        (order(label_id="no"), TEMPLATE, [("/labelId", "labelUnknown")]),
        (order(label_id=LABEL.upper()), TEMPLATE, []),
        (ORDER, replace(TEMPLATE, label_id="no"), [("/templateId", "labelUnknown")]),
        (order(label_id=LABEL), replace(TEMPLATE, label_id="no"), []),
        (ORDER, replace(TEMPLATE, custom_fields=(CUSTOMER,)), [("/metadata/el-text-1", "customFieldRequired")]),
        (
            order(metadata={"el-text-1": True}),
            replace(TEMPLATE, custom_fields=(CUSTOMER,)),
            [("/metadata/el-text-1", "customFieldInvalid")],
        ),
        (
            order(metadata={"lead": str(NOBODY)}),
            replace(TEMPLATE, custom_fields=(LEAD,)),
            [("/metadata/lead", "customFieldInvalid")],
        ),
        (order(member_ship_type=MemberShipType.DYNAMIC), TEMPLATE, [("/memberShipType", "dynamicRuleMissing")]),
        (ORDER, replace(DYNAMIC, membership_rule=None), [("/templateId", "dynamicRuleMissing")]),
        (order(members=(BEN,)), DYNAMIC, [("/members", "membersOfDynamicGroup")]),
        (order(owners=(BEN,)), DYNAMIC, []),
        (order(member_ship_type=MemberShipType.PRIVATE, members=(BEN,)), DYNAMIC, []),
        (order(member_ship_type=MemberShipType.PUBLIC), FIXED, [("/memberShipType", "memberShipTypeFixed")]),
        (order(member_ship_type=MemberShipType.PRIVATE), FIXED, []),
        (ORDER, replace(TEMPLATE, minimum_owners=2), [("/owners", "tooFewOwners")]),
        (order(owners=(ADA,)), replace(TEMPLATE, minimum_owners=2), [("/owners", "tooFewOwners")]),
        (order(owners=(BEN,)), replace(TEMPLATE, minimum_owners=3, owners=(BEN,)), [("/owners", "tooFewOwners")]),
        (order(owners=(BEN,)), replace(TEMPLATE, minimum_owners=3, owners=(CLEO,)), []),
    ],
)
def test_it_rejects_what_cannot_be_carried_out(
    sent: GroupOrder, template: GroupTemplate, faults: list[tuple[str, str]]
) -> None:
    assert found(faults_of(sent, template, NAMES, ANSWER, caller=ADA)) == faults


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (replace(NAMES, display_name="x" * 256), []),
        (replace(NAMES, display_name="x" * 257), ["nameTooLong"]),
        (GroupNames("Apollo", (MailAddress("x" * 64, "..."),)), []),
        (GroupNames("Apollo", (MailAddress("x" * 65, "..."),)), ["nameTooLong"]),
        (GroupNames("x" * 257, (MailAddress("x" * 65, "..."),)), ["nameTooLong", "nameTooLong"]),
    ],
)
def test_it_rejects_names_that_cannot_be(names: GroupNames, codes: list[str]) -> None:
    faults = faults_of(ORDER, TEMPLATE, names, ANSWER, caller=ADA)

    assert found(faults) == [("/displayName", code) for code in codes]


def test_it_lists_all_faults_at_once() -> None:
    template = replace(FIXED, minimum_owners=4, custom_fields=(CUSTOMER,))
    wrong = order(member_ship_type=MemberShipType.DYNAMIC, owners=(NOBODY,), members=(NOBODY,), label_id="no")

    faults = faults_of(wrong, template, replace(NAMES, display_name="x" * 257), ANSWER, caller=ADA)

    assert [code for _, code in found(faults)] == [
        "nameTooLong",
        "memberShipTypeFixed",
        "dynamicRuleMissing",
        "membersOfDynamicGroup",
        "tooFewOwners",
        "customFieldRequired",
        "userUnknown",
        "userUnknown",
        "labelUnknown",
    ]


def test_it_rejects_a_caller_whom_the_directory_does_not_know() -> None:
    assert found(faults_of(ORDER, TEMPLATE, NAMES, PeopleAnswer(), caller=ADA)) == [("", "userUnknown")]


def test_it_parts_what_the_directory_must_tell_from_the_rest() -> None:
    template = replace(TEMPLATE, custom_fields=(CUSTOMER,))
    wrong = order(owners=(NOBODY,))

    alone = faults_without_directory(wrong, template, NAMES, caller=ADA)
    in_directory = faults_in_directory(wrong, template, ANSWER, caller=ADA)

    assert found(alone) == [("/metadata/el-text-1", "customFieldRequired")]
    assert found(in_directory) == [("/owners/0", "userUnknown")]


@pytest.mark.parametrize(
    ("template", "caller", "is_missing"),
    [
        (TEMPLATE, person(ADA, has_team_license=False), False),
        (replace(TEMPLATE, head=TEAM_HEAD), person(ADA), False),
        (replace(TEMPLATE, head=TEAM_HEAD), person(ADA, has_team_license=False), True),
        (replace(TEMPLATE, head=TEAM_HEAD), None, True),
    ],
)
def test_it_asks_for_a_license_for_teams(template: GroupTemplate, caller: Person | None, *, is_missing: bool) -> None:
    refusal = team_license_missing(template, caller, EMBEDDED)

    assert (refusal is not None) is is_missing
    assert refusal is None or refusal.code == "teamLicenseRequired"
