# SPDX-License-Identifier: Apache-2.0
"""Sets, lists and clears faults, and lets them hit HTTP calls."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil
from typing import TypeVar
from uuid import UUID

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chamberlain.embedded.directory.errors import Forbidden, NotNow, Unauthorized
from chamberlain.embedded.directory.requested_faults import (
    MOST_FAULTS,
    Hit,
    Kind,
    NewFault,
    Operation,
    RequestedFaults,
    SetFault,
)

# Takes the Authorization header, or None, and returns the tenant. Raises Unauthorized, Forbidden or Unreachable.
Authenticate = Callable[[str | None], Awaitable[UUID]]

# A fault has a few members.
_MOST_BYTES = 4096
# A client that sends its body slower than this is gone, in seconds.
BODY_TIMEOUT = 30.0
_bodies = msgspec.json.Decoder(NewFault)


class _Refused(Exception):
    """A refused call: its status, code and sentence."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail


class _Faults(msgspec.Struct, frozen=True):
    faults: list[SetFault]


@dataclass(frozen=True, slots=True)
class Route:
    """A path with placeholders, for metrics and traces."""

    path_format: str


_LIST, _ONE = Route("/faults"), Route("/faults/{id}")


class FaultsServer:
    """The ASGI application below `/emulator`.

    A caller reaches the faults of the own tenant only.
    """

    def __init__(
        self,
        faults: RequestedFaults,
        authenticate: Authenticate,
        new_id: Callable[[], UUID],
        *,
        body_timeout: float = BODY_TIMEOUT,
    ) -> None:
        self._faults = faults
        self._body_timeout = body_timeout
        self._authenticate = authenticate
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        try:
            status, answer = await self._answer(scope, receive)
            body = b"" if answer is None else msgspec.json.encode(answer)
        except (_Refused, Unauthorized, Forbidden, NotNow) as fault:
            status, body = _refusal(fault)
        headers = [(b"cache-control", b"no-store")]
        if status != 204:
            headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, SetFault | _Faults | None]:
        path: str = scope["path"].removeprefix(scope.get("root_path", "")).strip("/")
        if path.partition("/")[0] == "faults":
            scope["route"] = _LIST if path == "faults" else _ONE
        token = dict(scope["headers"]).get(b"authorization")
        tenant_id = await self._authenticate(None if token is None else token.decode("latin-1"))
        match scope["method"], path:
            case "GET", "faults":
                return 200, _Faults(list(await self._faults.list(tenant_id)))
            case "POST", "faults":
                return 201, await self._set(tenant_id, receive)
            case "DELETE", "faults":
                await self._faults.clear(tenant_id)
                return 204, None
            case "DELETE", _ if path.startswith("faults/"):
                if await self._faults.clear(tenant_id, _id(path.removeprefix("faults/"))):
                    return 204, None
                raise _unknown()
            case _, "faults":
                raise _Refused(405, "methodNotAllowed", "The methods are GET, POST and DELETE.")
            case _:
                raise _unknown()

    async def _set(self, tenant_id: UUID, receive: Receive) -> SetFault:
        try:
            async with asyncio.timeout(self._body_timeout):
                raw = await _read_body(receive)
        except TimeoutError:
            raise _Refused(408, "bodyTooSlow", "The body did not arrive in time.") from None
        try:
            new = _bodies.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            known = f"Operations are {', '.join(Operation)}. Kinds are {', '.join(Kind)}."
            raise _Refused(400, "bodyInvalid", f"The fault is not valid: {error}. {known}") from error
        if new.kind.is_after_write and not new.operation.is_write:
            detail = f"The kind {new.kind} is for writes, and {new.operation} is none."
            raise _Refused(400, "bodyInvalid", detail)
        fault = await self._faults.set(tenant_id, self._new_id(), new)
        if fault is None:
            raise _Refused(409, "tooManyFaults", f"A tenant has at most {MOST_FAULTS} faults. Clear some.")
        return fault


async def _read_body(receive: Receive) -> bytes:
    raw = bytearray()
    while (message := await receive())["type"] == "http.request":
        raw += message.get("body", b"")
        if len(raw) > _MOST_BYTES:
            raise _Refused(413, "bodyTooLarge", f"A fault has at most {_MOST_BYTES} bytes.")
        if not message.get("more_body", False):
            break
    return bytes(raw)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise _unknown() from None


def _unknown() -> _Refused:
    return _Refused(404, "notFound", "There is no such fault.")


def _refusal(fault: _Refused | Unauthorized | Forbidden | NotNow) -> tuple[int, bytes]:
    match fault:
        case _Refused():
            return _problem(fault.status, fault.code, fault.detail)
        case Unauthorized():
            return _problem(401, "tokenInvalid" if fault.had_token else "tokenMissing", str(fault))
        case Forbidden():
            return _problem(403, "insufficientScope", str(fault))
        case NotNow():
            seconds = ceil(fault.after.total_seconds())
            return _problem(503, "overloaded", f"Send the request again after {seconds} s.")


def _problem(status: int, code: str, detail: str) -> tuple[int, bytes]:
    return status, msgspec.json.encode({"code": code, "detail": detail})


@dataclass(slots=True)
class _CallOverHttp:
    """A call with its operation, and the fault that hits its response."""

    operation: Operation
    lost: Hit | None = None


_current: ContextVar[_CallOverHttp | None] = ContextVar("call_over_http", default=None)
_Accessed = TypeVar("_Accessed")


def with_faults(
    authenticate: Callable[[str | None], Awaitable[_Accessed]],
    faults: RequestedFaults,
    tenant_of: Callable[[_Accessed], UUID],
) -> Callable[[str | None], Awaitable[_Accessed]]:
    """Let faults hit calls as soon as their tenant is known.

    The result raises Throttled and Unreachable. `FaultyApplication` sets the operation.
    """

    async def authenticated(authorization: str | None) -> _Accessed:
        access = await authenticate(authorization)
        call = _current.get()
        if call is not None:
            tenant_id = tenant_of(access)
            hit = (await faults.take(call.operation, [tenant_id])).get(tenant_id)
            if hit is not None and not hit.kind.is_after_write:
                raise hit.error()
            call.lost = hit
        return access

    return authenticated


class FaultyApplication:
    """An application whose calls can meet faults.

    A response that is lost is replaced by 503 after the write, and so is that of a fault `notYet`.
    """

    def __init__(self, application: ASGIApp, read: Operation, write: Operation) -> None:
        self._application = application
        self._read = read
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        call = _CallOverHttp(self._read if scope["method"] in {"GET", "HEAD", "OPTIONS"} else self._write)
        token = _current.set(call)

        async def send_or_lose(message: Message) -> None:
            if call.lost is None:
                await send(message)
                return
            if message["type"] == "http.response.start":
                seconds = str(ceil(call.lost.after.total_seconds())).encode()
                headers = [(b"retry-after", seconds), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 503, "headers": headers})
            elif not message.get("more_body", False):
                await send({"type": "http.response.body", "body": b""})

        try:
            await self._application(scope, receive, send_or_lose)
        finally:
            _current.reset(token)
