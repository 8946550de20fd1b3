"""Names of receivers, looked up as the machine does."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from threading import Thread

from chamberlain.webhooks.addresses import Address

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
