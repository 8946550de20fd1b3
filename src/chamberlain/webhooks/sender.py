# SPDX-License-Identifier: Apache-2.0
"""Call webhooks over HTTP.

A call takes at most 15 seconds, without redirects or a proxy. Only the start of the answer is read. It uses the engine
of httpx2, because httpx2 itself accepts no custom connections. The pool is ours, because the engine's own pool scans
all connections at each call.
"""

import asyncio
import hmac
import re
import ssl
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Final, Protocol
from urllib.parse import quote, urlsplit

import httpcore2

from chamberlain.http_client import is_reset
from chamberlain.webhooks.addresses import Address, Network, Resolve, is_allowed, is_ambiguous
from chamberlain.webhooks.models import MAX_ANSWER_BYTES, Reply, WebhookCall, truncate_answer


class Refused(Exception):
    """An address that may not be called.

    It carries no reason, so that callers cannot probe internal networks and names.
    """


@dataclass(frozen=True, slots=True)
class Guard:
    """Resolve names to addresses that may be called. `allowed` are extra networks."""

    resolve: Resolve
    allowed: Sequence[Network]

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Return the addresses of a host.

        Raises Refused unless all of them may be called.
        """
        if is_ambiguous(host):
            raise Refused
        try:
            found = await self.resolve(host, port)
        except OSError as error:
            raise Refused from error
        if not found or not all(is_allowed(address, self.allowed) for address in found):
            raise Refused
        return found


class GuardedConnection(httpcore2.AsyncHTTPConnection):
    """A connection to a receiver, reused for one call after the other."""

    def __init__(self, origin: httpcore2.Origin, guard: Guard, *, trust: ssl.SSLContext, idle: timedelta) -> None:
        self._backend = _Backend(guard)
        super().__init__(
            origin, ssl_context=trust, keepalive_expiry=idle.total_seconds(), network_backend=self._backend
        )

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send a request.

        A connection that the receiver resets at once is a failed one.
        """
        try:
            return await super().handle_async_request(request)
        except AttributeError as error:
            if not is_reset(error):
                raise
            raise httpcore2.ConnectError("The receiver has reset the connection.") from error

    async def aclose(self) -> None:
        """Close the connection at any stage."""
        await super().aclose()
        if self._backend.stream is not None:
            # After a failed TLS handshake the library leaves the TCP connection open.
            await self._backend.stream.aclose()


class _Backend(httpcore2.AsyncNetworkBackend):
    """Connect to addresses that the guard returns. TLS validates the name."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._network = httpcore2.AnyIOBackend()
        self.stream: httpcore2.AsyncNetworkStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface is the library's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers.

        Raises Refused, and the library's error of the last address.
        """
        *others, last = map(str, await self._guard.addresses(host, port))
        for address in others:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                self.stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
                return self.stream
        self.stream = await self._network.connect_tcp(last, port, timeout, local_address, socket_options)
        return self.stream


# The number of concurrent calls while receivers are fast (queue/lanes.py). A process may open 1,024 files and
# connections as a rule, and the connections in use need most of them.
MAX_IDLE: Final = 128
# How long one waits that is not used.
IDLE_TIMEOUT: Final = timedelta(seconds=30)


class ConnectionPool:
    """Pool of idle connections by receiver, at most `limit`.

    The oldest is closed when there are too many.
    """

    def __init__(self, limit: int = MAX_IDLE) -> None:
        self._limit = limit
        # The receiver and the start of the idle time, oldest first.
        self._idle: dict[GuardedConnection, tuple[Hashable, float]] = {}
        # The same for each receiver, in the same order.
        self._by_receiver: defaultdict[Hashable, dict[GuardedConnection, None]] = defaultdict(dict)

    async def take(self, receiver: Hashable) -> GuardedConnection | None:
        """Return the last used connection that is still open, or None."""
        while receiver in self._by_receiver:
            connection = next(reversed(self._by_receiver[receiver]))
            self._remove(connection)
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def keep(self, receiver: Hashable, connection: GuardedConnection) -> None:
        """Return a connection to the pool, and close surplus ones."""
        self._idle[connection] = receiver, monotonic()
        self._by_receiver[receiver][connection] = None
        while (surplus := self._surplus()) is not None:
            self._remove(surplus)
            await surplus.aclose()

    async def close(self) -> None:
        """Close all connections. Later ones are closed at once."""
        self._limit = 0
        for connection in list(self._idle):
            self._remove(connection)
            await connection.aclose()

    def _surplus(self) -> GuardedConnection | None:
        """Return the oldest connection if it expired or is surplus."""
        if not self._idle:
            return None
        oldest, (_, since) = next(iter(self._idle.items()))
        is_old = since < monotonic() - IDLE_TIMEOUT.total_seconds()
        return oldest if is_old or len(self._idle) > self._limit else None

    def _remove(self, connection: GuardedConnection) -> None:
        receiver, _ = self._idle.pop(connection)
        del self._by_receiver[receiver][connection]
        if not self._by_receiver[receiver]:
            del self._by_receiver[receiver]


_SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix of every secret, not a secret.
TIMEOUT: Final = timedelta(seconds=15)
# Errors of calls without an answer. Refused addresses and unknown names have the same text: another one for unknown
# names would show which internal names exist.
REFUSED: Final = (
    "The name of this address is unknown, or the address may not be called. It must begin with https, and its name "
    "must resolve to public addresses only, unless the operator allows more."
)
TIMED_OUT: Final = "There was no answer within 15 seconds."
UNREACHABLE: Final = "No connection could be made, or it ended before there was an answer."
UNTRUSTED: Final = "No secure connection could be made: the certificate is not valid for this name, or not trusted."
UNREADABLE: Final = "The reply was not valid HTTP."
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Send(Protocol):
    """Make a call. Failures are part of the reply."""

    def __call__(self, call: WebhookCall) -> Awaitable[Reply]: ...


@dataclass(frozen=True, slots=True)
class _Target:
    """The address of a call. Each receiver has connections of its own."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Return the Host header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"


class Sender:
    """Make calls. A slow receiver does not delay others."""

    def __init__(
        self,
        *,
        resolve: Resolve,
        allowed_networks: Sequence[Network],
        allow_http: bool,
        trust: ssl.SSLContext,
        now: Callable[[], datetime],
        timeout: timedelta = TIMEOUT,
    ) -> None:
        self._guard = Guard(resolve, allowed_networks)
        self._schemes = {"http", "https"} if allow_http else {"https"}
        self._trust = trust
        self._now = now
        self._time_out = timeout
        self._pool = ConnectionPool()

    async def send(self, call: WebhookCall) -> Reply:
        """Make a call. Errors are part of the reply."""
        at, begun = self._now(), monotonic()
        try:
            target = self._target(call.url)
            async with asyncio.timeout(self._time_out.total_seconds()):
                status, headers, body = await self._exchange(target, call, at)
        except Refused:
            return Reply(at, _elapsed(begun), error=REFUSED)
        except (TimeoutError, httpcore2.TimeoutException):
            return Reply(at, _elapsed(begun), error=TIMED_OUT)
        except httpcore2.ProtocolError:
            return Reply(at, _elapsed(begun), error=UNREADABLE)
        except (httpcore2.NetworkError, OSError) as error:
            return Reply(at, _elapsed(begun), error=UNTRUSTED if _is_tls_error(error) else UNREACHABLE)
        wait = _retry_after(headers.get(b"retry-after"), at)
        return Reply(at, _elapsed(begun), status=status, answer=truncate_answer(body), retry_after=wait)

    async def close(self) -> None:
        """Close all idle connections."""
        await self._pool.close()

    def _target(self, url: str) -> _Target:
        """Parse the address of a call. Raises Refused."""
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "").encode("idna").decode("ascii").lower()
            port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
        except ValueError as error:
            raise Refused from error
        if parts.scheme not in self._schemes or not host:
            raise Refused
        path = quote(parts.path or "/", safe=_AS_IT_IS)
        query = f"?{quote(parts.query, safe=_AS_IT_IS)}" if parts.query else ""
        return _Target(parts.scheme, host, port, path + query)

    async def _exchange(
        self, target: _Target, call: WebhookCall, at: datetime
    ) -> tuple[int, Mapping[bytes, bytes], bytes]:
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        headers = [(b"host", target.authority.encode()), *_headers(call, at)]
        request = httpcore2.Request("POST", url, headers=headers, content=call.payload)
        async with self._connection(target, url.origin) as connection:
            response = await connection.handle_async_request(request)
            try:
                body = await _read_start(response.aiter_stream())
            finally:
                await response.aclose()
            found = {name.lower(): value for name, value in response.headers}
            if response.status == 204 and _has_body(found):
                # A forbidden body would be read as the answer to the next call.
                await connection.aclose()
            return response.status, found, body

    @asynccontextmanager
    async def _connection(self, target: _Target, origin: httpcore2.Origin) -> AsyncIterator[GuardedConnection]:
        """Lease a connection for one call.

        It returns to the pool if it is reusable.
        """
        connection = await self._pool.take(target.origin)
        if connection is None:
            connection = GuardedConnection(origin, self._guard, trust=self._trust, idle=IDLE_TIMEOUT)
        try:
            yield connection
        finally:
            if connection.is_idle():
                await self._pool.keep(target.origin, connection)
            else:
                await connection.aclose()


# Characters of the request line that are sent unchanged. All others are percent-encoded.
_AS_IT_IS: Final = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}"


def signed_headers(message_id: str, at: datetime, payload: bytes, secrets: Iterable[str]) -> Mapping[str, str]:
    """Sign a call with each of the secrets (`whsec_` and base64)."""
    seconds = str(int(at.timestamp()))
    content = f"{message_id}.{seconds}.".encode() + payload
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(f"v1,{_signature(secret, content)}" for secret in secrets),
    }


def _elapsed(begun: float) -> timedelta:
    return timedelta(seconds=monotonic() - begun)


def _is_tls_error(error: BaseException) -> bool:
    """Return whether TLS caused the error. The libraries in between hide it."""
    below = error.__cause__ or error.__context__
    return isinstance(error, ssl.SSLError) or (below is not None and _is_tls_error(below))


def _retry_after(value: bytes | None, at: datetime) -> timedelta | None:
    """Parse the Retry-After header: seconds or a time (RFC 9110, 10.2.3).

    Invalid values are ignored, and so are absurdly large ones.
    """
    text = (value or b"").decode("latin-1").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max((then if then.tzinfo else then.replace(tzinfo=UTC)) - at, timedelta())


def _headers(call: WebhookCall, at: datetime) -> list[tuple[bytes, bytes]]:
    headers = {
        **signed_headers(str(call.event_id), at, call.payload, call.secrets),
        "content-type": "application/json",
        "content-length": str(len(call.payload)),
        "accept-encoding": "identity",
        "user-agent": "Chamberlain",
    }
    if call.traceparent is not None:
        headers["traceparent"] = call.traceparent
    elif re.fullmatch("[0-9a-f]{32}", call.trace_id):
        # W3C Trace Context: the event id is the id of the parent span.
        headers["traceparent"] = f"00-{call.trace_id}-{call.event_id.hex[16:]}-01"
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


async def _read_start(body: AsyncIterable[bytes]) -> bytes:
    """Read the start of an answer.

    The connection of a longer one is not reused.
    """
    found = b""
    async for part in body:
        found += part
        if len(found) >= MAX_ANSWER_BYTES:
            break
    return found[:MAX_ANSWER_BYTES]


def _has_body(headers: Mapping[bytes, bytes]) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


def _signature(secret: str, content: bytes) -> str:
    key = b64decode(secret.removeprefix(_SECRET_PREFIX))
    return b64encode(hmac.digest(key, content, "sha256")).decode("ascii")
