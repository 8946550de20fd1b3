# SPDX-License-Identifier: Apache-2.0
"""The faults of an order for a mailbox, all at once."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chamberlain.core.errors import Fault
from chamberlain.core.reasons import Reason
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, PermissionLevel, TemplateSource
from chamberlain.directory.models import PeopleAnswer
from chamberlain.mailboxes.rules import (
    MailboxSituation,
    faults_in_directory,
    faults_without_directory,
    mailbox_not_allowed,
    sent_user_faults,
    warnings_of,
)
from chamberlain.templates.models import Audience, CustomField, FieldType, MailboxTemplate
from chamberlain.tenants.models import Applicability
from tests.groups.group_values import ADA, ANSWER, BEN, CLEO, NOBODY, STAFF
from tests.mailboxes.mailbox_values import (
    APPLICATION,
    EQUIPMENT,
    EVERY_PROPERTY,
    HOUSE,
    ORDER,
    ROOM,
    SHARED,
    names_in,
    situation,
)

pytestmark = pytest.mark.pure

CUSTOMER = CustomField("customer", "Customer", FieldType.TEXT, required=True)
LEAD = CustomField("lead", "Lead", FieldType.USER, required=False)
FULL_ACCESS = PermissionLevel.FULL_ACCESS


def found(it: MailboxSituation) -> list[tuple[str, str]]:
    return short([*faults_without_directory(it, names_in(it)), *faults_in_directory(it, ANSWER)])


def short(faults: Sequence[Fault]) -> list[tuple[str, str]]:
    return [(fault.pointer, fault.code) for fault in faults]


def test_it_works() -> None:
    sent = replace(
        ORDER,
        permissions={BEN: FULL_ACCESS, CLEO: PermissionLevel.NONE},
        primary_owner=ADA,
        secondary_owner=ADA,
        domain="Rooms.Estate.example",
        alias="desk",
        auto_mapping=True,
    )

    assert found(situation(sent)) == []
    assert situation(sent).source is TemplateSource.DEFAULT
    assert situation(replace(sent, template_id=SHARED.head.id)).source is TemplateSource.REQUEST


@pytest.mark.parametrize(
    ("sent", "template", "faults"),
    [
        (replace(ORDER, permissions={NOBODY: FULL_ACCESS}), SHARED, [(f"/permissions/{NOBODY}", "userUnknown")]),
        (
            replace(ORDER, permissions={BEN: FULL_ACCESS, NOBODY: PermissionLevel.NONE}),
            SHARED,
            [(f"/permissions/{NOBODY}", "userUnknown")],
        ),
        (
            replace(ORDER, primary_owner=NOBODY, secondary_owner=NOBODY),
            ROOM,
            [("/primaryOwner", "userUnknown"), ("/secondaryOwner", "userUnknown")],
        ),
        (
            ORDER,
            replace(SHARED, defaults=MailboxProperties(permissions={NOBODY: FULL_ACCESS}, primary_owner=NOBODY)),
            [("/templateId", "userUnknown")],
        ),
        (
            replace(ORDER, permissions={}),
            replace(SHARED, defaults=MailboxProperties(permissions={NOBODY: FULL_ACCESS})),
            [],
        ),
        (replace(ORDER, name="東京"), SHARED, []),
        (replace(ORDER, name="!?"), SHARED, []),
        (replace(ORDER, name="x" * 64), SHARED, []),
        (replace(ORDER, name="x" * 64), replace(SHARED, address_rule="x{input}"), [("/name", "nameTooLong")]),
        (replace(ORDER, domain="other.example"), SHARED, [("/domain", "domainNotVerified")]),
        (replace(ORDER, domain="sub.estate.example"), SHARED, [("/domain", "domainNotVerified")]),
        (ORDER, replace(SHARED, domain="other.example"), [("/templateId", "domainNotVerified")]),
        (
            ORDER,
            replace(SHARED, defaults=MailboxProperties(domain="other.example")),
            [("/templateId", "domainNotVerified")],
        ),
        (replace(ORDER, domain="estate.example"), replace(SHARED, domain="other.example"), []),
        (ORDER, replace(ROOM, custom_fields=(CUSTOMER,)), [("/metadata/customer", "customFieldRequired")]),
        (
            ORDER,
            replace(ROOM, custom_fields=(CUSTOMER,), defaults=MailboxProperties(metadata={"customer": "x"})),
            [],
        ),
        (
            replace(ORDER, metadata={"customer": True}),
            replace(ROOM, custom_fields=(CUSTOMER,)),
            [("/metadata/customer", "customFieldInvalid")],
        ),
        (
            replace(ORDER, metadata={"lead": str(NOBODY)}),
            replace(EQUIPMENT, custom_fields=(LEAD,)),
            [("/metadata/lead", "customFieldInvalid")],
        ),
        (EVERY_PROPERTY["alias"], ROOM, [("/alias", "propertyNotApplicable")]),
        (EVERY_PROPERTY["metadata.equipmentType"], ROOM, [("/metadata/equipmentType", "propertyNotApplicable")]),
    ],
)
def test_it_rejects_what_cannot_be_carried_out(
    sent: MailboxOrder, template: MailboxTemplate, faults: list[tuple[str, str]]
) -> None:
    assert found(situation(sent, template)) == faults


def test_it_lists_all_faults_at_once() -> None:
    sent = replace(
        ORDER,
        name="ß" * 33,
        domain="other.example",
        room_mailbox_metadata=EVERY_PROPERTY["roomMailboxMetadata"].room_mailbox_metadata,
        office_location="5",
        permissions={NOBODY: FULL_ACCESS},
        primary_owner=NOBODY,
    )

    assert [code for _, code in found(situation(sent, replace(SHARED, custom_fields=(CUSTOMER,))))] == [
        "nameTooLong",
        "domainNotVerified",
        "propertyNotApplicable",
        "propertyNotApplicable",
        "customFieldRequired",
        "userUnknown",
        "userUnknown",
    ]


def test_a_tenant_may_have_kept_what_does_not_apply() -> None:
    it = situation(replace(EVERY_PROPERTY["alias"], office_location="5"), EQUIPMENT)
    warned = replace(it, tenant=replace(HOUSE, applicability=Applicability.WARN))

    assert warnings_of(it) == ()
    assert found(warned) == []
    assert warnings_of(warned) == (
        Reason.build("propertyHasNoEffect", type="equipment", property="officeLocation"),
        Reason.build("propertyHasNoEffect", type="equipment", property="alias"),
    )


def test_a_caller_need_not_be_known_to_the_directory() -> None:
    assert faults_in_directory(situation(ORDER), PeopleAnswer()) == ()
    assert faults_in_directory(situation(ORDER, caller=APPLICATION), PeopleAnswer()) == ()


def test_users_are_looked_at_without_a_template_too() -> None:
    sent = replace(ORDER, permissions={NOBODY: FULL_ACCESS}, secondary_owner=NOBODY)

    faults = list(sent_user_faults(sent, ANSWER.people.keys()))

    assert short(faults) == [(f"/permissions/{NOBODY}", "userUnknown"), ("/secondaryOwner", "userUnknown")]


def test_of_many_domains_some_are_named() -> None:
    tenant = replace(HOUSE, domains=tuple(f"d{number}.example" for number in range(1000)))
    it = replace(situation(replace(ORDER, domain="other.example")), tenant=tenant)

    (fault,) = faults_without_directory(it, names_in(it))

    assert fault.detail.endswith("d8.example, d9.example and 990 more.")


@pytest.mark.parametrize(
    ("audience", "answer", "is_allowed"),
    [
        (None, PeopleAnswer(), True),
        (Audience(frozenset({ADA}), frozenset()), PeopleAnswer(), True),
        (Audience(frozenset({BEN}), frozenset({STAFF})), PeopleAnswer(member_of=frozenset({STAFF})), True),
        (Audience(frozenset({BEN}), frozenset({STAFF})), PeopleAnswer(), False),
        (Audience(frozenset(), frozenset()), PeopleAnswer(), False),
    ],
)
def test_a_template_is_for_its_audience(audience: Audience | None, answer: PeopleAnswer, *, is_allowed: bool) -> None:
    template = replace(SHARED, audience=audience)

    refusal = mailbox_not_allowed(situation(ORDER, template), answer)

    assert (refusal is None) is is_allowed
    assert refusal is None or refusal.code == "templateNotAllowed"
    assert mailbox_not_allowed(situation(ORDER, template, caller=APPLICATION), answer) is None
