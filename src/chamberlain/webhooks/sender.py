"""Sending one call, and what came back: within 15 seconds, without redirects or a proxy, and with little of the answer
read.

It is made with the engine of httpx2, which takes a way to connect of our own; httpx2 itself does not. Connections are
kept by us (kept.py), since the engine's own pool looks at all of them at each call.
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

from chamberlain.webhooks.addresses import Address, Network, is_allowed, is_disguised
from chamberlain.webhooks.models import KEPT_ANSWER, Reach, Reply, WebhookCall, kept_answer

# The addresses of a name. Raises OSError where there are none.
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]


class Refused(Exception):
    """An address that may not be called. It does not say why, nor whether the name is known: whoever sets addresses
    shall not find out about networks that only the service can see."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Says which addresses a name may be reached at. `allowed` are networks, beyond what is public."""

    resolve: Resolve
    allowed: Sequence[Network]

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """The addresses of a host, all of which may be called. Raises Refused."""
        if is_disguised(host):
            raise Refused
        try:
            found = await self.resolve(host, port)
        except OSError as error:
            raise Refused from error
        if not found or not all(is_allowed(address, self.allowed) for address in found):
            raise Refused
        return found


class GuardedConnection(httpcore2.AsyncHTTPConnection):
    """One connection to a receiver, for one call after the other; it is made by the first."""

    def __init__(self, origin: httpcore2.Origin, guard: Guard, *, trust: ssl.SSLContext, idle: timedelta) -> None:
        self._backend = _Backend(guard)
        super().__init__(
            origin, ssl_context=trust, keepalive_expiry=idle.total_seconds(), network_backend=self._backend
        )

    async def aclose(self) -> None:
        """End it, however far it has come."""
        await super().aclose()
        if self._backend.stream is not None:
            # Where TLS has not come about, the library leaves what is below it open.
            await self._backend.stream.aclose()


class _Backend(httpcore2.AsyncNetworkBackend):
    """Connects to what the guard lets through. TLS is made above it, with the name and not with the address."""

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
        """Connect to the first address that answers. Raises Refused, and what the library raises of the last one."""
        *others, last = map(str, await self._guard.addresses(host, port))
        for address in others:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                self.stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
                return self.stream
        self.stream = await self._network.connect_tcp(last, port, timeout, local_address, socket_options)
        return self.stream


# As many as there are calls at a time while receivers keep up (queue/lanes.py). A process may have 1,024 of these and
# of files as a rule, and those that are in use need most of them.
MOST: Final = 128
# How long one waits that is not used.
IDLE: Final = timedelta(seconds=30)


class KeptConnections:
    """Keeps connections by what they lead to, `most` of them at most and none for long: those that have waited longest
    are ended when another one comes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        # What each leads to and since when it waits; the one that has waited longest stands first.
        self._all: dict[GuardedConnection, tuple[Hashable, float]] = {}
        # The same for each receiver, in the same order.
        self._of: defaultdict[Hashable, dict[GuardedConnection, None]] = defaultdict(dict)

    async def take(self, receiver: Hashable) -> GuardedConnection | None:
        """The connection that was used last, if there is one that the receiver has not ended meanwhile."""
        while receiver in self._of:
            connection = next(reversed(self._of[receiver]))
            self._remove(connection)
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def keep(self, receiver: Hashable, connection: GuardedConnection) -> None:
        """Keep one that is not in use any more, and end what is too old or too many."""
        self._all[connection] = receiver, monotonic()
        self._of[receiver][connection] = None
        while (surplus := self._surplus()) is not None:
            self._remove(surplus)
            await surplus.aclose()

    async def close(self) -> None:
        """End all; what comes later is ended at once."""
        self._most = 0
        for connection in list(self._all):
            self._remove(connection)
            await connection.aclose()

    def _surplus(self) -> GuardedConnection | None:
        """The one that has waited longest, if that is too long or if there are too many."""
        if not self._all:
            return None
        oldest, (_, since) = next(iter(self._all.items()))
        is_old = since < monotonic() - IDLE.total_seconds()
        return oldest if is_old or len(self._all) > self._most else None

    def _remove(self, connection: GuardedConnection) -> None:
        receiver, _ = self._all.pop(connection)
        del self._of[receiver][connection]
        if not self._of[receiver]:
            del self._of[receiver]


_SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with, and none itself.


def signed_headers(message_id: str, at: datetime, payload: bytes, secrets: Iterable[str]) -> Mapping[str, str]:
    """The three headers of a call: one signature for each secret (`whsec_` and base64), in their order."""
    seconds = str(int(at.timestamp()))
    content = f"{message_id}.{seconds}.".encode() + payload
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(f"v1,{_signature(secret, content)}" for secret in secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = b64decode(secret.removeprefix(_SECRET_PREFIX))
    return b64encode(hmac.digest(key, content, "sha256")).decode("ascii")


TIME_OUT: Final = timedelta(seconds=15)

# What administrators read of a call without an answer. Whatever an address is refused for reads the same.
REFUSED: Final = (
    "This address may not be called. It has to begin with https, and its name has to stand for public addresses only, "
    "unless the operator allows more."
)
TIMED_OUT: Final = "There was no answer within 15 seconds."
UNREACHABLE: Final = "No connection could be made, or it ended before there was an answer."
UNTRUSTED: Final = "No secure connection could be made: the certificate is not valid for this name, or not trusted."
UNREADABLE: Final = "What came back was not an answer of HTTP."

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Send(Protocol):
    """Make a call. Failures are part of the reply."""

    def __call__(self, call: WebhookCall) -> Awaitable[Reply]: ...


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a call goes: the receiver, with its own connections, and the path there."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """What the header Host says."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"


class Sender:
    """Makes calls. Every receiver has connections of its own, so that one that hangs is in nobody's way."""

    def __init__(
        self,
        *,
        resolve: Resolve,
        allowed_networks: Sequence[Network],
        allow_http: bool,
        trust: ssl.SSLContext,
        now: Callable[[], datetime],
        time_out: timedelta = TIME_OUT,
    ) -> None:
        self._guard = Guard(resolve, allowed_networks)
        self._schemes = {"http", "https"} if allow_http else {"https"}
        self._trust = trust
        self._now = now
        self._time_out = time_out
        self._kept = KeptConnections()

    async def send(self, call: WebhookCall) -> Reply:
        """Make a call; whatever goes wrong is in the reply."""
        at, begun = self._now(), monotonic()
        try:
            target = self._target(call.url)
            async with asyncio.timeout(self._time_out.total_seconds()):
                status, headers, body = await self._exchange(target, call, at)
        except Refused:
            return Reply(at, _since(begun), error=REFUSED)
        except (TimeoutError, httpcore2.TimeoutException):
            return Reply(at, _since(begun), error=TIMED_OUT)
        except httpcore2.ProtocolError:
            return Reply(at, _since(begun), error=UNREADABLE)
        except (httpcore2.NetworkError, OSError) as error:
            return Reply(at, _since(begun), error=UNTRUSTED if _is_about_trust(error) else UNREACHABLE)
        wait = _retry_after(headers.get(b"retry-after"), at)
        return Reply(at, _since(begun), status=status, answer=kept_answer(body), retry_after=wait)

    async def close(self) -> None:
        """End all connections that are not in use."""
        await self._kept.close()

    def _target(self, url: str) -> _Target:
        """Raises Refused for what cannot be called."""
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
                body = await _beginning(response.aiter_stream())
            finally:
                await response.aclose()
            found = {name.lower(): value for name, value in response.headers}
            if response.status == 204 and _announces_body(found):
                # What there must not be would be taken for the answer to the next call.
                await connection.aclose()
            return response.status, found, body

    @asynccontextmanager
    async def _connection(self, target: _Target, origin: httpcore2.Origin) -> AsyncIterator[GuardedConnection]:
        """A connection to a receiver for one call, kept for the next one if the call leaves it in order."""
        connection = await self._kept.take(target.origin)
        if connection is None:
            connection = GuardedConnection(origin, self._guard, trust=self._trust, idle=IDLE)
        try:
            yield connection
        finally:
            if connection.is_idle():
                await self._kept.keep(target.origin, connection)
            else:
                await connection.aclose()


# What may stand in the first line of a request as it was written; all else is sent as percent signs and digits.
_AS_IT_IS: Final = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}"


async def _beginning(body: AsyncIterable[bytes]) -> bytes:
    """The first bytes of an answer. A longer one is not read to its end, and its connection is not used again."""
    found = b""
    async for part in body:
        found += part
        if len(found) >= KEPT_ANSWER:
            break
    return found[:KEPT_ANSWER]


def _announces_body(headers: Mapping[bytes, bytes]) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


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
        # W3C Trace Context: the event stands for the span that has told it.
        headers["traceparent"] = f"00-{call.trace_id}-{call.event_id.hex[16:]}-01"
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


def _is_about_trust(error: BaseException) -> bool:
    """Whether TLS is at the bottom of it; what the libraries in between raise tells nothing of that."""
    below = error.__cause__ or error.__context__
    return isinstance(error, ssl.SSLError) or (below is not None and _is_about_trust(below))


def _retry_after(value: bytes | None, at: datetime) -> timedelta | None:
    """How long the receiver asks us to wait: a number of seconds, or a time (RFC 9110, 10.2.3). Nonsense asks for
    nothing, a year of twenty digits too."""
    text = (value or b"").decode("latin-1").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max((then if then.tzinfo else then.replace(tzinfo=UTC)) - at, timedelta())


def _since(begun: float) -> timedelta:
    return timedelta(seconds=monotonic() - begun)


# A name server that has not answered by then does not answer.
PATIENCE = timedelta(seconds=5)


async def reach_of(url: str, resolve: Resolve, *, allowed: Sequence[Network], allow_http: bool) -> Reach:
    """What would keep a call from being made, by the same rules that calls go by."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("ascii").lower()
        port = parts.port or 0
    except ValueError:
        return Reach.NO_NAME
    if parts.scheme != "https" and not (parts.scheme == "http" and allow_http):
        return Reach.NOT_HTTPS
    if is_disguised(host):
        return Reach.REFUSED
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            addresses = await resolve(host, port)
    except (OSError, TimeoutError):
        return Reach.NO_NAME
    if not addresses:
        return Reach.NO_NAME
    return Reach.YES if all(is_allowed(address, allowed) for address in addresses) else Reach.REFUSED
