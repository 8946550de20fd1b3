# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.directory.mailboxes import PermissionLevel
from chamberlain.directory.opensuite.doveadm import (
    FULL_RIGHTS,
    INBOX,
    Folder,
    delete_rights,
    parse_folder,
    set_rights,
)
from chamberlain.directory.opensuite.rights import Folders, permission_level, rights_commands

pytestmark = pytest.mark.pure

QUAY = "quay@estate.example"
FULL = frozenset(FULL_RIGHTS)
READ = frozenset({"lookup", "read"})


def folder(**rights: frozenset[str]) -> Folder:
    return Folder(rights, has_entries=bool(rights))


INHERITING = folder()


def test_it_works() -> None:
    assert rights_commands(QUAY, {}, granted=["ada"], revoked=[]) == [set_rights(QUAY, INBOX, "ada")]


def test_nothing_is_done_again() -> None:
    folders = {INBOX: folder(ada=FULL), "Ships": folder(ada=FULL), "Ships/Old": INHERITING}

    assert rights_commands(QUAY, folders, granted=["ada"], revoked=["ben"]) == []


def test_a_right_is_revoked_in_every_folder_parents_first() -> None:
    folders = {name: folder(ada=FULL, ben=FULL) for name in ("A/B", "Z", "A", INBOX, "A/B/C")}

    commands = rights_commands(QUAY, folders, granted=["ada"], revoked=["ben"])

    assert commands == [delete_rights(QUAY, name, "ben") for name in (INBOX, "A", "A/B", "A/B/C", "Z")]


def test_only_folders_with_entries_get_entries() -> None:
    # An entry in Inheriting would take the rights of INBOX from Ada there.
    folders = {INBOX: folder(ada=FULL), "Own": folder(ada=FULL), "Inheriting": INHERITING}

    commands = rights_commands(QUAY, folders, granted=["ada", "ben"], revoked=[])

    assert commands == [set_rights(QUAY, INBOX, "ben"), set_rights(QUAY, "Own", "ben")]


def test_incomplete_rights_are_completed() -> None:
    folders = {INBOX: folder(ada=FULL), "Ships": folder(ada=READ)}

    assert rights_commands(QUAY, folders, granted=["ada"], revoked=[]) == [set_rights(QUAY, "Ships", "ada")]


def test_more_rights_than_full_access_stay() -> None:
    folders = {INBOX: folder(ada=FULL | {"admin"})}

    assert rights_commands(QUAY, folders, granted=["ada"], revoked=[]) == []


FULL_ACCESS, SEND_AS, NONE = PermissionLevel.FULL_ACCESS, PermissionLevel.SEND_AS, PermissionLevel.NONE


@pytest.mark.parametrize(
    ("folders", "may_send", "is_recorded", "expected"),
    [
        ({}, False, False, None),
        ({}, True, False, SEND_AS),
        ({INBOX: folder(ada=FULL)}, False, True, FULL_ACCESS),
        # Granted by hand.
        ({INBOX: folder(ada=FULL)}, False, False, FULL_ACCESS),
        ({INBOX: folder(ada=FULL)}, True, True, FULL_ACCESS),
        ({INBOX: folder(ada=FULL), "Ships": INHERITING}, False, True, FULL_ACCESS),
        # A folder has entries, but not of Ada.
        ({INBOX: folder(ada=FULL), "Ships": folder(ben=FULL)}, False, True, NONE),
        ({INBOX: folder(ada=READ)}, False, True, NONE),
        # Recorded, and removed by hand.
        ({INBOX: INHERITING}, False, True, NONE),
        # A revocation has not reached all folders.
        ({INBOX: INHERITING, "Ships": folder(ada=FULL)}, False, False, NONE),
        ({INBOX: INHERITING, "Ships": folder(ada=FULL)}, True, False, NONE),
        ({INBOX: folder(ada=frozenset())}, True, False, SEND_AS),
    ],
)
def test_levels(folders: Folders, may_send: bool, is_recorded: bool, expected: PermissionLevel | None) -> None:  # noqa: FBT001 - a table of cases.
    assert permission_level(folders, "ada", may_send=may_send, is_recorded=is_recorded) is expected


def test_rows_of_the_server_are_parsed() -> None:
    rows = [
        {"id": "user=ada", "global": "", "rights": "lookup read"},
        {"id": "group=harbour", "global": "", "rights": "lookup"},
        {"id": "user=cleo", "global": "global", "rights": "lookup"},
        {"id": "anyone", "global": "", "rights": ""},
    ]

    assert parse_folder(rows) == Folder({"ada": READ}, has_entries=True)
    assert parse_folder([{"id": "group=harbour", "global": "", "rights": "lookup"}]) == Folder({}, has_entries=True)
    assert parse_folder(rows[2:3]) == parse_folder([]) == INHERITING
