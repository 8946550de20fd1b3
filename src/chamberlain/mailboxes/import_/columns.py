# SPDX-License-Identifier: Apache-2.0
"""Columns of mailboxes in a CSV file, and their cells."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

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
    object_in,
    parts_of,
    put_metadata,
    put_property,
    read_bodies,
    unknown_column,
)
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.directory.mailboxes import PermissionLevel
from chamberlain.mailboxes.wire import MAILBOX, MailboxBody

PROPERTIES: Mapping[str, Kind] = MappingProxyType(dict(columns_of(inspect.type_info(MailboxBody))))
_PERMISSIONS = "permissions"
_LEVELS = tuple(PermissionLevel)


def column_fault(name: str) -> str | None:
    """Why there is no such column."""
    if name in PROPERTIES or name in {TEMPLATE, _PERMISSIONS}:
        return None
    if name.startswith(METADATA):
        return metadata_fault(name)
    if name.startswith(f"{_PERMISSIONS}."):
        _, _, rest = name.partition(".")
        if rest in _LEVELS or WRITTEN_ID.fullmatch(rest):
            return None
        return f"Write permissions.<id of a user>, or permissions. and one of {', '.join(_LEVELS)}."
    return unknown_column("A mailbox", name, [*PROPERTIES, TEMPLATE, _PERMISSIONS])


def put_cell(body: dict[str, object], column: str, cell: str) -> None:
    """Parse a cell into a body. Raises CellFault."""
    if column == _PERMISSIONS or column.startswith(f"{_PERMISSIONS}."):
        _put_permissions(body, column, cell)
    elif column.startswith(METADATA):
        put_metadata(body, column, cell)
    else:
        put_property(body, column, PROPERTIES[column], cell)


def _put_permissions(body: dict[str, object], column: str, cell: str) -> None:
    permissions = object_in(body, _PERMISSIONS)
    for user, level in _granted(column.removeprefix(_PERMISSIONS).removeprefix("."), cell):
        if WRITTEN_ID.fullmatch(user) is None:
            raise CellFault(f"{user!r} is no id of a user. The directory shows it; it is a UUID.")
        if level not in _LEVELS:
            raise CellFault(f"{level!r} is no permission. Write one of {', '.join(_LEVELS)}.")
        if user.lower() in permissions:
            raise CellFault(f"User {user} has a permission already. Name each user once in a row.")
        permissions[user.lower()] = str(level)


def _granted(rest: str, cell: str) -> Iterator[tuple[str, str]]:
    """Yield users and their levels from a cell of `permissions`.

    `rest` is the rest of the column's name.
    """
    if not rest:
        for pair in parts_of(cell):
            user, sign, level = pair.partition("=")
            if not sign:
                raise CellFault(f"{pair!r} is not understood. Write <id of a user>=FullAccess, with ; between them.")
            yield user.strip(), level.strip()
    elif rest in _LEVELS:
        for user in parts_of(cell):
            yield user, rest
    else:
        yield rest, cell.strip()


def read_rows(table: Table) -> tuple[Sequence[BodyRow], Sequence[FileFault]]:
    """Return the valid rows, and all faults of file and rows."""
    return read_bodies(table, _COLUMNS)


def column_of(pointer: str, columns: Mapping[str, object]) -> str:
    """The column that a place in the body comes from (RFC 6901)."""
    if pointer.startswith("/permissions") and pointer.count("/") > 1:
        exact = column_of_property(pointer, columns)
        if exact in columns:
            return exact
    if pointer.startswith("/permissions"):
        return next((name for name in columns if name.startswith(_PERMISSIONS)), _PERMISSIONS)
    return column_of_property(pointer, columns)


def _unique(body: Mapping[str, object]) -> tuple[object, str, str] | None:
    if "name" not in body:
        return None
    # As the service compares names.
    key = unicodedata.normalize("NFKC", str(body["name"])).casefold()
    return key, "name", "The mailbox of line {} has this name too. Names are given once."


_COLUMNS = BodyColumns("mailbox", ("name", "displayName"), MAILBOX.read, column_fault, put_cell, column_of, _unique)
