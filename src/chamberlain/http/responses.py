# SPDX-License-Identifier: Apache-2.0
"""Responses of handlers, and the open streams of a process.

Responses are complete or streamed. A stream must not delay the stop of the process, must end with its client, and must
leave no task behind.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct
from starlette.types import Receive, Send

from chamberlain.auth.models import Caller
from chamberlain.core.errors import LimitReached

Headers = tuple[tuple[bytes, bytes], ...]
Header = tuple[bytes, bytes]
JSON = b"application/json"
# Responses are private to the caller and change, so no cache may store them.
NO_STORE = (b"cache-control", b"no-store")


# A struct, because making a frozen dataclass costs ten times as much, and each call makes one.
class Answer(Struct, frozen=True):
    """A complete response.

    The pipeline adds length, request-id and client-request-id.
    """

    status: int
    body: bytes
    headers: Headers = ()
    content_type: bytes = JSON


class Stream(Struct, frozen=True):
    """A streamed response.

    It ends when its chunks end, at `ends_at`, when the client disconnects, or when the service stops. `close` is called
    in each case. If it `must_be_whole` and is cut short, the connection is closed without the end of the body, so that
    the client notices.
    """

    chunks: AsyncGenerator[bytes, None]
    content_type: bytes
    headers: Headers
    ends_at: datetime
    close: Callable[[], None]
    status: int = 200
    must_be_whole: bool = False


class CallerGone(Exception):
    """The client closed the connection before the call was complete."""


# A browser window needs one or two.
MOST_OPEN = 20
# A token that is about to expire still gets the available items.
SHORTEST = timedelta(seconds=1)
Result = TypeVar("Result")


class Streams:
    """The streams of one process. `stopping` is set when the process stops."""

    def __init__(self, now: Callable[[], datetime], stopping: asyncio.Event, *, most: int = MOST_OPEN) -> None:
        self._now = now
        self._stopping = stopping
        self._most = most
        self._open: Counter[tuple[object, ...]] = Counter()

    def open(self, caller: Caller) -> Callable[[], None]:
        """Count one more stream of a caller. Raises LimitReached.

        Call the result when the stream ends.
        """
        place = (caller.tenant_id, caller.type, caller.id)
        if self._open[place] >= self._most:
            raise LimitReached(
                "quotaExceeded",
                "You have {max} open streams, the most for one caller. Close one of them.",
                limit="openStreams",
                after=timedelta(seconds=1),
                values={"max": self._most},
            )
        self._open[place] += 1
        return lambda: self._close(place)

    def _close(self, place: tuple[object, ...]) -> None:
        self._open[place] -= 1
        if not self._open[place]:
            del self._open[place]

    async def send(self, stream: Stream, method: str, headers: list[Header], receive: Receive, send: Send) -> None:
        """Send a stream to its end."""
        try:
            headers += ((b"content-type", stream.content_type), *stream.headers)
            await send({"type": "http.response.start", "status": stream.status, "headers": headers})
            is_whole: bool | None = True
            if method != "HEAD":
                left, is_whole = max(SHORTEST, stream.ends_at - self._now()), None
                with suppress(CallerGone):
                    is_whole = await self.attend(_pass_on(stream.chunks, send), receive, left)
            # Without an end the server closes the connection.
            if is_whole or not stream.must_be_whole:
                await send({"type": "http.response.body", "body": b""})
        finally:
            await stream.chunks.aclose()
            stream.close()

    async def attend(self, work: Coroutine[None, None, Result], receive: Receive, patience: timedelta) -> Result | None:
        """Return the result of the work, or None. Raises CallerGone.

        Returns None if the time is up or the process stops first. The work is cancelled in each case.
        """
        task, gone = asyncio.create_task(work), asyncio.create_task(_gone(receive))
        tasks: set[asyncio.Task[object]] = {task, gone, asyncio.create_task(self._stopping.wait())}
        try:
            await asyncio.wait(tasks, timeout=patience.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                raise CallerGone
            return None
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.wait(tasks)


async def _pass_on(chunks: AsyncGenerator[bytes, None], send: Send) -> bool:
    """Send all chunks, then return True."""
    async for chunk in chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    return True


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
