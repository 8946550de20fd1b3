# SPDX-License-Identifier: Apache-2.0
"""The ASGI server: authentication, routing, and responses in the format of Graph."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec
from starlette.types import Receive, Scope, Send

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import BadQuery, Forbidden
from chamberlain.embedded.directory.faults import Injection
from chamberlain.embedded.directory.graph.calls import (
    MOST_BODY,
    Answer,
    BodyTooLarge,
    BodyTooSlow,
    Call,
    Part,
    PartAnswer,
    Writer,
    Writing,
    Written,
    written_time,
)
from chamberlain.embedded.directory.graph.error_responses import (
    FAULTS,
    ErrorResponse,
    Fault,
    Header,
    describe_fault,
)
from chamberlain.embedded.directory.graph.routes import ID, Handler, Route, allowed_methods, find_route
from chamberlain.embedded.directory.groups import FindGroups


@dataclass(frozen=True, slots=True)
class Access:
    """The tenant, permissions (`Group.Read.All`) and user of a token.

    An application token has no user.
    """

    tenant_id: UUID
    permissions: frozenset[str]
    user_id: UUID | None = None


# Takes the Authorization header, or None. Raises Unauthorized, Forbidden or Unreachable.
Authenticate = Callable[[str | None], Awaitable[Access]]

# Sends a whole response (scope, status, headers, body) in one call, where the server supports it; ASGI takes two
# messages. Returns whether the response was sent.
SendWhole = Callable[[Scope, int, list[Header], bytes], bool]

_JSON = (b"content-type", b"application/json;odata.metadata=minimal;charset=utf-8")
_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_NO_STORE = (b"cache-control", b"no-store")

# A client that sends its body slower than this is gone, in seconds.
BODY_TIMEOUT = 30.0

_BATCH = "/v1.0/$batch"

_encode = msgspec.json.Encoder().encode

_MAX_PAGE_SIZE = re.compile(rb"odata\.maxpagesize=([0-9]{1,6})(?![0-9])")

# The allowed characters of a header that the response repeats.
_CLIENT_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


# The status, headers and body of a response.
Response = tuple[int, list[Header], bytes]


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    The path starts with `/v1.0`, and header names are in lower case. `scope` gets the route; a part of a batch has no
    scope.
    """

    method: str
    path: str
    query_string: bytes
    headers: Mapping[bytes, bytes]
    body: bytes = b""
    scope: Scope | None = None


class GraphServer:
    """The ASGI application below `/v1.0`. `graph_url` is its public address, without `/v1.0`.

    `pool` and `find_groups` must use the role that row-level security restricts. With an `injection`, every call counts
    for throttling. With `is_strict`, answers have the properties of Graph only.

    The directory can be written only with a `writer`.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        find_groups: FindGroups,
        graph_url: str,
        authenticate: Authenticate,
        now: Callable[[], datetime],
        new_request_id: Callable[[], UUID],
        send_whole: SendWhole = lambda *_: False,
        injection: Injection | None = None,
        is_strict: bool = False,
        writer: Writer | None = None,
        body_timeout: float = BODY_TIMEOUT,
    ) -> None:
        self._pool = pool
        self._writer = writer
        self._body_timeout = body_timeout
        self._find_groups = find_groups
        self._root = f"{graph_url.rstrip('/')}/v1.0"
        self._authenticate = authenticate
        self._now = now
        self._new_request_id = new_request_id
        self._send_whole = send_whole
        self._injection = injection
        self._is_strict = is_strict

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        ids = self._ids(headers)
        path = _path(scope)
        if scope["method"] == "OPTIONS":
            # Needs no token, and does not count for throttling.
            await self._send(scope, send, 204, [*ids, (b"allow", self._allowed(path).encode())], b"")
            return
        try:
            token = headers.get(b"authorization")
            access = await self._authenticate(None if token is None else token.decode("latin-1"))
            request = Request(scope["method"], path, scope["query_string"], headers, scope=scope)
            if request.method not in {"GET", "HEAD"}:
                request = replace(request, body=await self._read_body(receive))
        except FAULTS as fault:
            status, content, body = self._refuse(fault, ids)
        else:
            status, content, body = await self._respond(access, request, ids)
        await self._send(scope, send, status, [*content, *ids], body)

    async def _respond(self, access: Access, request: Request, ids: list[Header]) -> Response:
        """Handle a call, or one part of a batch."""
        try:
            answer = await self.answer(access, request)
        except FAULTS as fault:
            return self._refuse(fault, ids)
        if isinstance(answer, Written):
            return _written(answer)
        if isinstance(answer, int):
            return 200, [_TEXT, _NO_STORE], str(answer).encode()
        return 200, [_JSON, _NO_STORE], _encode(answer)

    def _refuse(self, fault: Fault, ids: list[Header]) -> Response:
        response = describe_fault(fault)
        return response.status, [_JSON, _NO_STORE, *response.headers], self._error(response, ids)

    async def answer(self, access: Access, request: Request) -> Answer:
        """Answer a call of a known caller. Raises one of FAULTS."""
        # As in Graph, each part of a batch counts, and the batch itself does not.
        if self._injection is not None and request.path != _BATCH:
            self._injection.take_call()
        route, named = find_route(request.method, request.path, is_writable=self._writer is not None)
        if request.scope is not None:
            request.scope["route"] = route
        _require(access, route)
        call = Call(
            self._pool,
            self._find_groups,
            self._root,
            access.tenant_id,
            access.user_id,
            request.query_string,
            path=request.path.removeprefix("/v1.0"),
            is_eventual=request.headers.get(b"consistencylevel", b"").strip().lower() == b"eventual",
            is_strict=self._is_strict,
            body=request.body,
            moment=self._now(),
            page_size=_page_size(request.headers.get(b"prefer", b"")),
            send_part=partial(self._send_part, access),
            write=self._writing(access, request, named) if route.is_write else None,
        )
        call = _named(call, named[0] if named else None)
        if self._injection is not None:
            visible_until, known_until = self._injection.visible_until(), self._injection.known_until()
            call = replace(call, visible_until=visible_until, known_until=known_until)
        return await self._handler(route)(call)

    def _handler(self, route: Route) -> Handler:
        return route.handler

    def _allowed(self, path: str) -> str:
        return allowed_methods(path, is_writable=self._writer is not None)

    def _writing(self, access: Access, request: Request, named: tuple[str, ...]) -> Writing | None:
        if self._writer is None:
            return None
        prefer = request.headers.get(b"prefer", b"").decode("latin-1").lower()
        preferences = frozenset(each.strip() for each in prefer.split(","))
        return Writing(self._writer.pool, self._writer.new_id, named, access.user_id, access.permissions, preferences)

    async def _send_part(self, access: Access, part: Part) -> PartAnswer:
        headers = {name.encode(): value.encode() for name, value in part.headers.items()}
        ids = self._ids(headers)
        request = Request(part.method, f"/v1.0{part.path}", part.query_string, headers, part.body)
        status, content, body = await self._respond(access, request, ids)
        return PartAnswer(status, {name.decode(): value.decode() for name, value in [*content, *ids]}, body)

    async def _send(self, scope: Scope, send: Send, status: int, headers: list[Header], body: bytes) -> None:
        if status != 204:
            # A 204 response has no Content-Length.
            headers.append((b"content-length", b"%d" % len(body)))
        body = b"" if scope["method"] == "HEAD" else body
        if not self._send_whole(scope, status, headers, body):
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    async def _read_body(self, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self._body_timeout):
                return await _read_body(receive)
        except TimeoutError as error:
            raise BodyTooSlow from error

    def _ids(self, headers: Mapping[bytes, bytes]) -> list[Header]:
        ids = [(b"request-id", str(self._new_request_id()).encode())]
        client = headers.get(b"client-request-id", b"")
        if _CLIENT_REQUEST_ID.fullmatch(client):
            ids.append((b"client-request-id", client))
        return ids

    def _error(self, response: ErrorResponse, ids: list[Header]) -> bytes:
        inner = {"date": written_time(self._now()).removesuffix("Z")}
        inner |= {name.decode(): value.decode() for name, value in ids}
        details = {"details": response.details} if response.details else {}
        error = {"code": response.code, "message": response.message, **details, "innerError": inner}
        return msgspec.json.encode({"error": error})


def _written(answer: Written) -> Response:
    location = [] if answer.location is None else [(b"location", answer.location.encode())]
    if answer.shape is None:
        return answer.status, [_NO_STORE, *location], b""
    return answer.status, [_JSON, _NO_STORE, *location], _encode(answer.shape)


def _page_size(prefer: bytes) -> int | None:
    found = _MAX_PAGE_SIZE.search(prefer)
    return None if found is None else int(found[1])


def _path(scope: Scope) -> str:
    # A mounting application keeps the whole path in `path`, and sets `root_path` to its own part.
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path.removesuffix("/")


async def _read_body(receive: Receive) -> bytes:
    """Read the body of a request. Raises BodyTooLarge and BadQuery."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadQuery("BadRequest", "The body is incomplete.")
        body += message.get("body", b"")
        if len(body) > MOST_BODY:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(body)


def _require(access: Access, route: Route) -> None:
    if route.sufficient is None:
        if access.user_id is None:
            raise BadQuery("BadRequest", "/me request is only valid with delegated authentication flow.")
        if not access.permissions:
            raise Forbidden("Insufficient privileges to complete the operation: the token is not for this directory.")
    elif route.sufficient and not access.permissions & route.sufficient:
        names = ", ".join(sorted(route.sufficient))
        raise Forbidden(f"Insufficient privileges to complete the operation. One of these would do: {names}.")


def _named(call: Call, named: str | None) -> Call:
    """Set the id or address in the path.

    Without one, the call is about the calling user.
    """
    if named is None:
        return call
    if re.fullmatch(ID, named):
        return replace(call, id=UUID(named))
    return replace(call, id=None, address=named)
