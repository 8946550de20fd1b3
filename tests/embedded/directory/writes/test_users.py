# SPDX-License-Identifier: Apache-2.0
"""Writes of users, called directly."""

from typing import cast
from uuid import UUID

import pytest

from chamberlain.embedded.directory.database import Connection, Pool, one_transaction
from chamberlain.embedded.directory.errors import WriteRefused
from chamberlain.embedded.directory.people import Card, Question, Register
from chamberlain.embedded.directory.writes.users import (
    License,
    UserFields,
    change_licenses,
    create_user,
    delete_user,
    set_manager,
    update_user,
)
from tests.embedded.directory.sample_data import ADA, BEN, GIL, HOUSE, OTHER_HOUSE, SALES, ZOE

NEW = UUID("20000000-0000-4000-8000-0000000000aa")
EVE = UserFields(display_name="Eve Duran", user_principal_name="Eve@house.example", mail="eve@house.example")


async def test_it_creates_a_user(connection: Connection) -> None:
    async with one_transaction(connection):
        await create_user(connection, HOUSE, NEW, EVE)

    card = await find(connection, NEW)
    assert (card.display_name, card.user_principal_name, card.user_type) == ("Eve Duran", "Eve@house.example", "Member")
    assert await addresses(connection, NEW) == ["eve@house.example"]


async def test_a_new_user_joins_dynamic_groups_and_leaves_them(connection: Connection) -> None:
    async with one_transaction(connection):
        await create_user(connection, HOUSE, NEW, EVE)
        await update_user(connection, HOUSE, NEW, UserFields(department="sales"))
    assert await groups(connection, NEW) == [SALES]

    async with one_transaction(connection):
        await update_user(connection, HOUSE, NEW, UserFields(department=None))

    assert await groups(connection, NEW) == []


async def test_a_change_keeps_other_properties(connection: Connection) -> None:
    async with one_transaction(connection):
        await update_user(connection, HOUSE, ADA, UserFields(display_name="Ada A.", mail="aa@house.example"))

    card = await find(connection, ADA)
    assert (card.display_name, card.properties) == ("Ada A.", {"department": "Sales", "givenName": "Ada"})
    assert await addresses(connection, ADA) == ["aa@house.example", "ada@house.example"]


async def test_a_changed_address_is_free_again(connection: Connection) -> None:
    both = UserFields(user_principal_name="aa@house.example", mail=None)
    async with one_transaction(connection):
        await update_user(connection, HOUSE, ADA, both)
        await create_user(
            connection, HOUSE, NEW, UserFields(display_name="Ada", user_principal_name="ada@house.example")
        )

    assert await addresses(connection, ADA) == ["aa@house.example"]


async def test_it_deletes_a_user_from_all_groups(connection: Connection) -> None:
    async with one_transaction(connection):
        await set_manager(connection, HOUSE, BEN, GIL)
        await delete_user(connection, HOUSE, GIL)
        await delete_user(connection, HOUSE, ADA)

    assert await groups(connection, ADA) == []
    assert await addresses(connection, ADA) == []
    assert await connection.fetchval("SELECT manager_id FROM directory.users WHERE id = $1", BEN) is None


async def test_it_changes_licenses(connection: Connection) -> None:
    await connection.execute("INSERT INTO directory.licenses VALUES ($1, $2, 'E3')", HOUSE, BEN)
    await connection.execute(
        "INSERT INTO directory.service_plans VALUES ($1, $2, 'TEAMS1', 'E3', 'Success')", HOUSE, BEN
    )
    async with one_transaction(connection):
        await change_licenses(connection, HOUSE, ADA, added=[License("E3")], removed=[])
        await change_licenses(connection, HOUSE, BEN, added=[], removed=["E3"])
    assert ((await find(connection, ADA)).has_team_license, (await find(connection, BEN)).has_team_license) == (
        True,
        False,
    )

    async with one_transaction(connection):
        await change_licenses(connection, HOUSE, ADA, added=[License("E3", ["TEAMS1"])], removed=[])

    assert not (await find(connection, ADA)).has_team_license


@pytest.mark.parametrize(
    ("fields", "code", "target"),
    [
        (UserFields(display_name="Eve"), "valueMissing", "userPrincipalName"),
        (UserFields(user_principal_name="eve@house.example"), "valueMissing", "displayName"),
        (UserFields(display_name="Eve", user_principal_name="BEN@house.example"), "valueTaken", "userPrincipalName"),
        (UserFields(display_name="Eve", user_principal_name="eve@house.example", mail="all-staff@house.example"),
         "valueTaken", "mail"),
    ],
)  # fmt: skip
async def test_it_refuses_an_impossible_user(
    connection: Connection, fields: UserFields, code: str, target: str
) -> None:
    with pytest.raises(WriteRefused) as refusal:
        async with one_transaction(connection):
            await create_user(connection, HOUSE, NEW, fields)

    assert (refusal.value.code, refusal.value.target) == (code, target)
    assert await addresses(connection, NEW) == []


@pytest.mark.parametrize("tenant_id", [HOUSE, OTHER_HOUSE])
async def test_it_finds_only_users_of_the_tenant(connection: Connection, tenant_id: UUID) -> None:
    unknown = ZOE if tenant_id == HOUSE else ADA

    async def writes() -> None:
        async with one_transaction(connection):
            await update_user(connection, tenant_id, unknown, UserFields(display_name="X"))

    with pytest.raises(WriteRefused) as refusal:
        await writes()
    assert refusal.value.code == "objectUnknown"
    with pytest.raises(WriteRefused):
        async with one_transaction(connection):
            await delete_user(connection, tenant_id, unknown)
    with pytest.raises(WriteRefused):
        async with one_transaction(connection):
            await set_manager(connection, HOUSE, ADA, ZOE)


async def find(connection: Connection, user_id: UUID) -> Card:
    found = await Register(cast("Pool", connection)).look_up({HOUSE: Question(users={user_id})})
    [card] = found[HOUSE].people
    return card


async def addresses(connection: Connection, holder: UUID) -> list[str]:
    statement = "SELECT address FROM directory.addresses WHERE holder_id = $1 ORDER BY 1"
    return [row[0] for row in await connection.fetch(statement, holder)]


async def groups(connection: Connection, user_id: UUID) -> list[UUID]:
    statement = "SELECT group_id FROM directory.memberships WHERE member_id = $1 ORDER BY 1"
    return [row[0] for row in await connection.fetch(statement, user_id)]
