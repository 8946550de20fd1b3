# SPDX-License-Identifier: Apache-2.0
"""Changed and deleted mailboxes since a cursor, independent of the writer and the order of commits."""

from dataclasses import replace
from uuid import uuid4

import pytest

from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.entries import Mark
from chamberlain.embedded.directory.errors import CursorUnknown
from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.mailboxes import Mailboxes
from tests.databases import Databases
from tests.embedded.directory.mailboxes import CART, ENTRIES, HELP, OTHER_ROOM, ROOM
from tests.embedded.directory.sample_data import ADA, HOUSE, OTHER_HOUSE, SECTION

NAMES = ["house_mailbox", "former_mailbox"]
GRANT = """
INSERT INTO directory.mailbox_permissions
SELECT tenant_id, user_id, '{ada}', 'SendAs', false FROM directory.mailboxes WHERE user_id = '{cart}'
"""
MARK = """
UPDATE directory.mailboxes SET extensions = '{{"former_mailbox": {{"requestId": "CART-2"}}}}' WHERE user_id = '{cart}'
"""
# One after the other, with the marks that each reports.
CHANGES: tuple[tuple[str, list[str]], ...] = (
    ("UPDATE directory.mailboxes SET is_hidden = false WHERE user_id = '{help}'", ["HELP-1"]),
    ("UPDATE directory.users SET display_name = 'Attic' WHERE id = '{room}'", ["ROOM-1"]),
    ("UPDATE directory.users SET properties = '{{}}' WHERE id IN ('{room}', '{help}')", ["HELP-1", "ROOM-1"]),
    (GRANT, ["CART-1"]),
    ("UPDATE directory.mailbox_permissions SET auto_mapping = false WHERE auto_mapping", ["HELP-1"]),
    ("DELETE FROM directory.mailbox_permissions WHERE mailbox_id = '{cart}'", ["CART-1"]),
    # The mark goes, and another one comes.
    ("UPDATE directory.mailboxes SET extensions = '{{}}' WHERE user_id = '{cart}'", ["CART-1"]),
    (MARK, ["CART-2"]),
    ("DELETE FROM directory.users WHERE id = '{room}'", ["ROOM-1"]),
    ("DELETE FROM directory.mailboxes WHERE user_id IN ('{room}', '{cart}')", ["CART-2", "ROOM-1"]),
    # These change no mailbox of the tenant.
    ("UPDATE directory.mailboxes SET is_hidden = true WHERE user_id = '{other}'", []),
    ("UPDATE directory.users SET display_name = 'Ada A.' WHERE id = '{ada}'", []),
    ("UPDATE directory.users SET display_name = display_name", []),
)  # fmt: skip


@pytest.fixture
async def changes(databases: Databases) -> Changes:
    await load(databases.worker.pool, SECTION)
    await Mailboxes(databases.worker.pool, key_member="requestId").ensure(ENTRIES)
    return Changes(databases.worker.pool)


async def begin(changes: Changes) -> str:
    return (await changes.read_mailboxes(HOUSE, NAMES, None, key_member="requestId", most=10)).cursor


async def read_changes(changes: Changes, cursor: str) -> tuple[list[str], str]:
    page = await changes.read_mailboxes(HOUSE, NAMES, cursor, key_member="requestId", most=10)
    assert page.is_complete
    return sorted(page.marks), page.cursor


async def test_it_works(changes: Changes, databases: Databases) -> None:
    cursor = await begin(changes)
    for statement, marks in CHANGES:
        await databases.worker.pool.execute(
            statement.format(help=HELP, room=ROOM, cart=CART, other=OTHER_ROOM, ada=ADA)
        )

        found, cursor = await read_changes(changes, cursor)

        assert found == marks, statement
        assert (await read_changes(changes, cursor))[0] == []


async def test_creation_is_no_change(changes: Changes, databases: Databases) -> None:
    cursor = await begin(changes)
    new = replace(
        ENTRIES[0], mark=Mark(HOUSE, "house_mailbox", "NEW"), id=uuid4(), mail="new@house.example", aliases=()
    )

    await Mailboxes(databases.worker.pool, key_member="requestId").ensure([new])

    assert new.permissions
    assert (await read_changes(changes, cursor))[0] == []


async def test_it_includes_changes_that_commit_late(changes: Changes, databases: Databases) -> None:
    """The first transaction commits last, after a read."""
    change = "UPDATE directory.mailboxes SET is_hidden = NOT is_hidden WHERE user_id = $1"
    cursor = await begin(changes)
    async with databases.worker.pool.acquire() as early:
        first = early.transaction()
        await first.start()
        await early.execute(change, HELP)
        await databases.worker.pool.execute(change, ROOM)

        seen, cursor = await read_changes(changes, cursor)
        await first.commit()

    found, cursor = await read_changes(changes, cursor)
    assert (seen, found) == (["ROOM-1"], ["HELP-1"])


async def test_pages_are_complete(changes: Changes, databases: Databases) -> None:
    cursor, found = await begin(changes), list[str]()
    await databases.worker.pool.execute("UPDATE directory.mailboxes SET is_hidden = NOT is_hidden")

    is_complete = False
    while not is_complete:
        page = await changes.read_mailboxes(HOUSE, NAMES, cursor, key_member="requestId", most=1)
        found, cursor, is_complete = [*found, *page.marks], page.cursor, page.is_complete

    assert sorted(found) == ["CART-1", "HELP-1", "ROOM-1"]
    with pytest.raises(CursorUnknown):
        await changes.read_mailboxes(OTHER_HOUSE, NAMES, cursor, key_member="requestId", most=1)
