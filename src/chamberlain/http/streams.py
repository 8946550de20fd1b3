"""Streamed responses: their number per caller, and their end.

A stream must not delay the stop of the process, must end with its client, and must leave no task behind.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from starlette.types import Receive, Send

from chamberlain.auth.models import Caller
from chamberlain.core.errors import LimitReached
from chamberlain.http.body import CallerGone
from chamberlain.http.calls import Stream

# A browser window needs one or two.
MOST_OPEN = 20
# A token that is about to expire still gets the available items.
SHORTEST = timedelta(seconds=1)

Result = TypeVar("Result")
Header = tuple[bytes, bytes]


class Streams:
    """The streams of one process. `stopping` is set when the process stops."""

    def __init__(self, now: Callable[[], datetime], stopping: asyncio.Event, *, most: int = MOST_OPEN) -> None:
        self._now = now
        self._stopping = stopping
        self._most = most
        self._open: Counter[tuple[object, ...]] = Counter()

    def open(self, caller: Caller) -> Callable[[], None]:
        """Count one more stream of a caller; call the result when it ends. Raises LimitReached."""
        place = (caller.tenant_id, caller.type, caller.id)
        if self._open[place] >= self._most:
            raise LimitReached(
                "quotaExceeded",
                f"You have {self._most} open streams, the most for one caller. Close one of them.",
                limit="openStreams",
                after=timedelta(seconds=1),
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
        """Return the result of the work; None if the time is up or the process stops first. Raises CallerGone.

        The work is cancelled in each case.
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
