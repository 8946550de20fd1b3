# SPDX-License-Identifier: Apache-2.0
"""The names of what can differ, as findings and tenants spell them."""

import pytest

from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.drift.rules import compared_paths, compared_properties
from chamberlain.requests.models import RequestKind

pytestmark = pytest.mark.pure

OF_MAILBOXES = [
    "exists", "displayName", "primarySmtpAddress", "alias", "streetAddress", "officeLocation", "companyName",
    "postalCode", "city", "country", "phone", "department", "businessPhones", "notes", "capacity", "audioDeviceName",
    "displayDeviceName", "videoDeviceName", "isWheelChairAccessible", "tags", "roomMailboxMetadata.hasConferencePhone",
    "roomMailboxMetadata.hasWhiteboard", "roomMailboxMetadata.hasVideoConferencing", "booking", "automaticReply",
    "hideFromGAL", "permissions", "autoMapping", "additionalPermissions", "owners",
]  # fmt: skip
OF_GROUPS = [
    "exists", "displayName", "mail", "description", "memberShipType", "owners", "additionalOwners", "members",
    "additionalMembers", "labelId", "isTeam", "channels",
]  # fmt: skip
OF_ASSIGNMENTS = [
    "templateId", "policyId", "guests.allowed", "guests.addedBy", "guests.allowedDomains", "guests.blockedDomains",
    "sharingCapability",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "noun", "paths"),
    [
        (RequestKind.SHARED, "mailbox", OF_MAILBOXES),
        (RequestKind.EQUIPMENT, "mailbox", OF_MAILBOXES),
        (RequestKind.ROOM, "mailbox", OF_MAILBOXES),
        (RequestKind.GROUP, "group", OF_GROUPS),
        (RequestKind.TEAM, "group", OF_GROUPS),
        (RequestKind.ASSIGNMENT, "assignment", OF_ASSIGNMENTS),
    ],
)
def test_it_works(kind: RequestKind, noun: str, paths: list[str]) -> None:
    assert compared_paths(kind) == paths
    assert compared_properties(kind) == [f"{noun}.{path}" for path in paths]


def test_nothing_else_can_differ() -> None:
    assert len(DriftProperty) == len(OF_MAILBOXES) + len(OF_GROUPS) + len(OF_ASSIGNMENTS)


def test_a_tenant_writes_treatments_like_this() -> None:
    assert [*Treatment] == ["managed", "observed", "ignored"]
