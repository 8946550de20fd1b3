# SPDX-License-Identifier: Apache-2.0
"""Validate the addresses of webhooks.

Allowed are public addresses and the networks that the operator configures. The lists are written out, because the
standard library's idea of a global address depends on its version. Their source are the special-purpose address
registries of IANA (RFC 6890 and its updates). Addresses that are translated to others are refused: IPv4-mapped, NAT64,
6to4 and Teredo.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Thread
from urllib.parse import urlsplit

from chamberlain.webhooks.models import Reachability

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
_REFUSED = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            # In none of the registries: the host of every virtual machine of Azure, which answers that machine alone.
            "168.63.129.16/32",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
        ),
    )
)
# The public range so far. The networks above are refused within it.
_PUBLIC_6 = IPv6Network("2000::/3")
# The URL standard parses a host as an IPv4 address if its last part is a number.
_ENDS_IN_A_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$")
# Blocks on a name server, in a thread. Returns errors instead of raising them.
LookUp = Callable[[str], Sequence[Address] | OSError]
# A lookup without an answer blocks its thread for many seconds.
_THREADS = 256


def look_up(host: str) -> Sequence[Address] | OSError:
    """The addresses of a name, or why there are none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        return error
    except ValueError:
        # No name can be like that: it has a null character in it, or a part that is too long.
        return OSError(host)
    # The zone of a link-local address does not matter for the check.
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


class Resolver:
    """Resolve names in threads of its own.

    The threads of the event loop are few, and the process would wait for them when it ends. Lookups of one name are
    shared, so that a name without an answer takes one thread only.
    """

    def __init__(self, look_up: LookUp = look_up) -> None:
        self._look_up = look_up
        self._slots = asyncio.Semaphore(_THREADS)
        self._lookups: dict[str, asyncio.Task[Sequence[Address] | OSError]] = {}

    async def __call__(self, host: str, _port: int) -> Sequence[Address]:
        """The addresses of a name. Raises OSError where there are none."""
        if (task := self._lookups.get(host)) is None:
            task = self._lookups[host] = asyncio.create_task(self._ask(host))
            task.add_done_callback(lambda _: self._lookups.pop(host))
        # A caller that gives up must not cancel the lookup for the others.
        answer = await asyncio.shield(task)
        if isinstance(answer, OSError):
            raise OSError(host) from answer
        return answer

    async def _ask(self, host: str) -> Sequence[Address] | OSError:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Sequence[Address] | OSError] = loop.create_future()

        def tell(answer: Sequence[Address] | OSError) -> None:
            self._slots.release()
            if not found.done():
                found.set_result(answer)

        def run() -> None:
            answer = self._look_up(host)
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tell, answer)

        await self._slots.acquire()
        try:
            Thread(target=run, name="webhook name", daemon=True).start()
        except RuntimeError as error:
            # The system gives no more threads.
            tell(OSError(str(error)))
        return await found


# The addresses of a name. Raises OSError where there are none.
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]
# A name server that has not answered by then does not answer.
LOOKUP_TIMEOUT = timedelta(seconds=5)


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    """Return whether an address is public or in the `allowed` networks."""
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address) and address not in _PUBLIC_6:
        return False
    return not any(address in network for network in _REFUSED)


def is_ambiguous(host: str) -> bool:
    """Return whether a host is an IPv4 address in an unusual notation.

    Examples are a single number, octal or hexadecimal parts, and missing parts.
    """
    if _ENDS_IN_A_NUMBER.search(host) is None:
        return False
    try:
        return str(ip_address(host)) != host
    except ValueError:
        return True


async def check_address(url: str, resolve: Resolve, *, allowed: Sequence[Network], allow_http: bool) -> Reachability:
    """Check whether a webhook could be called, by the rules of calls."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("ascii").lower()
        port = parts.port or 0
    except ValueError:
        return Reachability.NO_NAME
    if parts.scheme != "https" and not (parts.scheme == "http" and allow_http):
        return Reachability.NOT_HTTPS
    if is_ambiguous(host):
        return Reachability.REFUSED
    try:
        async with asyncio.timeout(LOOKUP_TIMEOUT.total_seconds()):
            addresses = await resolve(host, port)
    except (OSError, TimeoutError):
        return Reachability.NO_NAME
    if not addresses:
        return Reachability.NO_NAME
    return Reachability.YES if all(is_allowed(address, allowed) for address in addresses) else Reachability.REFUSED
