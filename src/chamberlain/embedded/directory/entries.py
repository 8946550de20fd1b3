# SPDX-License-Identifier: Apache-2.0
"""Groups and mailboxes of all tenants, identified by their marks.

A mark is one member of an extension attribute with a unique value. Two calls with the same mark get the same object, so
an entry also contains the id that a new object gets.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import asyncpg

from chamberlain.embedded.directory.database import Queryable, database_errors
from chamberlain.embedded.directory.errors import Refused

# Parameters of a database function. PostgreSQL parses JSON at 1.5 us a group more than typed arrays.
Columns = tuple[list[object], ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """The identity of a group or mailbox.

    It consists of the name of an extension attribute, and the value of its key member.
    """

    tenant_id: UUID
    extension: str
    key: str


class Marked(Protocol):
    """The desired state of an object, with its mark.

    A new object gets this id.
    """

    @property
    def mark(self) -> Mark: ...

    @property
    def id(self) -> UUID: ...


Item = TypeVar("Item")
Shown = TypeVar("Shown")
Entry = TypeVar("Entry", bound=Marked)


@dataclass(frozen=True, slots=True)
class Ensured(Generic[Shown]):
    """The result of one entry: the current state and the fault.

    The state is None if there is no object. The fault is None unless the entry was refused.
    """

    shown: Shown | None
    fault: Refused | None


@dataclass(frozen=True, slots=True)
class Kind(Generic[Entry, Shown]):
    """The statements, conversions and error messages of one type of object.

    The parameters of both statements are the key member and the columns of marks, and of `observe` the ids.
    """

    observe: str
    made_at: str
    decode: Callable[[str], Shown]
    as_made: Callable[[Entry], Shown]
    sentences: Mapping[str, str]


class MarkedObjects(ABC, Generic[Entry, Shown]):
    """Objects of one type, of all tenants.

    Needs the worker's role. Marks are in the member `key_member`.
    """

    def __init__(self, database: Queryable, kind: Kind[Entry, Shown], *, key_member: str) -> None:
        self._database = database
        self._kind = kind
        self._key_member = key_member

    @abstractmethod
    async def ensure(self, entries: Sequence[Entry]) -> Sequence[Ensured[Shown]]:
        """Provision each object, entirely or not at all.

        The possible ones in one transaction.
        """

    @abstractmethod
    async def describe(self, entries: Sequence[Entry]) -> None:
        """Set the names and descriptions of existing objects.

        `ensure` keeps those that users changed.
        """

    async def observe(self, marks: Sequence[Mark], ids: Sequence[UUID | None] = ()) -> Sequence[Shown | None]:
        """Read the state of each.

        None for an object that does not exist. Of several objects with one mark, it is the one with the id in `ids`.
        """
        if not marks:
            return []
        with database_errors():
            rows = await self._database.fetch(self._kind.observe, self._key_member, *mark_columns(marks), ids)
        return in_order({item: self._kind.decode(text) for item, text in rows}, len(marks))

    async def made_at(self, marks: Sequence[Mark]) -> Sequence[datetime | None]:
        """Read the creation time of each.

        None for an object that does not exist.
        """
        with database_errors():
            rows = await self._database.fetch(self._kind.made_at, self._key_member, *mark_columns(marks))
        return in_order({row["item"]: row["created_at"] for row in rows}, len(marks))

    async def _results(self, entries: Sequence[Entry], row: asyncpg.Record) -> Sequence[Ensured[Shown]]:
        """Decode the row of a database function.

        Its columns are the ids found, the ids created, the fault codes and their causes.
        """
        found, made, faults, culprits = row
        new = frozenset(made)
        older = [entry.mark for entry, each in zip(entries, found, strict=True) if each and each not in new]
        shown = dict(zip(older, await self.observe(older), strict=True))
        return [
            Ensured(
                self._kind.as_made(entry) if entry.id in new else shown.get(entry.mark),
                None if code is None else Refused(code, self._kind.sentences[code].format(culprit)),
            )
            for entry, code, culprit in zip(entries, faults, culprits, strict=True)
        ]


def in_order(found: Mapping[int, Item], count: int) -> list[Item | None]:
    """List results that a statement numbered from 1.

    None for the missing ones.
    """
    return [found.get(item) for item in range(1, count + 1)]


def mark_columns(marks: Sequence[Mark]) -> Columns:
    """Return the columns tenant, attribute and key."""
    return [mark.tenant_id for mark in marks], [mark.extension for mark in marks], [mark.key for mark in marks]


def item_columns(rows_by_entry: Iterable[Iterable[tuple[object, ...]]], *, width: int) -> Columns:
    """Return the rows of all entries as columns.

    The first column is the number of each row's entry.
    """
    rows = [(item, *row) for item, rows in enumerate(rows_by_entry, 1) for row in rows]
    return tuple([row[column] for row in rows] for column in range(width + 1))


_NOT_STORABLE = "A text contains a character that the directory cannot store: a NUL or a lone surrogate. Remove it."


async def ensure_storable(
    entries: Sequence[Item], ensure: Callable[[Sequence[Item]], Awaitable[Sequence[Ensured[Shown]]]]
) -> Sequence[Ensured[Shown]]:
    """Call `ensure`, but refuse entries with texts that cannot be stored.

    So the other entries of the batch succeed.
    """
    if not entries:
        return []
    try:
        return await ensure(entries)
    except (asyncpg.DataError, UnicodeEncodeError) as error:
        if not _is_about_a_text(error):
            raise
    if len(entries) == 1:
        return [Ensured(None, Refused("notAccepted", _NOT_STORABLE))]
    middle = len(entries) // 2
    return [*await ensure_storable(entries[:middle], ensure), *await ensure_storable(entries[middle:], ensure)]


def _is_about_a_text(error: Exception) -> bool:
    # PostgreSQL refuses a NUL, and the driver a lone surrogate. Every other data error is a bug.
    refused = asyncpg.CharacterNotInRepertoireError | asyncpg.UntranslatableCharacterError
    return isinstance(error, refused) or isinstance(error.__cause__ or error, UnicodeEncodeError)
