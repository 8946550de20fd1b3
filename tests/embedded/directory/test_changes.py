# SPDX-License-Identifier: Apache-2.0
"""Changed groups since a cursor, independent of the writer and the order of commits."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from chamberlain.embedded.directory.changes import Changes, ChangesShown
from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.errors import CursorUnknown
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.sample_data import (
    ADA,
    BEN,
    CREW,
    GIL,
    HANDBOOK,
    HOUSE,
    OTHER_HOUSE,
    OTHERS,
    SALES,
    SECTION,
    STAFF,
)

NAME = "house_group"
OF_HOUSE = [STAFF, SALES, CREW, HANDBOOK]


@pytest.fixture
async def changes(databases: Databases) -> Changes:
    await load(databases.worker.pool, SECTION)
    # A guest among the staff, to change.
    await databases.worker.pool.execute(
        "INSERT INTO directory.memberships VALUES ($1, $2, $3, false, true, false)", HOUSE, STAFF, GIL
    )
    return Changes(databases.worker.pool)


async def begin(changes: Changes) -> str:
    return (await changes.read(HOUSE, NAME, None, most=100)).cursor


async def read_changes(changes: Changes, cursor: str) -> tuple[list[UUID], Sequence[UUID], str]:
    page = await changes.read(HOUSE, NAME, cursor, most=100)
    assert page.is_complete
    return [subject.id for subject in page.subjects], page.removed, page.cursor


async def test_it_works(changes: Changes) -> None:
    page = await changes.read(HOUSE, NAME, None, most=100)

    assert [subject.id for subject in page.subjects] == OF_HOUSE
    assert (page.removed, page.is_complete) == ((), True)
    assert (await read_changes(changes, page.cursor))[:2] == ([], ())


@pytest.mark.parametrize(
    ("statement", "ids"),
    [
        ("UPDATE directory.groups SET display_name = 'Hands' WHERE id = $1", [CREW]),
        ("INSERT INTO directory.memberships VALUES ('{house}', $1, '{gil}', false, true, false)", [CREW]),
        ("UPDATE directory.memberships SET is_owner = true WHERE group_id = $1", [STAFF]),
        ("DELETE FROM directory.memberships WHERE group_id = $1", [STAFF]),
        ("INSERT INTO directory.teams VALUES ('{house}', $1, now())", [SALES]),
        ("DELETE FROM directory.teams WHERE group_id = $1", [CREW]),
        ("UPDATE directory.sites SET sharing_capability = '{sharing}' WHERE security_group_id = $1", [HANDBOOK]),
        ("DELETE FROM directory.sites WHERE security_group_id = $1", [HANDBOOK]),
        ("INSERT INTO directory.sites VALUES ('{house}', $1, 'Deck', 'https://sites.house.example/deck', 'disabled')",
         [CREW]),
        ("INSERT INTO directory.guest_settings VALUES ('{house}', $1, false, 'owners', '{{}}', '{{}}')", [CREW]),
        ("UPDATE directory.users SET display_name = 'Gil H.' WHERE id = '{gil}' AND $1::uuid IS NOT NULL", [STAFF]),
        ("UPDATE directory.users SET user_type = 'Member' WHERE id = '{gil}' AND $1::uuid IS NOT NULL", [STAFF]),
        ("UPDATE directory.users SET user_type = 'Guest' WHERE id = '{ben}' AND $1::uuid IS NOT NULL", [SALES, STAFF]),
        ("DELETE FROM directory.users WHERE id = '{gil}' AND $1::uuid IS NOT NULL", [STAFF]),
    ],
)  # fmt: skip
async def test_it_reports_every_kind_of_change(
    changes: Changes, databases: Databases, statement: str, ids: list[UUID]
) -> None:
    cursor = await begin(changes)
    written = statement.format(house=HOUSE, gil=GIL, ben=BEN, sharing="externalUserSharingOnly")

    await databases.worker.pool.execute(written, ids[0])
    found, removed, cursor = await read_changes(changes, cursor)

    assert (sorted(found), removed) == (sorted(ids), ())
    assert (await read_changes(changes, cursor))[:2] == ([], ())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE directory.users SET display_name = 'Ada A.' WHERE id = '{ada}'",
        "UPDATE directory.users SET properties = '{{}}' WHERE id = '{gil}'",
        "UPDATE directory.users SET display_name = display_name",
        "UPDATE directory.groups SET display_name = 'Everybody' WHERE id = '{others}'",
        "DELETE FROM directory.groups WHERE id = '{others}'",
        "UPDATE directory.memberships SET is_owner = true WHERE member_id = '{house}'",
    ],
)
async def test_it_ignores_invisible_changes(changes: Changes, databases: Databases, statement: str) -> None:
    cursor = await begin(changes)

    await databases.worker.pool.execute(statement.format(ada=ADA, gil=GIL, others=OTHERS, house=HOUSE))

    assert (await read_changes(changes, cursor))[:2] == ([], ())


async def test_it_includes_changes_that_commit_late(changes: Changes, databases: Databases) -> None:
    """The first transaction commits last, after a read."""
    cursor = await begin(changes)
    async with databases.worker.pool.acquire() as early, databases.worker.pool.acquire() as late:
        first, second = early.transaction(), late.transaction()
        await first.start()
        await early.execute("UPDATE directory.groups SET description = 'early' WHERE id = $1", STAFF)
        await early.execute("DELETE FROM directory.groups WHERE id = $1", SALES)
        await second.start()
        await late.execute("UPDATE directory.groups SET description = 'late' WHERE id = $1", CREW)
        await second.commit()

        seen, removed, cursor = await read_changes(changes, cursor)
        assert (seen, removed) == ([CREW], ())
        assert (await read_changes(changes, cursor))[:2] == ([], ())
        await first.commit()

    found, gone, cursor = await read_changes(changes, cursor)
    assert (found, gone) == ([STAFF], (SALES,))
    assert (await read_changes(changes, cursor))[:2] == ([], ())


async def test_it_includes_changes_that_waited_for_a_lock(changes: Changes, databases: Databases) -> None:
    """A transaction can change a group after another one with a higher id."""
    cursor = await begin(changes)
    async with databases.worker.pool.acquire() as older:
        waiting = older.transaction()
        await waiting.start()
        await older.execute("UPDATE directory.groups SET description = 'x' WHERE id = $1", CREW)
        await databases.worker.pool.execute("UPDATE directory.groups SET description = 'y' WHERE id = $1", STAFF)

        seen, _, cursor = await read_changes(changes, cursor)
        await older.execute("UPDATE directory.groups SET description = 'z' WHERE id = $1", STAFF)
        await waiting.commit()

    found, _, cursor = await read_changes(changes, cursor)
    assert (seen, sorted(found)) == ([STAFF], sorted([CREW, STAFF]))


async def test_it_ignores_rolled_back_changes(changes: Changes, databases: Databases) -> None:
    cursor = await begin(changes)
    async with databases.worker.pool.acquire() as connection:
        attempt = connection.transaction()
        await attempt.start()
        await connection.execute("UPDATE directory.groups SET description = 'x' WHERE id = $1", STAFF)
        await connection.execute("DELETE FROM directory.groups WHERE id = $1", CREW)
        await attempt.rollback()

    assert (await read_changes(changes, cursor))[:2] == ([], ())


async def test_it_does_not_wait_for_long_transactions(changes: Changes, databases: Databases) -> None:
    cursor = await begin(changes)
    async with databases.worker.pool.acquire() as connection, connection.transaction():
        await connection.execute("UPDATE directory.groups SET description = 'x' WHERE id = $1", STAFF)

        await databases.worker.pool.execute("UPDATE directory.groups SET description = 'y' WHERE id = $1", CREW)

        assert (await read_changes(changes, cursor))[0] == [CREW]


async def test_it_pages_without_duplicates(changes: Changes, databases: Databases) -> None:
    cursor = await begin(changes)
    await databases.worker.pool.execute("UPDATE directory.groups SET description = 'x' WHERE tenant_id = $1", HOUSE)
    await databases.worker.pool.execute("DELETE FROM directory.groups WHERE id = $1", CREW)

    pages: list[ChangesShown] = []
    while not pages or not pages[-1].is_complete:
        pages.append(await changes.read(HOUSE, NAME, cursor, most=1))
        cursor = pages[-1].cursor
        # Changes between two pages are in later pages.
        await databases.worker.pool.execute("UPDATE directory.groups SET description = 'y' WHERE id = $1", STAFF)
        assert len(pages) < 9

    found = [subject.id for page in pages for subject in page.subjects]
    assert [len(page.subjects) + len(page.removed) for page in pages] == [1] * len(pages)
    assert sorted({*found, *(await read_changes(changes, cursor))[0]}) == sorted([STAFF, SALES, HANDBOOK])
    assert [gone for page in pages for gone in page.removed] == [CREW]


async def test_it_reports_a_recreated_group(changes: Changes, databases: Databases) -> None:
    cursor = await begin(changes)
    await databases.worker.pool.execute("DELETE FROM directory.groups WHERE id = $1", CREW)
    await databases.worker.pool.execute("DELETE FROM directory.channels WHERE group_id = $1", CREW)
    await databases.worker.pool.execute("DELETE FROM directory.memberships WHERE group_id = $1", CREW)
    await databases.worker.pool.execute("DELETE FROM directory.teams WHERE group_id = $1", CREW)

    await load(databases.worker.pool, SECTION)

    assert (await read_changes(changes, cursor))[:2] == ([CREW], ())


@pytest.mark.parametrize("part", ["database", "since", "tenant"])
async def test_it_rejects_a_cursor_of_another_database(changes: Changes, part: str) -> None:
    cursor = await begin(changes)
    own = cursor.partition(f'"{part}":"')[2].partition('"')[0]
    other = {"database": "1", "since": "nothing", "tenant": str(OTHER_HOUSE)}[part]

    with pytest.raises(CursorUnknown):
        await changes.read(HOUSE, NAME, cursor.replace(f'"{part}":"{own}"', f'"{part}":"{other}"'), most=10)


async def test_row_level_security_applies(changes: Changes, databases: Databases) -> None:
    cursor = await begin(changes)
    await databases.worker.pool.execute("DELETE FROM directory.groups WHERE id = $1", OTHERS)

    async with databases.application.pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(OTHER_HOUSE))
        assert await removed_ids(connection) == {OTHERS}
        await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(HOUSE))
        assert await removed_ids(connection) == set()
    assert (await read_changes(changes, cursor))[:2] == ([], ())


async def removed_ids(connection: Connection) -> set[UUID]:
    return {row[0] for row in await connection.fetch("SELECT id FROM directory.removed_groups")}
