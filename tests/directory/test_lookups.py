# SPDX-License-Identifier: Apache-2.0
"""Lookups of groups and users below `/graph`, in the directory of a tenant."""

from dataclasses import replace
from uuid import uuid4

import pytest

from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.capabilities import Ability
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.port import DisableGuest
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import NotThere
from tests.directory.conftest import Adapter
from tests.directory.group_work import work
from tests.directory.mailbox_work import FIELDS, shared
from tests.directory.sample_directory import (
    ADA,
    BEN,
    CLEO,
    GIL,
    HANA,
    HANDBOOK,
    INNER,
    NOBODY,
    OTHER_GROUP,
    OUTER,
    PARTNERS,
    TENANT,
    VISITORS,
    ZOE,
)

GROUP, USER = "#microsoft.graph.group", "#microsoft.graph.user"


def texts(*ids: UserId | GroupId) -> list[str]:
    return sorted(map(str, ids))


async def test_it_finds_a_group_by_the_id_of_its_request(adapter: Adapter) -> None:
    wanted = work(description="Ships\nand cranes", member_ship_type=MemberShipType.PUBLIC)
    [outcome] = await adapter.directory.ensure([wanted])
    assert outcome.observed is not None

    [found] = await adapter.lookups.group_of(wanted.wanted.request_id)

    assert found["createdDateTime"].endswith("Z")
    assert {name: value for name, value in found.items() if name != "createdDateTime"} == {
        "id": str(outcome.observed.id),
        "deletedDateTime": None,
        "description": "Ships\nand cranes",
        "displayName": "Harbour",
        "groupTypes": ["Unified"],
        "mail": wanted.wanted.mail,
        "mailEnabled": True,
        "mailNickname": wanted.wanted.mail_nickname,
        "membershipRule": None,
        "membershipRuleProcessingState": None,
        "proxyAddresses": [f"SMTP:{wanted.wanted.mail}"],
        "resourceProvisioningOptions": [],
        "securityEnabled": False,
        "visibility": "Public",
        "assignedLabels": [],
        "chamberlain_group": {"requestId": str(wanted.wanted.request_id)},
    }


async def test_it_finds_no_group_of_another_request_or_extension(adapter: Adapter) -> None:
    wanted = work()
    await adapter.directory.ensure([wanted])

    assert await adapter.lookups.group_of(uuid4()) == []
    assert await adapter.lookups.group_of("no-id") == []
    assert await adapter.lookups.group_of(wanted.wanted.request_id, extension="other_group") == []


async def test_a_group_has_the_selected_properties(adapter: Adapter) -> None:
    group = await adapter.lookups.get(f"/groups/{OUTER}", select="id,displayName,mail,visibility,chamberlain_group")

    assert {name: value for name, value in group.items() if not name.startswith("@")} == {
        "id": str(OUTER),
        "displayName": "All staff",
        "mail": "all-staff@estate.example",
        "visibility": "Private",
    }


async def test_a_team_and_a_dynamic_group_say_so(adapter: Adapter) -> None:
    team, dynamic = await adapter.lookups.get(f"/groups/{PARTNERS}"), await adapter.lookups.get(f"/groups/{VISITORS}")

    assert (team["resourceProvisioningOptions"], dynamic["resourceProvisioningOptions"]) == (["Team"], [])
    assert "DynamicMembership" in dynamic["groupTypes"]
    assert (team["membershipRuleProcessingState"], dynamic["membershipRuleProcessingState"]) == (None, "On")


@pytest.mark.parametrize(
    "path",
    [
        f"/groups/{NOBODY}",
        f"/groups/{OTHER_GROUP}",
        f"/groups/{NOBODY}/owners",
        f"/groups/{OTHER_GROUP}/members",
        f"/users/{NOBODY}",
        f"/users/{ZOE}",
        f"/users/{OUTER}",
        "/users/nobody@estate.example",
    ],
)
async def test_an_unknown_group_or_user_is_not_there(adapter: Adapter, path: str) -> None:
    with pytest.raises(NotThere):
        await adapter.lookups.get(path)


async def test_owners_and_members_are_users_and_groups(adapter: Adapter) -> None:
    owners = await adapter.lookups.get(f"/groups/{OUTER}/owners")
    members = await adapter.lookups.get(f"/groups/{OUTER}/members")

    assert [(each["id"], each["@odata.type"]) for each in owners["value"]] == [(str(ADA), USER)]
    assert {each["id"]: each["@odata.type"] for each in members["value"]} == {str(ADA): USER, str(INNER): GROUP}
    user, group = sorted(members["value"], key=lambda each: str(each["@odata.type"]), reverse=True)
    assert (user["displayName"], user["mail"]) == ("Ada Achterberg", "Ada@estate.example")
    assert user["userPrincipalName"] == "ada@estate.example"
    assert (group["displayName"], group["mail"], group["mailNickname"]) == ("Some staff", None, "some-staff")


async def test_members_of_a_dynamic_group_follow_its_rule(adapter: Adapter) -> None:
    assert await adapter.lookups.ids(f"/groups/{VISITORS}/members") == texts(GIL, HANA)


async def test_owners_include_guests(adapter: Adapter) -> None:
    assert await adapter.lookups.ids(f"/groups/{HANDBOOK}/owners") == texts(ADA, GIL)


async def test_members_are_read_in_pages(adapter: Adapter) -> None:
    first = await adapter.lookups.get(f"/groups/{PARTNERS}/members", top="1", count="true")

    assert (first["@odata.count"], len(first["value"])) == (3, 1)
    assert await adapter.lookups.ids(f"/groups/{PARTNERS}/members", top="1") == texts(ADA, GIL, HANA)


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ("mail eq 'ada@ESTATE.example'", [ADA]),
        ("mail eq 'ben@estate.example' or userPrincipalName eq 'ben@estate.example'", [BEN]),
        ("userPrincipalName eq 'Ada@estate.example'", [ADA]),
        ("mail eq 'zoe@other.example'", []),
        ("mail eq 'häfen@estate.example'", []),
        ("mail eq null", [BEN, HANA]),
        ("displayName eq 'ada achterberg'", [ADA]),
        ("displayName eq 'Ada*'", []),
        ("displayName eq ''", []),
        ("displayName eq 'Ada Achterberg' and mail ne 'ada@estate.example'", []),
        ("displayName eq 'Gil Hartmann' or mail in ('cleo@estate.example', 'Ada@estate.example')", [ADA, CLEO, GIL]),
        (f"displayName eq 'x' or id eq '{BEN}'", [BEN]),
        ("displayName eq 'x' or id eq 'no-id'", []),
        ("displayName eq 'x' or userType eq 'guest'", [GIL, HANA]),
        ("displayName eq 'x' or userType eq 'Member'", [ADA, BEN, CLEO]),
        ("displayName eq 'x' or not (userType eq 'Member')", [GIL, HANA]),
        ("displayName eq 'x' or mailNickname eq 'cleo'", [CLEO]),
        ("displayName eq 'x' or proxyAddresses/any(c:c eq 'smtp:gil@partner.example')", [GIL]),
        ("displayName eq 'x' or proxyAddresses/any(c:c eq 'sip:gil@partner.example')", []),
        ("startswith(displayName,'ada a')", [ADA]),
        ("startswith(displayName,'Achter')", []),
        ("startswith(displayName,'A*')", []),
        ("startswith(displayName,'') and userType eq 'Guest'", [GIL, HANA]),
        ("startswith(displayName,'') and startswith(mail,'C')", [CLEO]),
        ("startswith(displayName,'') and chamberlain_mailbox/requestId eq null", [ADA, BEN, CLEO, GIL, HANA]),
    ],
)
async def test_users_match_a_filter(adapter: Adapter, filter_: str, expected: list[UserId]) -> None:
    assert await adapter.lookups.ids("/users", filter=filter_) == texts(*expected)


async def test_users_are_read_in_pages(adapter: Adapter) -> None:
    everybody = "startswith(displayName,'')"
    first = await adapter.lookups.get("/users", filter=everybody, top="2", count="true")

    assert (first["@odata.count"], len(first["value"])) == (5, 2)
    assert await adapter.lookups.ids("/users", filter=everybody, top="2") == texts(ADA, BEN, CLEO, GIL, HANA)


async def test_an_invalid_filter_is_refused(adapter: Adapter) -> None:
    with pytest.raises(BadQuery):
        await adapter.lookups.get("/users", filter="mail eq 'ada@estate.example' and")


@pytest.mark.parametrize("name", [str(ADA), "ada@estate.example", "ADA@estate.example"])
async def test_it_returns_a_user_by_id_or_user_name(adapter: Adapter, name: str) -> None:
    user = await adapter.lookups.get(f"/users/{name}", select="id,displayName,mail,userType,department,accountEnabled")

    assert {name: value for name, value in user.items() if not name.startswith("@")} == {
        "id": str(ADA),
        "displayName": "Ada Achterberg",
        "mail": "Ada@estate.example",
        "userType": "Member",
        "department": "Sales",
        "accountEnabled": True,
    }


async def test_a_user_has_the_default_properties(adapter: Adapter) -> None:
    user = await adapter.lookups.get(f"/users/{GIL}")

    assert {name for name in user if not name.startswith("@")} == {
        "businessPhones",
        "displayName",
        "givenName",
        "jobTitle",
        "mail",
        "mobilePhone",
        "officeLocation",
        "preferredLanguage",
        "surname",
        "userPrincipalName",
        "id",
    }


async def test_a_disabled_guest_cannot_sign_in(adapter: Adapter) -> None:
    await adapter.guests.act([DisableGuest(TENANT, GIL)])

    guest = await adapter.lookups.get(f"/users/{GIL}", select="userType,accountEnabled,mail")

    assert (guest["userType"], guest["accountEnabled"], guest["mail"]) == ("Guest", False, "gil@partner.example")


async def test_a_guest_has_the_last_sign_in(adapter: Adapter) -> None:
    at = await adapter.record_activity(GIL)

    guest = await adapter.lookups.get(f"/users/{GIL}", select="signInActivity")
    other = await adapter.lookups.get(f"/users/{HANA}", select="signInActivity")

    assert guest["signInActivity"] == {"lastSignInDateTime": f"{at.replace(tzinfo=None).isoformat()}Z"}
    assert other["signInActivity"] is None


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_a_mailbox_is_a_user(adapter: Adapter) -> None:
    wanted = shared()
    [outcome] = await adapter.directory.ensure_mailboxes([wanted])
    assert outcome.observed is not None

    by_mail = await adapter.lookups.get("/users", filter=f"mail eq '{wanted.wanted.mail}'")
    selected = "id,displayName,userPrincipalName,mail,userType,accountEnabled,showInAddressList,proxyAddresses,city,"
    user = await adapter.lookups.get(
        f"/users/{outcome.observed.id}", select=f"{selected}department,businessPhones,chamberlain_mailbox"
    )

    assert [each["id"] for each in by_mail["value"]] == [str(outcome.observed.id)]
    assert {name: value for name, value in user.items() if not name.startswith("@")} == {
        "id": str(outcome.observed.id),
        "displayName": "Harbour",
        "userPrincipalName": wanted.wanted.mail,
        "mail": wanted.wanted.mail,
        "userType": "Member",
        "accountEnabled": False,
        "showInAddressList": False,
        "proxyAddresses": [f"SMTP:{wanted.wanted.mail}", f"smtp:{wanted.wanted.aliases[0]}"],
        "city": FIELDS.city,
        "department": FIELDS.department,
        "businessPhones": list(FIELDS.business_phones),
        "chamberlain_mailbox": {"requestId": str(wanted.wanted.request_id)},
    }


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_a_mailbox_is_visible_unless_it_is_hidden(adapter: Adapter) -> None:
    wanted = shared(is_hidden=False)
    [outcome] = await adapter.directory.ensure_mailboxes([wanted])
    assert outcome.observed is not None

    user = await adapter.lookups.get(f"/users/{outcome.observed.id}", select="showInAddressList")
    ada = await adapter.lookups.get(f"/users/{ADA}", select="showInAddressList")

    assert (user["showInAddressList"], ada["showInAddressList"]) == (True, True)


async def test_a_changed_member_is_seen_at_once(adapter: Adapter) -> None:
    wanted = work()
    [outcome] = await adapter.directory.ensure([wanted])
    assert outcome.observed is not None
    more = replace(wanted, wanted=replace(wanted.wanted, members=(ADA, BEN, CLEO)))
    await adapter.directory.ensure([more])

    assert await adapter.lookups.ids(f"/groups/{outcome.observed.id}/members") == texts(ADA, BEN, CLEO)
