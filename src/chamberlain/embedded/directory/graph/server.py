"""The ASGI server: authentication, routing, and responses in the format of Graph."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from uuid import UUID

import msgspec
from starlette.types import Receive, Scope, Send

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import BadQuery, Forbidden, Throttled, Unauthorized, Unreachable
from chamberlain.embedded.directory.faults import Injection
from chamberlain.embedded.directory.graph import groups, users
from chamberlain.embedded.directory.graph.calls import Answer, Call, MethodNotAllowed, NotThere, written_time
from chamberlain.embedded.directory.graph.paging import count_entries
from chamberlain.embedded.directory.graph.places import get_place, list_rooms
from chamberlain.embedded.directory.graph.schema_extensions import list_schema_extensions
from chamberlain.embedded.directory.graph.sites import get_root_site, get_site
from chamberlain.embedded.directory.groups import FindGroups

Fault = Unauthorized | Forbidden | BadQuery | NotThere | MethodNotAllowed | Unreachable | Throttled
FAULTS = (Unauthorized, Forbidden, BadQuery, NotThere, MethodNotAllowed, Unreachable, Throttled)

ALLOWED = b"GET, HEAD, OPTIONS"

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error response."""

    status: int
    code: str
    message: str
    headers: tuple[Header, ...] = ()


def describe_fault(fault: Fault) -> ErrorResponse:
    """Map a fault to its status, code, message and headers."""
    match fault:
        case Unauthorized():
            challenge = b'Bearer error="invalid_token"' if fault.had_token else b"Bearer"
            return ErrorResponse(401, "InvalidAuthenticationToken", str(fault), ((b"www-authenticate", challenge),))
        case Forbidden():
            challenge = b'Bearer error="insufficient_scope"'
            return ErrorResponse(403, "Authorization_RequestDenied", str(fault), ((b"www-authenticate", challenge),))
        case BadQuery():
            return ErrorResponse(400, fault.code, fault.detail)
        case NotThere():
            return ErrorResponse(404, fault.code, fault.detail)
        case MethodNotAllowed():
            message = "This directory can only be read: by GET, HEAD and OPTIONS."
            return ErrorResponse(405, "Request_BadRequest", message, ((b"allow", ALLOWED),))
        case Unreachable():
            # The client does not see the message of the database.
            message = f"The directory cannot answer now. {_again(fault.after)}"
            return ErrorResponse(503, "serviceNotAvailable", message, (_retry_after(fault.after),))
        case Throttled():
            message = f"Too many requests. {_again(fault.after)}"
            return ErrorResponse(429, "TooManyRequests", message, (_retry_after(fault.after),))


def _again(after: timedelta) -> str:
    return f"Send the request again after {_seconds(after)} s."


def _retry_after(after: timedelta) -> Header:
    return (b"retry-after", str(_seconds(after)).encode())


def _seconds(after: timedelta) -> int:
    return ceil(after.total_seconds())


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

Handler = Callable[[Call], Awaitable[Answer]]

_READ_GROUPS = frozenset({"Group.Read.All", "Group.ReadWrite.All", "Directory.Read.All"})
_READ_USERS = frozenset({"User.Read.All", "User.ReadWrite.All", "Directory.Read.All"})
_READ_SETTINGS = _READ_USERS | {"MailboxSettings.Read", "MailboxSettings.ReadWrite"}
_READ_PLACES = frozenset({"Place.Read.All", "Place.ReadWrite.All", "Directory.Read.All"})
_READ_SITES = frozenset({"Sites.Read.All", "Sites.ReadWrite.All", "Directory.Read.All"})


@dataclass(frozen=True, slots=True)
class _Route:
    """A path, its handler, and the permissions of which one is required.

    None means the calling user.
    """

    path: re.Pattern[str]
    handler: Handler
    sufficient: frozenset[str] | None


_ID = r"([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})"
# The database cannot store a NUL.
_ID_OR_ADDRESS = r"([^/\x00]{1,320})"
# The first part of the namespace is optional; the vendor's programs omit it.
_ROOM = r"(?:microsoft\.)?graph\.room"
_PATHS: tuple[tuple[str, Handler, frozenset[str] | None], ...] = (
    ("groups", groups.list_groups, _READ_GROUPS),
    (r"groups/\$count", partial(count_entries, listing=groups.GROUP_LISTING), _READ_GROUPS),
    (rf"groups/{_ID}", groups.get_group, _READ_GROUPS),
    (rf"groups/{_ID}/owners", partial(groups.list_related, relation=groups.OWNERS), _READ_GROUPS),
    (rf"groups/{_ID}/owners/\$count", partial(groups.count_related, relation=groups.OWNERS), _READ_GROUPS),
    (rf"groups/{_ID}/members", partial(groups.list_related, relation=groups.MEMBERS), _READ_GROUPS),
    (rf"groups/{_ID}/members/\$count", partial(groups.count_related, relation=groups.MEMBERS), _READ_GROUPS),
    (rf"groups/{_ID}/settings", groups.list_settings, _READ_GROUPS),
    (rf"groups/{_ID}/sites/root", get_root_site, _READ_SITES),
    (rf"groups/{_ID}/team", groups.get_team, _READ_GROUPS),
    (rf"groups/{_ID}/team/channels", groups.list_channels, _READ_GROUPS),
    (rf"teams/{_ID}", groups.get_team, _READ_GROUPS),
    (rf"teams/{_ID}/channels", groups.list_channels, _READ_GROUPS),
    ("me", users.get_user, None),
    ("me/licenseDetails", users.list_licenses, None),
    ("me/mailboxSettings", users.get_mailbox_settings, None),
    ("users", users.list_users, _READ_USERS),
    (r"users/\$count", partial(count_entries, listing=users.USER_LISTING), _READ_USERS),
    (rf"users/{_ID_OR_ADDRESS}", users.get_user, _READ_USERS),
    (rf"users/{_ID_OR_ADDRESS}/licenseDetails", users.list_licenses, _READ_USERS),
    (rf"users/{_ID_OR_ADDRESS}/mailboxSettings", users.get_mailbox_settings, _READ_SETTINGS),
    (rf"places/{_ROOM}", list_rooms, _READ_PLACES),
    (rf"places/{_ID_OR_ADDRESS}(?:/{_ROOM})?", get_place, _READ_PLACES),
    (rf"sites/{_ID_OR_ADDRESS}", get_site, _READ_SITES),
    ("schemaExtensions", list_schema_extensions, _READ_GROUPS),
)
_ROUTES = tuple(_Route(re.compile(rf"/v1\.0/{path}"), handler, sufficient) for path, handler, sufficient in _PATHS)

_ALLOW = (b"allow", ALLOWED)
_JSON = (b"content-type", b"application/json;odata.metadata=minimal;charset=utf-8")
_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_NO_STORE = (b"cache-control", b"no-store")

_encode = msgspec.json.Encoder().encode

# The allowed characters of a header that the response repeats.
_CLIENT_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class GraphServer:
    """The ASGI application below `/v1.0`. `graph_url` is its public address, without `/v1.0`.

    `pool` and `find_groups` must use the role that row-level security restricts. With an `injection`, every call counts
    for throttling.
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
    ) -> None:
        self._pool = pool
        self._find_groups = find_groups
        self._root = f"{graph_url.rstrip('/')}/v1.0"
        self._authenticate = authenticate
        self._now = now
        self._new_request_id = new_request_id
        self._send_whole = send_whole
        self._injection = injection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI passes it; no request has a body.
        """Handle one call."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        ids = self._ids(headers)
        try:
            if scope["method"] == "OPTIONS":
                # Needs no token, and does not count for throttling.
                await self._send(scope, send, 204, [*ids, _ALLOW], b"")
                return
            answer = await self._answer(scope, headers)
        except FAULTS as fault:
            response = describe_fault(fault)
            body = self._error(response, ids)
            await self._send(scope, send, response.status, [_JSON, _NO_STORE, *ids, *response.headers], body)
            return
        content, body = (_TEXT, str(answer).encode()) if isinstance(answer, int) else (_JSON, _encode(answer))
        await self._send(scope, send, 200, [content, _NO_STORE, *ids], body)

    async def _answer(self, scope: Scope, headers: dict[bytes, bytes]) -> Answer:
        token = headers.get(b"authorization")
        access = await self._authenticate(None if token is None else token.decode("latin-1"))
        if self._injection is not None:
            self._injection.take_call()
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed
        path = _path(scope)
        route, named = _route(path)
        _require(access, route)
        call = Call(
            self._pool,
            self._find_groups,
            self._root,
            access.tenant_id,
            access.user_id,
            scope["query_string"],
            path=path.removeprefix("/v1.0"),
            is_eventual=headers.get(b"consistencylevel", b"").strip().lower() == b"eventual",
        )
        call = _named(call, named)
        if self._injection is not None:
            visible_until, known_until = self._injection.visible_until(), self._injection.known_until()
            call = replace(call, visible_until=visible_until, known_until=known_until)
        return await route.handler(call)

    async def _send(self, scope: Scope, send: Send, status: int, headers: list[Header], body: bytes) -> None:
        if status != 204:
            # A 204 response has no Content-Length.
            headers.append((b"content-length", b"%d" % len(body)))
        body = b"" if scope["method"] == "HEAD" else body
        if not self._send_whole(scope, status, headers, body):
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    def _ids(self, headers: dict[bytes, bytes]) -> list[Header]:
        ids = [(b"request-id", str(self._new_request_id()).encode())]
        client = headers.get(b"client-request-id", b"")
        if _CLIENT_REQUEST_ID.fullmatch(client):
            ids.append((b"client-request-id", client))
        return ids

    def _error(self, response: ErrorResponse, ids: list[Header]) -> bytes:
        inner = {"date": written_time(self._now()).removesuffix("Z")}
        inner |= {name.decode(): value.decode() for name, value in ids}
        return msgspec.json.encode({"error": {"code": response.code, "message": response.message, "innerError": inner}})


def _path(scope: Scope) -> str:
    # A mounting application keeps the whole path in `path`, and sets `root_path` to its own part.
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path.removesuffix("/")


def _route(path: str) -> tuple[_Route, str | None]:
    for route in _ROUTES:
        found = route.path.fullmatch(path)
        if found is not None:
            return route, found[1] if found.lastindex else None
    raise NotThere("BadRequest", f"Resource not found for the segment '{path.rpartition('/')[2]}'.")


def _require(access: Access, route: _Route) -> None:
    if route.sufficient is None:
        if access.user_id is None:
            raise BadQuery("BadRequest", "/me request is only valid with delegated authentication flow.")
        if not access.permissions:
            raise Forbidden("Insufficient privileges to complete the operation: the token is not for this directory.")
    elif not access.permissions & route.sufficient:
        names = ", ".join(sorted(route.sufficient))
        raise Forbidden(f"Insufficient privileges to complete the operation. One of these would do: {names}.")


def _named(call: Call, named: str | None) -> Call:
    """Set the id or address in the path.

    Without one, the call is about the calling user.
    """
    if named is None:
        return call
    if re.fullmatch(_ID, named):
        return replace(call, id=UUID(named))
    return replace(call, id=None, address=named)
