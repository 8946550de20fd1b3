"""One authenticated call, and lookups that handlers share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.embedded.directory.database import Connection, Pool, one_tenant
from chamberlain.embedded.directory.errors import CodedFault, DirectoryFault
from chamberlain.embedded.directory.groups import FindGroups

Row: TypeAlias = asyncpg.Record
Shape: TypeAlias = dict[str, object]

# The body of a response: JSON, or a number as text.
Answer: TypeAlias = Shape | int


@dataclass(frozen=True, slots=True)
class Call:
    """A call for one tenant.

    `root` is the public address of `/v1.0`, and `path` the path below it. `id` is the id in the path, or the id of the
    calling user. Users and rooms can have an `address` instead. `is_eventual` is the header ConsistencyLevel: eventual,
    which Graph requires for counts.

    With injected faults, lists contain groups and mailboxes created at `visible_until` or before, and lookups by id
    find those created at `known_until` or before.
    """

    pool: Pool
    find_groups: FindGroups
    root: str
    tenant_id: UUID
    id: UUID | None
    query_string: bytes
    path: str = ""
    is_eventual: bool = False
    address: str | None = None
    visible_until: datetime | None = None
    known_until: datetime | None = None

    def knows(self, made_at: datetime) -> bool:
        """Check whether a lookup by id finds an object created then."""
        return self.known_until is None or made_at <= self.known_until

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        """Open a read-only transaction that sees the tenant."""
        async with one_tenant(self.pool, self.tenant_id) as connection:
            yield connection

    async def fetch_by_id(self, connection: Connection, statement: str) -> Row:
        """Fetch the row of the id in the path.

        It has the column created_at. Raises NotThere.
        """
        return self._require_known(await connection.fetchrow(statement, self.tenant_id, self.id))

    async def fetch_by_name(self, connection: Connection, *, by_id: str, by_address: str) -> Row:
        """Fetch the row of the id or address in the path.

        Raises NotThere.
        """
        if self.id is not None:
            return await self.fetch_by_id(connection, by_id)
        return self._require_known(await connection.fetchrow(by_address, self.tenant_id, self.address))

    def _require_known(self, row: Row | None) -> Row:
        if row is None or (row["created_at"] is not None and not self.knows(row["created_at"])):
            message = f"Resource '{self.id or self.address}' does not exist."
            raise NotThere("Request_ResourceNotFound", message)
        return row


class NotThere(CodedFault):
    """The resource does not exist, or the caller may not see it."""


class MethodNotAllowed(DirectoryFault):
    """The resource is read-only."""


def written_time(moment: datetime) -> str:
    """Encode a time as Graph does: UTC, whole seconds."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
