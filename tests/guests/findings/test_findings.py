# SPDX-License-Identifier: Apache-2.0
"""Guests against the rules, and the identity of a finding."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, MailboxId, UserId
from chamberlain.directory.subjects import AddedBy, Guest, GuestRules, SubjectType
from chamberlain.guests.models import (
    Finding,
    FindingKey,
    FindingKind,
    FindingMailbox,
    FindingSource,
    FindingState,
    FindingSubject,
    finding_key,
    guest_findings,
)
from tests.groups.group_values import TENANT
from tests.guests.subjects.subject_values import OBSERVED as EMPTY

pytestmark = pytest.mark.pure

GIL = Guest(UserId(UUID(int=4)), "gil@partner.example", "Gil Hartmann")
HANA = Guest(UserId(UUID(int=5)), "hana@other.example", "Hana Novak")
SUBJECT = FindingSubject(TENANT, GroupId(UUID(int=1)), SubjectType.GROUP, "All staff")
OBSERVED = replace(EMPTY, guests=(GIL, HANA))
PARTNERS = GuestRules(
    allowed=True, added_by=AddedBy.OWNERS, allowed_domains=("partner.example",), blocked_domains=(), sharing=None
)


def test_it_works() -> None:
    (found,) = guest_findings(SUBJECT, OBSERVED, PARTNERS, removed=False)

    assert found == Finding(
        subject=SUBJECT,
        kind=FindingKind.GUEST_AGAINST_RULE,
        source=FindingSource.ASSIGNMENT,
        about="00000000-0000-0000-0000-000000000005",
        property="guests",
        wanted=None,
        observed={
            "id": "00000000-0000-0000-0000-000000000005",
            "displayName": "Hana Novak",
            "mail": "hana@other.example",
        },
        detail=found.detail,
        action=None,
    )
    assert finding_key(found) == FindingKey(TENANT, SUBJECT.id, FindingKind.GUEST_AGAINST_RULE, found.about)


def test_without_rules_nobody_is_against_them() -> None:
    assert guest_findings(SUBJECT, OBSERVED, None, removed=True) == ()


@pytest.mark.parametrize(
    ("removed", "kept", "action"),
    [(False, (), None), (True, (), "remove"), (True, (str(HANA.id),), None), (True, (str(GIL.id),), "remove")],
)
def test_it_says_who_is_about_to_be_removed(*, removed: bool, kept: tuple[str, ...], action: str | None) -> None:
    (found,) = guest_findings(SUBJECT, OBSERVED, PARTNERS, removed=removed, kept=kept)

    assert found.action == action


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in FindingKind] == [
        "drift",
        "guestAgainstRule",
        "guestExpired",
        "reviewDue",
        "guestInactive",
        "tooFewOwners",
        "repairDoesNotHold",
    ]
    assert [str(each) for each in FindingState] == ["open", "repaired", "accepted", "ignored", "gone"]
    assert [str(each) for each in FindingSource] == ["assignment", "drift", "policy"]
    assert FindingMailbox(TENANT, MailboxId(UUID(int=2)), "Info").type == "mailbox"
