"""The server: who calls, what for, and the answer or the fault in Graph's shape."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import msgspec
from starlette.types import Receive, Scope, Send

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Forbidden
from chamberlain.embedded.directory.faults import Injection
from chamberlain.embedded.directory.graph.calls import Call, MethodNotAllowed, NotThere, Shape
from chamberlain.embedded.directory.graph.faults import FAULTS, Header, Told, tell
from chamberlain.embedded.directory.graph.groups import get_group, list_groups
from chamberlain.embedded.directory.graph.relations import list_members, list_owners
from chamberlain.embedded.directory.graph.teams import get_team, list_channels
from chamberlain.embedded.directory.graph.times import written_time


@dataclass(frozen=True, slots=True)
class Access:
    """What a token allows: the tenant it is for, and permissions by their bare names (`Group.Read.All`)."""

    tenant_id: UUID
    permissions: frozenset[str]


# Gets the value of the header Authorization, or None. Raises Unauthorized, Forbidden or Unreachable.
Authenticate = Callable[[str | None], Awaitable[Access]]

_READ_GROUPS = frozenset({"Group.Read.All", "Group.ReadWrite.All", "Directory.Read.All"})

_ID = r"([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})"
_ROUTES: tuple[tuple[re.Pattern[str], Callable[[Call], Awaitable[Shape]]], ...] = (
    (re.compile(r"/v1\.0/groups"), list_groups),
    (re.compile(rf"/v1\.0/groups/{_ID}"), get_group),
    (re.compile(rf"/v1\.0/groups/{_ID}/owners"), list_owners),
    (re.compile(rf"/v1\.0/groups/{_ID}/members"), list_members),
    (re.compile(rf"/v1\.0/groups/{_ID}/team"), get_team),
    (re.compile(rf"/v1\.0/groups/{_ID}/team/channels"), list_channels),
    (re.compile(rf"/v1\.0/teams/{_ID}"), get_team),
    (re.compile(rf"/v1\.0/teams/{_ID}/channels"), list_channels),
)

# What a caller may have us repeat in a header: no blanks, nothing that could end the line.
_CLIENT_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class GraphServer:
    """An ASGI application for everything below `/v1.0`. `graph_url` is the address that callers know, without `/v1.0`.

    `pool` must hold the role that is bound by row-level security. With an `injection` every call counts for throttling.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        graph_url: str,
        authenticate: Authenticate,
        now: Callable[[], datetime],
        new_request_id: Callable[[], UUID],
        injection: Injection | None = None,
    ) -> None:
        self._pool = pool
        self._root = f"{graph_url.rstrip('/')}/v1.0"
        self._authenticate = authenticate
        self._now = now
        self._new_request_id = new_request_id
        self._injection = injection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - nothing here has a body, but ASGI hands it over.
        """Answer one call."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        ids = self._ids(headers)
        try:
            told = None
            body = await self._shape(scope, headers)
        except FAULTS as fault:
            told = tell(fault)
            body = self._error(told, ids)
        status = 200 if told is None else told.status
        extra = () if told is None else told.headers
        await send({"type": "http.response.start", "status": status, "headers": [*_content(body), *ids, *extra]})
        await send({"type": "http.response.body", "body": body})

    async def _shape(self, scope: Scope, headers: dict[bytes, bytes]) -> bytes:
        token = headers.get(b"authorization")
        access = await self._authenticate(None if token is None else token.decode("latin-1"))
        if self._injection is not None:
            self._injection.take_call()
        if scope["method"] != "GET":
            raise MethodNotAllowed
        handler, found = _route(_path(scope))
        if not access.permissions & _READ_GROUPS:
            raise Forbidden(
                "Insufficient privileges to complete the operation. One of these would do: "
                + ", ".join(sorted(_READ_GROUPS))
                + "."
            )
        call = Call(self._pool, self._root, access.tenant_id, found, scope["query_string"])
        if self._injection is not None:
            visible_until, known_until = self._injection.visible_until(), self._injection.known_until()
            call = replace(call, visible_until=visible_until, known_until=known_until)
        return msgspec.json.encode(await handler(call))

    def _ids(self, headers: dict[bytes, bytes]) -> list[Header]:
        ids = [(b"request-id", str(self._new_request_id()).encode())]
        client = headers.get(b"client-request-id", b"")
        if _CLIENT_REQUEST_ID.fullmatch(client):
            ids.append((b"client-request-id", client))
        return ids

    def _error(self, told: Told, ids: list[Header]) -> bytes:
        inner = {"date": written_time(self._now()).removesuffix("Z")}
        inner |= {name.decode(): value.decode() for name, value in ids}
        return msgspec.json.encode({"error": {"code": told.code, "message": told.message, "innerError": inner}})


def _path(scope: Scope) -> str:
    # A server that mounts this one leaves the whole path in place and says how much of it is its own.
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path.removesuffix("/")


def _route(path: str) -> tuple[Callable[[Call], Awaitable[Shape]], UUID | None]:
    for pattern, handler in _ROUTES:
        found = pattern.fullmatch(path)
        if found is not None:
            return handler, UUID(found[1]) if found.lastindex else None
    raise NotThere("BadRequest", f"Resource not found for the segment '{path.rpartition('/')[2]}'.")


def _content(body: bytes) -> list[Header]:
    return [
        (b"content-type", b"application/json;odata.metadata=minimal;charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
