# SPDX-License-Identifier: Apache-2.0
"""One authenticated call, and lookups that handlers share."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias, TypeVar
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Connection, Pool, one_tenant
from chamberlain.embedded.directory.errors import BadQuery, CodedFault, DirectoryFault
from chamberlain.embedded.directory.groups import FindGroups

Shape: TypeAlias = dict[str, object]


class Row(Protocol):
    """The values of a resource by column.

    A row of the database has them.
    """

    def __getitem__(self, column: str, /) -> Any:  # noqa: ANN401 - each column has its own type.
        """Return the value of a column."""

    def get(self, column: str, /) -> Any:  # noqa: ANN401 - each column has its own type.
        """Return the value of a column that may be missing."""


@dataclass(frozen=True, slots=True)
class Written:
    """The status of a write, with the new resource and its URL."""

    status: int
    shape: Shape | None = None
    location: str | None = None


# The body of a response: JSON, or a number as text.
Answer: TypeAlias = Shape | int | Written


Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Part:
    """One call of a batch.

    The path is below `/v1.0`, and header names are in lower case.
    """

    method: str
    path: str
    query_string: bytes
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """The answer to one call of a batch.

    Header names are in lower case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


SendPart = Callable[[Part], Awaitable[PartAnswer]]


async def _refuse_part(part: Part) -> PartAnswer:
    message = f"A batch cannot contain a batch: {part.path}"
    raise BadQuery("BadRequest", message)


@dataclass(frozen=True, slots=True)
class Writer:
    """A pool with the worker's role, and the source of ids."""

    pool: Pool
    new_id: Callable[[], UUID]


@dataclass(frozen=True, slots=True)
class Writing:
    """The parts of a call that only writes need.

    `pool` has the worker's role. `named` are the ids and names in the path. `caller_id` is the user of the token, or
    None for an application. `prefer` are the preferences of the client, in lower case.
    """

    pool: Pool
    new_id: Callable[[], UUID]
    named: tuple[str, ...]
    caller_id: UUID | None
    permissions: frozenset[str]
    prefer: frozenset[str]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Bytes of a request. Graph's limit for a request is the same.
MOST_BODY = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Call:
    """A call for one tenant.

    `root` is the public address of `/v1.0`, and `path` the path below it. `id` is the id in the path, or the id of the
    calling user. Users and rooms can have an `address` instead. `is_eventual` is the header ConsistencyLevel: eventual,
    which Graph requires for counts.

    With injected faults, lists contain groups and mailboxes created at `visible_until` or before, and lookups by id
    find those created at `known_until` or before.

    `moment` is the time of the call. `page_size` is that of the header `Prefer: odata.maxpagesize`.

    `body` is that of the request. `send_part` runs a part of a batch. Only a write has `write`.

    With `is_strict`, an answer has the properties of Graph only (see own_properties.py). Without `has_details`, no
    licences and own properties are read.
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
    is_strict: bool = False
    has_details: bool = True
    body: bytes = b""
    send_part: SendPart = _refuse_part
    write: Writing | None = None
    moment: datetime = _EPOCH
    page_size: int | None = None

    @property
    def writing(self) -> Writing:
        """Return the parts of a write.

        The routes call handlers of writes with them only.
        """
        if self.write is None:
            raise MethodNotAllowed("GET, HEAD, OPTIONS")
        return self.write

    def knows(self, made_at: datetime) -> bool:
        """Check whether a lookup by id finds an object created then."""
        return self.known_until is None or made_at <= self.known_until

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        """Open a read-only transaction that sees the tenant."""
        async with one_tenant(self.pool, self.tenant_id) as connection:
            yield connection

    def read_body(self, kind: type[Body]) -> Body:
        """Decode the JSON body. Raises BadQuery."""
        try:
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadQuery("BadRequest", f"Unable to read JSON request payload. {error}") from error

    async def fetch_by_id(self, connection: Connection, statement: str) -> Row:
        """Fetch the row of the id in the path.

        It has the column created_at. Raises NotThere.
        """
        return self._require_known(await connection.fetchrow(statement, self.tenant_id, self.id))

    async def fetch_known(self, connection: Connection, statement: str, name: str) -> Row:
        """Fetch the row with another key than the id.

        Raises NotThere.
        """
        return self._require_known(await connection.fetchrow(statement, self.tenant_id, name))

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


class SyncStateNotFound(DirectoryFault):
    """A token of changes has expired, or is from another database.

    `location` starts again.
    """

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


class MethodNotAllowed(DirectoryFault):
    """The resource has other methods, which `allowed` lists.

    `needs_writable`: a setting of the service permits the method.
    """

    def __init__(self, allowed: str, *, needs_writable: bool = False) -> None:
        super().__init__(allowed)
        self.allowed = allowed
        self.needs_writable = needs_writable


class BodyTooLarge(DirectoryFault):
    """The body of the request is longer than MOST_BODY."""


class BodyTooSlow(DirectoryFault):
    """The body of the request did not arrive in time."""


def written_time(moment: datetime) -> str:
    """Encode a time as Graph does: UTC, whole seconds."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
