"""Sending one call, and what came back: within 15 seconds, without redirects or a proxy, and with little of the answer
read.

It is made with the engine of httpx2, which takes a way to connect of our own; httpx2 itself does not. Connections are
kept by us (kept.py), since the engine's own pool looks at all of them at each call.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Final, Protocol
from urllib.parse import quote, urlsplit

import httpcore2

from chamberlain.webhooks.addresses import Network
from chamberlain.webhooks.models import KEPT_ANSWER, Reply, WebhookCall, kept_answer
from chamberlain.webhooks.sender_connect import Guard, GuardedConnection, Refused, Resolve
from chamberlain.webhooks.sender_kept import IDLE, KeptConnections
from chamberlain.webhooks.sender_sign import signed_headers

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
