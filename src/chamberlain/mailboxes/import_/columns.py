"""Columns: which there may be, and what a cell of each says."""

import difflib
import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from types import MappingProxyType

from chamberlain.core.ids import WRITTEN_ID
from chamberlain.directory.mailboxes import PermissionLevel


class Kind(Enum):
    """How the cells of a column are written."""

    TEXT = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    LIST = auto()


_TEXTS = (
    "name displayName templateId state streetAddress officeLocation companyName postalCode city country phone "
    "department domain audioDeviceName displayDeviceName videoDeviceName primaryOwner secondaryOwner automaticReply "
    "notes reason alias"
)
_BOOLEANS = (
    "isAllowAutomaticReplyOverride isWheelChairAccessible hideFromGAL autoMapping "
    "roomMailboxMetadata.hasConferencePhone roomMailboxMetadata.hasWhiteboard roomMailboxMetadata.hasVideoConferencing"
)
# The properties of the API's body that are neither objects with keys of one's own nor permissions.
PROPERTIES: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(_TEXTS.split(), Kind.TEXT),
        **dict.fromkeys(_BOOLEANS.split(), Kind.BOOLEAN),
        "capacity": Kind.NUMBER,
        "businessPhones": Kind.LIST,
        "tags": Kind.LIST,
    }
)
# A column of ours: a template by its name or its id.
TEMPLATE = "template"
_PERMISSIONS, _METADATA = "permissions", "metadata."
_LEVELS = tuple(PermissionLevel)
_BOOLEAN_WORDS = {"true": True, "false": False}


class CellFault(Exception):
    """A cell that cannot be understood; the message says what is expected."""


def column_fault(name: str) -> str | None:
    """Why there is no such column."""
    if name in PROPERTIES or name in {TEMPLATE, _PERMISSIONS}:
        return None
    if name.startswith(_METADATA):
        return None if name != _METADATA else "The key is missing: write metadata.<key>."
    if name.startswith(f"{_PERMISSIONS}."):
        _, _, rest = name.partition(".")
        if rest in _LEVELS or WRITTEN_ID.fullmatch(rest):
            return None
        return f"Write permissions.<id of a user>, or permissions. and one of {', '.join(_LEVELS)}."
    known = [*PROPERTIES, TEMPLATE, _PERMISSIONS]
    # Letter case is the most frequent mistake, and weighs too much in a comparison.
    folded = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(name.casefold(), folded, n=1)
    cure = f"Did you mean {folded[nearest[0]]}?" if nearest else "Rename or remove it."
    return f"A mailbox has no such property. {cure}"


def put_cell(body: dict[str, object], column: str, cell: str) -> None:
    """Put what a cell says into a body. Raises CellFault."""
    if column == _PERMISSIONS or column.startswith(f"{_PERMISSIONS}."):
        _put_permissions(body, column, cell)
        return
    if column.startswith(_METADATA):
        _object(body, "metadata")[column.removeprefix(_METADATA)] = _BOOLEAN_WORDS.get(cell, cell)
        return
    outer, _, inner = column.partition(".")
    value = _value(PROPERTIES[column], cell)
    if inner:
        _object(body, outer)[inner] = value
    else:
        body[column] = value


def _value(kind: Kind, cell: str) -> object:
    match kind:
        case Kind.TEXT:
            return cell
        case Kind.NUMBER:
            if re.fullmatch(r"\s*\d{1,12}\s*", cell) is None:
                raise CellFault(f"{cell!r} is no whole number. Write digits alone, such as 12.")
            return int(cell)
        case Kind.BOOLEAN:
            value = _BOOLEAN_WORDS.get(cell.strip().lower())
            if value is None:
                raise CellFault(f"{cell!r} is neither true nor false.")
            return value
        case Kind.LIST:
            return _parts(cell)


def _put_permissions(body: dict[str, object], column: str, cell: str) -> None:
    permissions = _object(body, _PERMISSIONS)
    for user, level in _granted(column.removeprefix(_PERMISSIONS).removeprefix("."), cell):
        if WRITTEN_ID.fullmatch(user) is None:
            raise CellFault(f"{user!r} is no id of a user. The directory shows it; it is a UUID.")
        if level not in _LEVELS:
            raise CellFault(f"{level!r} is no permission. Write one of {', '.join(_LEVELS)}.")
        if user.lower() in permissions:
            raise CellFault(f"User {user} has a permission already. Name each user once in a row.")
        permissions[user.lower()] = str(level)


def _granted(rest: str, cell: str) -> Iterator[tuple[str, str]]:
    """Users and their levels, as a cell below `permissions` and this rest of the column's name says them."""
    if not rest:
        for pair in _parts(cell):
            user, sign, level = pair.partition("=")
            if not sign:
                raise CellFault(f"{pair!r} is not understood. Write <id of a user>=FullAccess, with ; between them.")
            yield user.strip(), level.strip()
    elif rest in _LEVELS:
        for user in _parts(cell):
            yield user, rest
    else:
        yield rest, cell.strip()


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";") if part.strip()]


def _object(body: dict[str, object], name: str) -> dict[str, object]:
    found = body.setdefault(name, {})
    # Nobody but this file puts anything there.
    assert isinstance(found, dict)  # noqa: S101 - it tells the type checker so.
    return found
