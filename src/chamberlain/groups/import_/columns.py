# SPDX-License-Identifier: Apache-2.0
"""Columns of groups in a CSV file, and their cells."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import msgspec
from msgspec import inspect

from chamberlain.cli.import_.table import (
    METADATA,
    TEMPLATE,
    BodyColumns,
    BodyRow,
    CellFault,
    FileFault,
    Kind,
    Table,
    column_of_property,
    columns_of,
    metadata_fault,
    parts_of,
    put_metadata,
    put_property,
    read_bodies,
    unknown_column,
)
from chamberlain.groups.wire import GROUP, GroupBody

MEMBERSHIP = "memberShipType"
# Numbers of the API.
MEMBERSHIPS = {"private": 0, "public": 1, "dynamic": 2}
PROPERTIES: Mapping[str, Kind] = MappingProxyType(dict(columns_of(inspect.type_info(GroupBody))))
_USERS = ("owners", "members")

# The ids of the users with an address.
FindUsers = Callable[[str], Sequence[str]]


def addresses_in(table: Table) -> Sequence[str]:
    """List the mail addresses of owners and members, each once."""
    cells = (row.cells.get(name, "") for row in table.rows for name in _USERS)
    return list(dict.fromkeys(part for cell in cells for part in parts_of(cell) if "@" in part))


def column_fault(name: str) -> str | None:
    """Why there is no such column."""
    if name in PROPERTIES or name in {TEMPLATE, MEMBERSHIP}:
        return None
    if name.startswith(METADATA):
        return metadata_fault(name)
    return unknown_column("A group", name, [*PROPERTIES, TEMPLATE, MEMBERSHIP])


def read_rows(table: Table, find_users: FindUsers) -> tuple[Sequence[BodyRow], Sequence[FileFault]]:
    """Return the valid rows, and all faults of file and rows."""
    columns = BodyColumns(
        "group",
        ("displayName",),
        GROUP.read,
        column_fault,
        partial(_put_cell, find_users),
        column_of_property,
        _unique,
    )
    return read_bodies(table, columns)


def _put_cell(find_users: FindUsers, body: dict[str, object], column: str, cell: str) -> None:
    if column in _USERS:
        body[column] = [_user(find_users, part) for part in parts_of(cell)]
    elif column == MEMBERSHIP:
        body[column] = _membership(cell)
    elif column.startswith(METADATA):
        put_metadata(body, column, cell)
    else:
        put_property(body, column, PROPERTIES[column], cell)


def _user(find_users: FindUsers, written: str) -> str:
    if "@" not in written:
        return written
    ids = find_users(written)
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise CellFault(f"{written} is the address of several users. Write the id of one: {', '.join(ids)}.")
    raise CellFault(f"There is no user {written}. Correct the address, or write the id of the user.")


def _membership(cell: str) -> int:
    word = cell.strip().lower()
    found = MEMBERSHIPS.get(word, int(word) if word in {"0", "1", "2"} else None)
    if found is None:
        raise CellFault(f"{cell!r} is no type of membership. Write one of {', '.join(MEMBERSHIPS)}.")
    return found


def _unique(body: Mapping[str, object]) -> tuple[object, str, str] | None:
    if "displayName" not in body:
        return None
    # Groups may have the same name, but two equal rows would have the same key and make one group.
    return msgspec.json.encode(body, order="sorted"), "displayName", "This is the same group as in line {}. Remove one."
