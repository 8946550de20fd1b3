"""What somebody sees who waits for an import: on a terminal a bar, elsewhere nothing."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error for as long as the block runs; what it gives is called for each thing that is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def stopped_by_interrupt(loop: "asyncio.AbstractEventLoop", stop: "asyncio.Event") -> Iterator[None]:
    """Let Ctrl-C set the event once; a second one ends everything, as it does elsewhere."""

    def interrupt() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
