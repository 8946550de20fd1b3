# SPDX-License-Identifier: Apache-2.0
"""Where a template names users, groups and other things."""

from typing import Any

import pytest

from chamberlain.template_admin.documents import read_template, references_of

# Ids of users, each named by its place, and of groups.
A, B, C, D, E = (f"{digit}0000000-0000-4000-8000-000000000000" for digit in "abcde")
ONE, TWO = (f"{digit}0000000-0000-4000-8000-000000000000" for digit in "12")
ID = "7e000000-0000-4000-8000-000000000001"
APPROVAL = {
    "levels": [
        {"mode": "any", "approvers": [{"type": "manager"}, {"type": "user", "id": C}]},
        {"mode": "all", "approvers": [{"type": "group", "id": TWO}]},
    ]
}
AUDIENCE = {"users": [A], "groups": [ONE]}
ROOM: dict[str, Any] = {
    "id": ID,
    "kind": "room",
    "name": "Room",
    "audience": AUDIENCE,
    "approval": APPROVAL,
    "defaults": {
        "permissions": {B: "SendAs"},
        "primaryOwner": D,
        "secondaryOwner": E,
        "metadata": {"lead": A, "host": "nobody", "note": B},
    },
    "customFields": [
        {"key": "lead", "label": "Lead", "type": "user"},
        {"key": "host", "label": "Host", "type": "user"},
        {"key": "note", "label": "Note", "type": "text"},
    ],
}
TEAM: dict[str, Any] = {
    "id": ID,
    "kind": "team",
    "name": "Team",
    "audience": AUDIENCE,
    "approval": APPROVAL,
    "owners": [D],
    "members": [B, E],
    "labelId": "Internal",
    "membershipRule": "a rule",
    "guestTemplateId": ONE,
    "guestPolicyId": TWO,
}
GUEST: dict[str, Any] = {
    "id": ID,
    "kind": "guest",
    "name": "Guests",
    "guests": {"allowed": False},
    "sharingCapability": "disabled",
}


@pytest.mark.parametrize(
    ("body", "users", "groups"),
    [
        (
            ROOM,
            {
                "/audience/users/0": A,
                "/approval/levels/0/approvers/1/id": C,
                f"/defaults/permissions/{B}": B,
                "/defaults/primaryOwner": D,
                "/defaults/secondaryOwner": E,
                "/defaults/metadata/lead": A,
            },
            {"/audience/groups/0": ONE, "/approval/levels/1/approvers/0/id": TWO},
        ),
        (
            TEAM,
            {
                "/audience/users/0": A,
                "/approval/levels/0/approvers/1/id": C,
                "/owners/0": D,
                "/members/0": B,
                "/members/1": E,
            },
            {"/audience/groups/0": ONE, "/approval/levels/1/approvers/0/id": TWO},
        ),
        (GUEST, {}, {}),
    ],
)
def test_it_works(body: dict[str, Any], users: dict[str, str], groups: dict[str, str]) -> None:
    found = references_of(read_template(body))

    assert {pointer: str(user) for pointer, user in found.users} == users
    assert {pointer: str(group) for pointer, group in found.groups} == groups


def test_it_finds_what_is_no_person() -> None:
    found = references_of(read_template(TEAM))

    assert (found.label, found.membership_rule) == ("Internal", "a rule")
    assert (str(found.guest_template_id), str(found.guest_policy_id)) == (ONE, TWO)
