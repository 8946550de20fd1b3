"""A connection that asks its server for nothing but what statements say.

The driver asks on each new one what an array of uuid is, and of every other type that is no scalar of PostgreSQL's own:
that took longer than the first statements themselves. Types that come with PostgreSQL are the same for good, so a
process asks for them once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import asyncpg

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    _Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

# PostgreSQL gives lower numbers by hand, and no other meaning to one ever (FirstGenbkiObjectId).
_END_OF_BUILT_IN = 10_000


@dataclass(frozen=True, slots=True)
class _Remembered:
    """In place of the driver's statement, where none was sent: one with a name is in no other's way."""

    name: str = "remembered"


class LeanConnection(_Connection):
    """It is not reset at every release either: nothing of ours outlives a transaction, and the reset costs a round
    trip."""

    # Arrays of scalars, each with its scalar, by the array's number.
    _built_in: ClassVar[dict[int, tuple[asyncpg.Record, asyncpg.Record]]] = {}

    def get_reset_query(self) -> str:
        return ""

    # The driver has no public place for this. One that calls it no more asks its server again, and all else stays.
    async def _introspect_types(
        self,
        typeoids: Collection[int],
        timeout: float | None,  # noqa: ASYNC109 - it is the driver's.
    ) -> tuple[Sequence[asyncpg.Record], object]:
        """What the driver has to know of types, by their numbers: each with what it is made of."""
        if all(oid in self._built_in for oid in typeoids):
            return [row for oid in typeoids for row in self._built_in[oid]], _Remembered()
        # The stubs show what is public.
        types, statement = await super()._introspect_types(typeoids, timeout)  # type: ignore[misc]
        scalars = {row["oid"]: row for row in types if row["kind"] == b"b" and row["elemtype"] == 0}
        arrays = [row for row in types if row["kind"] == b"b" and row["elemtype"] in scalars]
        self._built_in.update(
            {row["oid"]: (scalars[row["elemtype"]], row) for row in arrays if row["oid"] < _END_OF_BUILT_IN}
        )
        return types, statement
