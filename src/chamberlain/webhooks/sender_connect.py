"""Connecting to a receiver: the name is looked up once, every address that it stands for must be allowed, and the
connection goes to one of exactly these addresses. A later look-up with another answer changes nothing."""

import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import httpcore2

from chamberlain.webhooks.addresses import Address, Network, is_allowed, is_disguised

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
