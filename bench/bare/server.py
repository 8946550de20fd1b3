# SPDX-License-Identifier: Apache-2.0
"""A server that reads nothing: whatever comes is a call for a group, answered when the group's request is written.

It has the service's loop and what the service writes requests with, and nothing else of it: no HTTP, no token, no body,
no template, no rule. Run as a process, by the address of the database and the port to listen at.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from typing import cast

import uvloop

from chamberlain.database.transactions import open_database
from chamberlain.embedded.directory.people import HELD_ADDRESSES
from chamberlain.requests.batcher import Acceptor
from chamberlain.requests.models import Draft, Verdict, Written
from tests.drafts import draft

# As short as an answer may be.
ANSWER = b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}"

Answer = Callable[[bytes], None]


class _Calls(asyncio.Protocol):
    """wrk sends each call in one piece, and the next one when it has its answer."""

    def __init__(self, answer: Callable[[Answer], None]) -> None:
        self._answer = answer
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # That of a stream, which the loop says of none of its own.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None

    def data_received(self, _: bytes) -> None:
        self._answer(self._write)

    def _write(self, answer: bytes) -> None:
        # The load may have ended meanwhile.
        if self._transport is not None:
            self._transport.write(answer)


async def _accept(accept: Callable[[Draft], Awaitable[Verdict]], number: int, answer: Answer) -> None:
    verdict = await accept(draft(f"bare-{number}", ask_addresses=True))
    if verdict != Written():
        raise SystemExit(f"A request was not written: {verdict}")
    answer(ANSWER)


async def serve(address: str, port: int) -> None:
    """Answer for ever."""
    loop, numbers = asyncio.get_running_loop(), count(1)
    database = await open_database(address, most=5, name="bare")
    acceptor = Acceptor(database, held_addresses=HELD_ADDRESSES)
    tasks: set[asyncio.Task[None]] = set()

    def answer(write: Answer) -> None:
        task = loop.create_task(_accept(acceptor.accept, next(numbers), write))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await loop.create_server(lambda: _Calls(answer), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2])))
