# SPDX-License-Identifier: Apache-2.0
"""Writes of groups and teams, called directly."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.database import Connection, Queryable, one_transaction
from chamberlain.embedded.directory.errors import WriteRefused
from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.writes.groups import (
    Extensions,
    GroupChange,
    NewGroup,
    Relation,
    add_references,
    create_group,
    delete_group,
    remove_members,
    remove_reference,
    update_group,
    upsert_group,
)
from chamberlain.embedded.directory.writes.teams import create_channel, create_team
from tests.databases import Databases
from tests.embedded.directory.sample_data import (
    ADA,
    BEN,
    CLEO,
    CREW,
    HANDBOOK,
    HOUSE,
    OTHERS,
    SALES,
    SECTION,
    STAFF,
    ZOE,
)

NEW = UUID("30000000-0000-4000-8000-0000000000aa")
UNIFIED = {"group_types": ["Unified"], "mail_enabled": True, "security_enabled": False}


def new_group(**more: object) -> NewGroup:
    fields: dict[str, object] = {"id": NEW, "display_name": "Desk", "mail_nickname": "desk", **more}
    return NewGroup(**fields)  # type: ignore[arg-type]  # The tests choose the fields.


async def test_it_creates_a_group(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    cursor = await seen(databases)

    async with one_transaction(databases.worker.pool) as connection:
        mark = {"house_group": {"requestId": "ABC-9"}}
        await create_group(
            connection, HOUSE, new_group(**UNIFIED, owners=[ADA], members=[ADA, BEN], extensions=mark, unique_name="d")
        )

    row = await databases.worker.pool.fetchrow(
        "SELECT mail, visibility, unique_name FROM directory.groups WHERE id = $1", NEW
    )
    assert tuple(row or ()) == ("desk@house.example", "Public", "d")
    assert await relations(databases.worker.pool, NEW) == {ADA: (True, True), BEN: (False, True)}
    assert await marks(databases.worker.pool, NEW) == [("house_group", "requestId", "abc-9")]
    assert await changed(databases, cursor) == ([NEW], ())


async def test_a_dynamic_group_has_the_selected_members(connection: Connection) -> None:
    rule = 'user.department -eq "Finance"'
    async with one_transaction(connection):
        types = ["DynamicMembership", "Unified"]
        await create_group(connection, HOUSE, new_group(**{**UNIFIED, "group_types": types}, membership_rule=rule))
    assert await relations(connection, NEW) == {CLEO: (False, True)}

    async with one_transaction(connection):
        change = GroupChange(membership_rule='user.department -eq "Sales"')
        await update_group(connection, HOUSE, NEW, change)

    assert set(await relations(connection, NEW)) == {ADA, BEN}


async def test_a_change_merges_extension_values(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    cursor = await seen(databases)
    async with one_transaction(databases.worker.pool) as connection:
        change: Extensions = {"house_group": {"requestId": None, "policyId": "P"}, "other_group": {"x": "Y"}}
        await update_group(connection, HOUSE, STAFF, GroupChange(extensions=change, description=None))

    assert await marks(databases.worker.pool, STAFF) == [
        ("house_group", "policyId", "p"),
        ("house_group", "templateId", "t"),
        ("other_group", "x", "y"),
    ]
    assert await changed(databases, cursor) == ([STAFF], ())


async def test_it_deletes_a_group_with_everything_below_it(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    await databases.worker.pool.execute(
        "INSERT INTO directory.scim_resources VALUES ($1, $2, 'crew', '{}', now(), now())", HOUSE, CREW
    )
    cursor = await seen(databases)

    async with one_transaction(databases.worker.pool) as connection:
        await delete_group(connection, HOUSE, CREW)
        await delete_group(connection, HOUSE, STAFF)
        await delete_group(connection, HOUSE, HANDBOOK)

    for table in ("memberships", "teams", "channels", "guest_settings", "extension_values"):
        left = f"SELECT count(*) FROM directory.{table} WHERE tenant_id = $1 AND group_id = ANY ($2)"  # noqa: S608 - fixed names.
        assert await databases.worker.pool.fetchval(left, HOUSE, [CREW, STAFF, HANDBOOK]) == 0, table
    assert await databases.worker.pool.fetchval("SELECT count(*) FROM directory.scim_resources") == 0
    assert await changed(databases, cursor) == ([], (STAFF, CREW, HANDBOOK))


async def test_it_removes_one_of_two_relations(connection: Connection) -> None:
    async with one_transaction(connection):
        await add_references(connection, HOUSE, STAFF, Relation.OWNERS, [BEN])
        await remove_reference(connection, HOUSE, STAFF, Relation.OWNERS, ADA)
        await remove_reference(connection, HOUSE, STAFF, Relation.MEMBERS, BEN)

    assert await relations(connection, STAFF) == {ADA: (False, True), BEN: (True, False), CREW: (False, True)}


async def test_it_removes_several_members_and_keeps_owners(connection: Connection) -> None:
    async with one_transaction(connection):
        await add_references(connection, HOUSE, STAFF, Relation.OWNERS, [BEN])
        await remove_members(connection, HOUSE, STAFF, [ADA, BEN, CREW])

    assert await relations(connection, STAFF) == {ADA: (True, False), BEN: (True, False)}


async def test_concurrent_upserts_create_one_group(stored: Databases) -> None:
    async def upsert() -> bool:
        async with one_transaction(stored.worker.pool) as connection:
            new = new_group(**UNIFIED, id=uuid4(), unique_name="chamberlain-1", mail_nickname="once", owners=[ADA])
            return await upsert_group(connection, HOUSE, new, GroupChange(display_name="Desk", owners=[ADA, BEN]))

    made = await asyncio.gather(*(upsert() for _ in range(4)))

    assert sorted(made) == [False, False, False, True]
    [group_id] = [
        row[0]
        for row in await stored.worker.pool.fetch("SELECT id FROM directory.groups WHERE unique_name = 'chamberlain-1'")
    ]
    assert await relations(stored.worker.pool, group_id) == {ADA: (True, False), BEN: (True, False)}


async def test_a_team_needs_an_owner_and_has_a_channel(connection: Connection) -> None:
    async with one_transaction(connection):
        await create_group(connection, HOUSE, new_group(**UNIFIED, owners=[ADA]))
        await create_team(connection, HOUSE, NEW)
        await create_channel(connection, HOUSE, NEW, "Plans", None)

    rows = await connection.fetch(
        "SELECT display_name FROM directory.channels WHERE group_id = $1 ORDER BY position", NEW
    )
    assert [row[0] for row in rows] == ["General", "Plans"]


Write = Callable[[Connection], Awaitable[object]]
ALL_REFUSED: dict[str, list[Write]] = {
    "valueTaken": [
        lambda c: create_group(c, HOUSE, new_group(**UNIFIED, mail_nickname="All-Staff")),
        lambda c: update_group(c, HOUSE, STAFF, GroupChange(mail_nickname="ada")),
        lambda c: create_channel(c, HOUSE, CREW, "general", None),
    ],
    "notSupported": [lambda c: create_group(c, HOUSE, new_group(mail_enabled=True))],
    "valueInvalid": [
        lambda c: create_group(c, HOUSE, new_group(security_enabled=False)),
        lambda c: create_group(c, HOUSE, new_group(membership_rule="x")),
        lambda c: create_group(c, HOUSE, new_group(group_types=["DynamicMembership"], membership_rule="x")),
        lambda c: create_group(c, HOUSE, new_group(label_id="secret")),
        lambda c: create_group(c, HOUSE, new_group(owners=[CREW])),
        lambda c: create_group(c, HOUSE, new_group(**UNIFIED, members=[CREW])),
        lambda c: add_references(c, HOUSE, HANDBOOK, Relation.MEMBERS, [HANDBOOK]),
        lambda c: create_team(c, HOUSE, HANDBOOK),
    ],
    "objectUnknown": [
        lambda c: create_group(c, HOUSE, new_group(members=[ZOE])),
        lambda c: update_group(c, HOUSE, OTHERS, GroupChange(display_name="X")),
        lambda c: add_references(c, HOUSE, STAFF, Relation.MEMBERS, [OTHERS]),
        lambda c: remove_reference(c, HOUSE, OTHERS, Relation.MEMBERS, ZOE),
        lambda c: delete_group(c, HOUSE, OTHERS),
    ],
    "alreadyReferenced": [lambda c: add_references(c, HOUSE, STAFF, Relation.MEMBERS, [CLEO, BEN])],
    "notReferenced": [
        lambda c: remove_reference(c, HOUSE, STAFF, Relation.MEMBERS, CLEO),
        lambda c: remove_members(c, HOUSE, STAFF, [ADA, CLEO]),
    ],
    "lastOwner": [lambda c: remove_reference(c, HOUSE, STAFF, Relation.OWNERS, ADA)],
    "isDynamic": [
        lambda c: add_references(c, HOUSE, SALES, Relation.MEMBERS, [CLEO]),
        lambda c: remove_reference(c, HOUSE, SALES, Relation.MEMBERS, ADA),
    ],
    "alreadyExists": [lambda c: create_team(c, HOUSE, CREW)],
    "teamUnknown": [lambda c: create_channel(c, HOUSE, STAFF, "Plans", None)],
}  # fmt: skip


@pytest.mark.parametrize("code", ALL_REFUSED)
async def test_it_refuses_an_impossible_write(connection: Connection, code: str) -> None:
    await connection.execute("UPDATE directory.memberships SET is_owner = true WHERE group_id = $1", CREW)

    for write in ALL_REFUSED[code]:
        with pytest.raises(WriteRefused) as refusal:
            async with one_transaction(connection):
                await write(connection)
        assert refusal.value.code == code


async def test_a_unique_name_is_set_once_and_unique(connection: Connection) -> None:
    async def name(group_id: UUID, unique_name: str) -> str | None:
        try:
            async with one_transaction(connection):
                await update_group(connection, HOUSE, group_id, GroupChange(unique_name=unique_name))
        except WriteRefused as refusal:
            return refusal.code
        return None

    assert [await name(STAFF, "a"), await name(STAFF, "a"), await name(STAFF, "b"), await name(CREW, "a")] == [
        None,
        None,
        "notChangeable",
        "valueTaken",
    ]


async def seen(databases: Databases) -> str:
    return (await Changes(databases.worker.pool).read(HOUSE, "house_group", None, most=100)).cursor


async def changed(databases: Databases, cursor: str) -> tuple[list[UUID], tuple[UUID, ...]]:
    page = await Changes(databases.worker.pool).read(HOUSE, "house_group", cursor, most=100)
    return [subject.id for subject in page.subjects], page.removed


async def relations(database: Queryable, group_id: UUID) -> dict[UUID, tuple[bool, bool]]:
    rows = await database.fetch(
        "SELECT member_id, is_owner, is_member FROM directory.memberships WHERE group_id = $1", group_id
    )
    return {row[0]: (row[1], row[2]) for row in rows}


async def marks(database: Queryable, group_id: UUID) -> list[tuple[str, ...]]:
    statement = "SELECT name, member, value FROM directory.extension_values WHERE group_id = $1 ORDER BY 1, 2"
    return [tuple(row) for row in await database.fetch(statement, group_id)]
