"""Listening: what somebody tells on a channel of the database is heard for ever, whatever becomes of connections."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from chamberlain.core.errors import Unavailable
from chamberlain.database.errors import unavailable
from chamberlain.database.transactions import Connection, connect


async def listen(
    address: str,
    channel: str,
    heard: Callable[[str], None],
    *,
    lost: Callable[[], None] = lambda: None,
    pause: timedelta = timedelta(seconds=1),
    look: timedelta = timedelta(seconds=15),
) -> None:
    """Call `heard` with every notification of a channel, for ever. A connection that dies, or whose server does not
    answer when it is asked every `look`, is made anew after a pause: `lost` is called when it dies, and `heard` with ''
    when it stands again, since something may have been missed."""
    while True:
        with suppress(Unavailable):
            connection = await connect(address)
            try:
                with unavailable():
                    await connection.add_listener(channel, lambda *heard_there: heard(str(heard_there[-1])))
                heard("")
                await _until_gone(connection, look)
            finally:
                lost()
                connection.terminate()
        await asyncio.sleep(pause.total_seconds())


async def _until_gone(connection: Connection, look: timedelta) -> None:
    gone = asyncio.Event()
    connection.add_termination_listener(lambda _connection: gone.set())
    while not (gone.is_set() or connection.is_closed()):
        with suppress(TimeoutError):
            async with asyncio.timeout(look.total_seconds()):
                await gone.wait()
        # Nothing at all is heard from a server that is switched off, either.
        with unavailable():
            await connection.execute("SELECT")
