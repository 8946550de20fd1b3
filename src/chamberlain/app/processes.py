"""What every process of ours does: background tasks that end with it, signals, and a settled garbage collector."""

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
    """Run it in the background for as long as the block runs.

    A part that dies takes the process with it, in order: it is told at once, the process is asked to stop, and what was
    raised comes out at the end of the block, so that whoever supervises the process starts another.
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
    """An event that is set when somebody wants the process to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


class StoppedEarly(Exception):
    """A signal asked the process to end before it had started."""


async def unless_stopped(work: Coroutine[None, None, Result], stop: asyncio.Event) -> Result:
    """Await work that may take long. Raises StoppedEarly, after cancelling it, when `stop` is set before it ends."""
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
    """What is there when all is built stays until the end: it need not be looked at again. Whoever had the collector
    rest until then has it go on."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
