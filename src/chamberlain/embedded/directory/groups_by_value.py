"""Groups by the value of an extension attribute, several questions in one call."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.embedded.directory.database import Queryable, answering

Row: TypeAlias = asyncpg.Record

# No group has this id.
_BEFORE_ALL = UUID(int=0)

_FIND = "SELECT * FROM directory.groups_by_values($1, $2, $3, $4, $5, $6)"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The groups of a tenant with this value, in the order of their ids: those behind an id, and no more than `most`.
    Values are compared without regard to case."""

    tenant_id: UUID
    extension: str
    member: str
    value: str
    after: UUID | None
    most: int


# One question; whoever makes this may have those that are asked at the same time answered together.
FindGroups: TypeAlias = Callable[[Wanted], Awaitable[Sequence[Row]]]


async def find_groups(database: Queryable, wanted: Sequence[Wanted]) -> Sequence[Sequence[Row]]:
    """The rows of each question. Each is answered by what its own tenant holds; `database` must be the role that is
    bound by row-level security."""
    with answering():
        rows = await database.fetch(
            _FIND,
            [one.tenant_id for one in wanted],
            [one.extension for one in wanted],
            [one.member for one in wanted],
            [one.value for one in wanted],
            [one.after or _BEFORE_ALL for one in wanted],
            [one.most for one in wanted],
        )
    found: list[list[Row]] = [[] for _ in wanted]
    for row in rows:
        found[row["item"] - 1].append(row)
    return found
