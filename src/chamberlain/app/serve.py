"""Running the service or a worker until it is told to stop."""

import asyncio
import sys
from collections.abc import Coroutine

import typer
import uvloop

from chamberlain.app.service import serve, work
from chamberlain.core.errors import CannotStart
from chamberlain.observability.logs import configure_logs
from chamberlain.settings import Settings


def run_serve(settings: Settings, *, with_worker: bool) -> None:
    """Serve until a signal comes."""
    _run(serve(settings, with_worker=with_worker, say=_say))


def run_worker(settings: Settings) -> None:
    """Work until a signal comes."""
    _run(work(settings, say=_say))


def _run(service: Coroutine[None, None, None]) -> None:
    configure_logs()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(service)
    except CannotStart as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error


def _say(line: str) -> None:
    print(line, flush=True)
