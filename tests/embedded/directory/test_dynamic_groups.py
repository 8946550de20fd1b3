# SPDX-License-Identifier: Apache-2.0
"""The members of dynamic groups follow their rules when users change."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.mailboxes import Mailboxes
from tests.databases import Databases
from tests.embedded.directory.mailboxes import ENTRIES, HELP
from tests.embedded.directory.sample_data import ADA, BEN, CLEO, HOUSE, OTHER_HOUSE, SALES, SECTION, ZOE, group, user

BASEL = UUID("30000000-0000-4000-8000-0000000000a1")
SWITCHED_OFF = UUID("30000000-0000-4000-8000-0000000000a2")
ELSEWHERE = UUID("30000000-0000-4000-8000-0000000000a3")
MACHINES = UUID("30000000-0000-4000-8000-0000000000a4")


def dynamic(id_: UUID, tenant: UUID, rule: str, **more: object) -> dict[str, object]:
    return group(id_, tenant, f"Group {id_}", groupTypes=["DynamicMembership"], membershipRule=rule, **more)


GROUPS = [
    dynamic(BASEL, HOUSE, 'user.city -eq "Basel"', owners=[str(HELP)]),
    dynamic(SWITCHED_OFF, HOUSE, "user.accountEnabled -eq false"),
    dynamic(ELSEWHERE, OTHER_HOUSE, 'user.city -eq "Basel"'),
    dynamic(MACHINES, HOUSE, '-not (device.displayName -eq "x")'),
]


@pytest.fixture
async def mailboxes(databases: Databases) -> Mailboxes:
    await load(databases.worker.pool, SECTION)
    # The owner of the first group is a mailbox that is created later.
    groups = [{**each, "owners": []} for each in GROUPS]
    await load(databases.worker.pool, {"groups": groups})
    await databases.worker.pool.execute(
        "INSERT INTO directory.memberships VALUES ($1, $2, $3, true, false, false)", HOUSE, BASEL, HELP
    )
    return Mailboxes(databases.worker.pool, key_member="requestId")


async def members(databases: Databases, group_id: UUID) -> set[UUID]:
    rows = await databases.worker.pool.fetch(
        "SELECT member_id FROM directory.memberships WHERE group_id = $1 AND is_member", group_id
    )
    return {row[0] for row in rows}


async def test_it_works(mailboxes: Mailboxes, databases: Databases) -> None:
    assert await members(databases, BASEL) == set()

    await mailboxes.ensure(ENTRIES)

    in_basel = {entry.id for entry in ENTRIES if entry.mark.tenant_id == HOUSE and entry.properties.get("city")}
    of_house = {entry.id for entry in ENTRIES if entry.mark.tenant_id == HOUSE}
    assert HELP in in_basel
    assert await members(databases, BASEL) == in_basel
    assert await members(databases, SWITCHED_OFF) == {CLEO} | of_house
    assert await members(databases, MACHINES) == set()
    assert of_house.isdisjoint(await members(databases, ELSEWHERE))
    assert await members(databases, SALES) == {ADA, BEN}


async def test_it_removes_users_who_no_longer_match(mailboxes: Mailboxes, databases: Databases) -> None:
    await mailboxes.ensure(ENTRIES)
    before = await members(databases, BASEL)
    [entry] = [entry for entry in ENTRIES if entry.id == HELP]

    [moved] = await mailboxes.ensure([replace(entry, properties={"city": "Bern"})])

    assert moved.shown is not None
    assert moved.shown.properties["city"] == "Bern"
    assert await members(databases, BASEL) == before - {HELP}
    # Owners remain owners.
    assert await databases.worker.pool.fetchval(
        "SELECT is_owner FROM directory.memberships WHERE group_id = $1 AND member_id = $2", BASEL, HELP
    )


@pytest.mark.usefixtures("mailboxes")
async def test_loading_updates_dynamic_groups(databases: Databases) -> None:
    moved = [user(ADA, HOUSE, "Ada Achterberg", department="Law"), user(ZOE, OTHER_HOUSE, "Zoe", city="BASEL")]

    await load(databases.worker.pool, {"users": moved})

    assert await members(databases, SALES) == {BEN}
    assert await members(databases, ELSEWHERE) == {ZOE}


async def test_an_invalid_rule_keeps_its_members(mailboxes: Mailboxes, databases: Databases) -> None:
    await databases.worker.pool.execute(
        "UPDATE directory.groups SET membership_rule = 'user.city -match \"(^|$)*\"' WHERE id = $1", SALES
    )

    await mailboxes.ensure(ENTRIES)
    await load(databases.worker.pool, SECTION)

    assert await members(databases, SALES) == {ADA, BEN}
