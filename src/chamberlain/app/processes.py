# SPDX-License-Identifier: Apache-2.0
"""Parts of every process: background tasks, signals, the garbage collector, and readiness."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

# More is made between two collections than the interpreter's default supposes; fewer of them halve the worst latency.
COLLECT_AFTER = 50_000


@asynccontextmanager
async def running(task: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run a task in the background for the duration of the block.

    An error of the task is logged and stops the process. The end of the block raises it, so that the supervisor
    restarts the process.
    """
    work = asyncio.create_task(task)
    work.add_done_callback(_tell_and_stop)
    try:
        yield
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


def _tell_and_stop(work: asyncio.Task[None]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        logger.error("A part of the process has ended by a bug; the process stops.", exc_info=error)
        signal.raise_signal(signal.SIGTERM)


def stopping_by_signal() -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


class StoppedEarly(Exception):
    """A signal asked the process to end before it had started."""


async def unless_stopped(work: Coroutine[None, None, Result], stop: asyncio.Event) -> Result:
    """Await slow work. Raises StoppedEarly when `stop` is set first.

    The work is then cancelled.
    """
    working, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise StoppedEarly
        return await working
    finally:
        for task in (working, stopped):
            task.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)


def settle_garbage_collector() -> None:
    """Exclude all current objects from garbage collection, and enable it.

    They live as long as the process. The start disables the collector until then.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
