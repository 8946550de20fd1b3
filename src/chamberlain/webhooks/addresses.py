"""Which addresses a webhook may stand at: public ones, and those of networks that the operator allows.

The lists are written out, because what the standard library calls global depends on its version. They are those of the
special-purpose address registries of IANA (RFC 6890 and its updates), with whatever leads to another address by
translation: IPv4-mapped, NAT64, 6to4 and Teredo.
"""

import asyncio
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Thread

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
# All that is given out to the public so far; in it, what is refused above is not.
_PUBLIC_6 = IPv6Network("2000::/3")

# What the URL standard of browsers takes for an IPv4 address however it is written: a host whose last part is a number.
_ENDS_IN_A_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$")


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    """Whether an address may be connected to, beyond public ones those of the networks that are allowed."""
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address) and address not in _PUBLIC_6:
        return False
    return not any(address in network for network in _REFUSED)


def is_disguised(host: str) -> bool:
    """Whether a host is an IPv4 address that is not written as one: as a whole number, in octal or hexadecimal, or with
    parts left out."""
    if _ENDS_IN_A_NUMBER.search(host) is None:
        return False
    try:
        return str(ip_address(host)) != host
    except ValueError:
        return True


# Waits for a name server, in a thread; what went wrong is given, not raised.
LookUp = Callable[[str], Sequence[Address] | OSError]

# A name server that does not answer keeps a thread for many seconds. No more than so many are asked at a time.
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
    # The zone of a link-local address is of no use here: such an address is refused, or was allowed by its network.
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


class Resolver:
    """Looks names up in threads of its own: the event loop's are few, and have to be waited for when the process ends.

    Calls to one name share a look-up, so that a name that nobody answers for takes one thread and not all of them.
    """

    def __init__(self, look_up: LookUp = look_up) -> None:
        self._look_up = look_up
        self._room = asyncio.Semaphore(_THREADS)
        self._under_way: dict[str, asyncio.Task[Sequence[Address] | OSError]] = {}

    async def __call__(self, host: str, _port: int) -> Sequence[Address]:
        """The addresses of a name. Raises OSError where there are none."""
        if (task := self._under_way.get(host)) is None:
            task = self._under_way[host] = asyncio.create_task(self._ask(host))
            task.add_done_callback(lambda _: self._under_way.pop(host))
        # Who waits no longer leaves it to the others.
        answer = await asyncio.shield(task)
        if isinstance(answer, OSError):
            raise OSError(host) from answer
        return answer

    async def _ask(self, host: str) -> Sequence[Address] | OSError:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Sequence[Address] | OSError] = loop.create_future()

        def tell(answer: Sequence[Address] | OSError) -> None:
            self._room.release()
            if not found.done():
                found.set_result(answer)

        def run() -> None:
            answer = self._look_up(host)
            # When the loop has ended meanwhile, nobody waits for it any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tell, answer)

        await self._room.acquire()
        try:
            Thread(target=run, name="webhook name", daemon=True).start()
        except RuntimeError as error:
            # The system gives no more threads.
            tell(OSError(str(error)))
        return await found
