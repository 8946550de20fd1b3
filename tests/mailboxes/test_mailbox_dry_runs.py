# SPDX-License-Identifier: Apache-2.0
"""A mailbox as it would be requested."""

from dataclasses import replace

import pytest

from chamberlain.directory.mailboxes import TemplateSource
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.dry_run import MailboxDryRun, plan_dry_run
from chamberlain.mailboxes.rules import MailboxSituation
from chamberlain.requests.approvals import NO_REQUEST, LevelDryRun
from chamberlain.requests.models import ApprovalLevel, ApprovalMode, ApprovalRule, Approver, ApproverType
from chamberlain.tenants.models import Applicability
from tests.groups.group_values import ANSWER, BEN, CLEO, DARA
from tests.mailboxes.mailbox_values import HOUSE, ORDER, ROOM, SHARED, names_in, situation

pytestmark = pytest.mark.pure

MAIL, ALIAS = "info-desk@estate.example", "desk@estate.example"
SENT = replace(ORDER, alias="Desk", primary_owner=BEN, secondary_owner=CLEO)
NUMBERED = replace(SHARED, address_rule="{input}{counter:3}")
NOBODY = frozenset[str]()


def preview(
    it: MailboxSituation,
    *,
    answer: PeopleAnswer | None = ANSWER,
    approvers: PeopleAnswer | None = ANSWER,
    reserved: frozenset[str] = NOBODY,
    is_name_reserved: bool = False,
) -> MailboxDryRun:
    return plan_dry_run(
        it,
        names_in(it),
        answer=answer,
        approvers=approvers,
        reserved_addresses=reserved,
        is_name_reserved=is_name_reserved,
    )


def test_it_works() -> None:
    assert preview(situation(SENT)) == MailboxDryRun(
        template=SHARED.head,
        template_source=TemplateSource.DEFAULT,
        name="Info Desk",
        display_name="Information",
        address=MAIL,
        owners=(NamedPerson(BEN, "Somebody"), NamedPerson(CLEO, "Somebody")),
        approvals=(),
        steps=(Step.CREATE_MAILBOX, Step.SET_ALIASES, Step.SET_OWNERS),
        conflicts=(),
        warnings=(),
    )


def test_zeros_replace_the_digits_of_a_name_without_letters() -> None:
    it = replace(situation(replace(SENT, name="!!!"), ROOM), request_id=NO_REQUEST)

    found = preview(it, reserved=frozenset({"room-00000000@rooms.estate.example"}))

    assert (found.address, found.conflicts, len(found.warnings)) == ("room-00000000@rooms.estate.example", (), 1)


@pytest.mark.parametrize(
    ("given_away", "reserved", "is_name_reserved", "conflicts"),
    [
        ((), (), True, [("/name", "nameTaken")]),
        ((), (MAIL,), False, [("/name", "addressTaken")]),
        ((MAIL,), (), False, [("/name", "addressTaken")]),
        ((ALIAS,), (), False, [("/alias", "addressTaken")]),
        ((), (ALIAS,), False, [("/alias", "addressTaken")]),
        ((MAIL,), (ALIAS,), True, [("/name", "nameTaken"), ("/name", "addressTaken"), ("/alias", "addressTaken")]),
        (("other@estate.example",), ("else@estate.example",), False, []),
    ],
)
def test_it_tells_what_is_taken(
    *,
    given_away: tuple[str, ...],
    reserved: tuple[str, ...],
    is_name_reserved: bool,
    conflicts: list[tuple[str, str]],
) -> None:
    answer = replace(ANSWER, taken_addresses=frozenset(given_away))

    found = preview(
        situation(SENT), answer=answer, reserved=frozenset(reserved), is_name_reserved=is_name_reserved
    ).conflicts

    assert [(fault.pointer, fault.code) for fault in found] == conflicts
    assert all(ALIAS in fault.detail for fault in found if fault.pointer == "/alias")


def test_nobody_has_an_address_whose_number_is_not_drawn() -> None:
    found = preview(situation(SENT, NUMBERED), reserved=frozenset({"info-desk000@estate.example"}))

    assert found.address == "info-desk000@estate.example"
    assert found.conflicts == ()


def test_what_is_reserved_counts_without_an_answer_of_the_directory() -> None:
    found = preview(situation(SENT), answer=None, reserved=frozenset({MAIL}))

    assert [fault.code for fault in found.conflicts] == ["addressTaken"]
    assert found.owners == (NamedPerson(BEN, ""), NamedPerson(CLEO, ""))
    assert found.steps[0] is Step.CHECK_PEOPLE


def test_it_warns_once_for_each_reason() -> None:
    keeps = replace(situation(SENT, ROOM), tenant=replace(HOUSE, applicability=Applicability.WARN))
    level = ApprovalLevel(ApprovalMode.ALL, (Approver(ApproverType.USER, DARA),))
    approved = replace(NUMBERED, approval=ApprovalRule((level,), None))

    assert len(preview(keeps).warnings) == 1
    assert len(preview(situation(SENT, NUMBERED)).warnings) == 1
    assert len(preview(situation(SENT), answer=None).warnings) == 1
    assert len(preview(situation(SENT, approved), answer=None).warnings) == 3
    assert preview(situation(SENT, approved)).approvals == (LevelDryRun(1, ApprovalMode.ALL, ()),)
