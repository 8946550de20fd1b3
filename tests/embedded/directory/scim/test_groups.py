# SPDX-License-Identifier: Apache-2.0
"""Groups by SCIM, in the tables of the directory."""

import pytest

from chamberlain.embedded.directory.scim.schemas import GROUP
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, CREW, HANDBOOK, HOUSE, OTHERS, SALES, STAFF, ZOE
from tests.embedded.directory.scim.conftest import Scim


async def test_it_works(scim: Scim) -> None:
    created = await scim.create_group("Night shift", ADA, CREW)

    assert created == await scim.find(f"/Groups/{created['id']}")
    assert created["members"] == [
        {"value": str(ADA), "$ref": f"{scim.root}/Users/{ADA}", "type": "User"},
        {"value": str(CREW), "$ref": f"{scim.root}/Groups/{CREW}", "type": "Group"},
    ]
    row = await scim.databases.worker.pool.fetchrow(
        "SELECT group_types, mail, mail_enabled, security_enabled FROM directory.groups "
        "WHERE tenant_id = $1 AND display_name = 'Night shift'",
        HOUSE,
    )
    assert tuple(row or ()) == ([], None, False, True)
    # Names of groups may repeat.
    assert (await scim.create_group("Night shift"))["id"] != created["id"]


async def test_members_change_and_the_version_with_them(scim: Scim) -> None:
    created = await scim.create_group("Night shift", ADA)
    path = f"/Groups/{created['id']}"

    added = await scim.patch(
        path, {"op": "add", "path": "members", "value": [{"value": str(BEN)}, {"value": str(ADA)}]}
    )
    removed = await scim.patch(path, {"op": "remove", "path": f'members[value eq "{ADA}"]'})
    again = await scim.patch(path, {"op": "remove", "path": f'members[value eq "{ADA}"]'})
    renamed = await scim.patch(path, {"op": "replace", "path": "displayName", "value": "Late shift"})

    assert [one["value"] for one in added.json()["members"]] == [str(ADA), str(BEN)]
    assert [one["value"] for one in removed.json()["members"]] == [str(BEN)]
    assert again.json() == removed.json()
    assert renamed.json()["displayName"] == "Late shift"
    versions = [created["meta"]["version"], *(one.headers["etag"] for one in (added, removed, renamed))]
    assert len(set(versions)) == 4


async def test_put_replaces_the_members(scim: Scim) -> None:
    created = await scim.create_group("Night shift", ADA, BEN)
    body = {"schemas": [GROUP], "displayName": "Night shift", "externalId": "g-1", "members": [{"value": str(CLEO)}]}

    answer = await scim.send("PUT", f"/Groups/{created['id']}", body)

    assert [one["value"] for one in answer.json()["members"]] == [str(CLEO)]
    found = await scim.find("/Groups", filter='externalId eq "g-1"')
    assert [one["id"] for one in found["Resources"]] == [created["id"]]


@pytest.mark.parametrize("member", [str(ZOE), "9" * 32, "no id"])
async def test_an_unknown_member_is_refused(shared_scim: Scim, member: str) -> None:
    body = {"schemas": [GROUP], "displayName": "Night shift", "members": [{"value": member}]}

    answer = await shared_scim.send("POST", "/Groups", body)

    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    assert (await shared_scim.find("/Groups", filter='displayName eq "Night shift"'))["totalResults"] == 0


async def test_members_by_a_rule_cannot_change(shared_scim: Scim) -> None:
    answer = await shared_scim.patch(
        f"/Groups/{SALES}", {"op": "add", "path": "members", "value": [{"value": str(CLEO)}]}
    )

    assert (answer.status_code, answer.json()["scimType"]) == (400, "mutability")


async def test_a_group_is_deleted(scim: Scim) -> None:
    created = await scim.create_group("Night shift", ADA)

    assert (await scim.send("DELETE", f"/Groups/{OTHERS}")).status_code == 404
    assert (await scim.send("DELETE", f"/Groups/{created['id']}")).status_code == 204
    assert (await scim.send("GET", f"/Groups/{created['id']}")).status_code == 404


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('displayName eq "ALL staff"', [STAFF]),
        ('displayName co "s" and displayName sw "all"', [STAFF]),
        (f'members.value eq "{CLEO}"', [CREW]),
        (f'members[value eq "{CREW}" and type eq "Group"]', [STAFF]),
        ("not (members pr)", [HANDBOOK]),
    ],
)
async def test_groups_are_found_by_a_filter(shared_scim: Scim, written: str, found: list[object]) -> None:
    page = await shared_scim.find("/Groups", filter=written, excludedAttributes="members")

    assert [one["id"] for one in page["Resources"]] == [str(one) for one in found]
    assert not any("members" in one for one in page["Resources"])
