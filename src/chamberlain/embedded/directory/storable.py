"""Keeps one entry whose texts the database cannot hold from taking the others of its batch down with it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import asyncpg

from chamberlain.embedded.directory.entries import Ensured, Shown
from chamberlain.embedded.directory.errors import Refused

Entry = TypeVar("Entry")

_NOT_STORABLE = (
    "One of the texts holds a character that the directory cannot store: a NUL, or half of a surrogate pair. "
    "Leave it out."
)


async def ensure_storable(
    entries: Sequence[Entry], ensure: Callable[[Sequence[Entry]], Awaitable[Sequence[Ensured[Shown]]]]
) -> Sequence[Ensured[Shown]]:
    """What comes of each, as `ensure` brings them about; those with such a text are refused."""
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
    # A NUL, which PostgreSQL refuses, and half of a surrogate pair, which the driver finds; all else is a bug.
    refused = asyncpg.CharacterNotInRepertoireError | asyncpg.UntranslatableCharacterError
    return isinstance(error, refused) or isinstance(error.__cause__ or error, UnicodeEncodeError)
