# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import Mapping

import pytest

from chamberlain.embedded.directory.estate import EstateInvalid
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.sample_data import (
    ADA,
    BEN,
    CLEO,
    CREW,
    GROUPS,
    HOUSE,
    OTHER_HOUSE,
    SALES,
    SECTION,
    STAFF,
    USERS,
    group,
    user,
)

TABLES = (
    "addresses",
    "channels",
    "extension_values",
    "groups",
    "guest_defaults",
    "guest_settings",
    "labels",
    "licenses",
    "memberships",
    "service_plans",
    "sites",
    "teams",
    "users",
)


async def all_rows(databases: Databases) -> Mapping[str, object]:
    return {
        table: await databases.worker.pool.fetch(f"SELECT * FROM directory.{table} AS t ORDER BY t")  # noqa: S608 - the names above.
        for table in TABLES
    }


async def members(databases: Databases, group_id: object) -> set[object]:
    rows = await databases.worker.pool.fetch(
        "SELECT member_id FROM directory.memberships WHERE tenant_id = $1 AND group_id = $2 AND is_member",
        HOUSE,
        group_id,
    )
    return {row[0] for row in rows}


async def test_it_works(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)

    counts = {table: len(rows) for table, rows in (await all_rows(databases)).items() if isinstance(rows, list)}
    assert counts["users"] == 5
    assert counts["groups"] == 5
    assert counts["teams"] == 1
    assert counts["channels"] == 2
    assert counts["sites"] == 1
    assert counts["addresses"] == 7
    assert await members(databases, STAFF) == {ADA, BEN, CREW}


async def test_it_is_idempotent(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    before = await all_rows(databases)

    await load(databases.worker.pool, SECTION)

    assert await all_rows(databases) == before


async def test_concurrent_starts_load_once(databases: Databases) -> None:
    await asyncio.gather(load(databases.worker.pool, SECTION), load(databases.worker.pool, SECTION))

    assert await members(databases, STAFF) == {ADA, BEN, CREW}


async def test_it_updates_dynamic_groups(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    assert await members(databases, SALES) == {ADA, BEN}

    moved = [user(BEN, HOUSE, "Ben Okafor", department="IT"), user(CLEO, HOUSE, "Cleo Marchetti", department="sales")]
    await load(databases.worker.pool, {"users": moved})

    assert await members(databases, SALES) == {ADA, CLEO}
    owners = await databases.worker.pool.fetch(
        "SELECT member_id FROM directory.memberships WHERE group_id = $1 AND is_owner", SALES
    )
    assert [row[0] for row in owners] == [CLEO]


async def test_it_releases_old_addresses(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)

    renamed = user(ADA, HOUSE, "Ada Achterberg", userPrincipalName="ada.a@house.example", mail="ada.a@house.example")
    heir = user(BEN, HOUSE, "Ben Okafor", mail="ada@house.example")
    await load(databases.worker.pool, {"users": [renamed, heir]})

    holder = await databases.worker.pool.fetchval(
        "SELECT holder_id FROM directory.addresses WHERE tenant_id = $1 AND address = 'ada@house.example'", HOUSE
    )
    assert holder == BEN


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"people": []}, "people"),
        ({"users": [{**USERS[0], "dispalyName": "x"}]}, "dispalyName"),
        ({"users": [{**USERS[0], "id": "x"}]}, "users"),
        ({"users": [{**USERS[0], "userType": "member"}]}, "userType"),
        ({"users": [*USERS, user(STAFF, HOUSE, "Other", mail="ADA@house.example")]}, "ada@house.example"),
        ({"groups": [group(STAFF, HOUSE, "x", members=[str(ADA)])]}, str(ADA)),
        ({"users": USERS, "groups": [group(STAFF, OTHER_HOUSE, "x", members=[str(ADA)])]}, str(ADA)),
        ({"groups": [group(STAFF, HOUSE, "x", membershipRule="user.x")]}, "character 1"),
        ({"groups": [group(STAFF, HOUSE, "x", guestSettings={"guestsAddedBy": "anyone"})]}, "guestsAddedBy"),
        ({"guestDefaults": [{"allowToAddGuests": True}]}, "tenant"),
    ],
)
async def test_it_rejects(databases: Databases, section: dict[str, object], words: str) -> None:
    with pytest.raises(EstateInvalid) as rejected:
        await load(databases.worker.pool, section)

    assert words in str(rejected.value)
    assert not any((await all_rows(databases)).values())


async def test_it_keeps_changed_groups(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    await databases.worker.pool.execute("UPDATE directory.groups SET description = 'changed' WHERE id = $1", STAFF)
    await databases.worker.pool.execute("DELETE FROM directory.memberships WHERE group_id = $1", STAFF)

    await load(databases.worker.pool, {"groups": GROUPS})

    assert await members(databases, STAFF) == set()


SETTINGS = {"allowToAddGuests": False, "guestsAddedBy": "owners", "blockedGuestDomains": ["rival.example"]}
GUESTS_OF_CREW = {
    **SECTION,
    "groups": [group(CREW, HOUSE, "Crew", guestSettings=SETTINGS)],
    "guestDefaults": [{"tenant": str(HOUSE), "allowedGuestDomains": ["partner.example"]}],
}


async def test_it_loads_guest_settings(databases: Databases) -> None:
    await load(databases.worker.pool, GUESTS_OF_CREW)

    rows = await all_rows(databases)
    assert rows["guest_settings"] == [(HOUSE, CREW, False, "owners", [], ["rival.example"])]
    assert rows["guest_defaults"] == [(HOUSE, True, "members", ["partner.example"], [])]
    await load(databases.worker.pool, GUESTS_OF_CREW)
    assert await all_rows(databases) == rows


async def test_it_keeps_changed_settings_and_updates_defaults(
    databases: Databases,
) -> None:
    await load(databases.worker.pool, GUESTS_OF_CREW)
    await databases.worker.pool.execute("DELETE FROM directory.guest_settings")

    await load(
        databases.worker.pool, {**GUESTS_OF_CREW, "guestDefaults": [{"tenant": str(HOUSE), "allowToAddGuests": False}]}
    )

    rows = await all_rows(databases)
    assert rows["guest_settings"] == []
    assert rows["guest_defaults"] == [(HOUSE, False, "members", [], [])]


async def test_it_keeps_the_default_sharing_of_a_site(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    await databases.worker.pool.execute("UPDATE directory.sites SET sharing_capability = 'externalUserSharingOnly'")

    await load(databases.worker.pool, SECTION)

    rows = await databases.worker.pool.fetch(
        "SELECT sharing_capability, default_sharing_capability FROM directory.sites"
    )
    assert [tuple(row) for row in rows] == [("externalUserSharingOnly", "disabled")]
