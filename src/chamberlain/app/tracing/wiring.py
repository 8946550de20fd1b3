"""Whether traces are sent, and what every process wraps around its parts when they are. Off, there is nothing around
anything, and the libraries for it are not even read."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from starlette.types import ASGIApp

from chamberlain.core.errors import CannotStart
from chamberlain.database.transactions import Database
from chamberlain.directory.port import Directory, Guests
from chamberlain.guests.assignments.store import Assigner
from chamberlain.queue.models import JobKind
from chamberlain.queue.worker import Handler
from chamberlain.requests.batcher import Acceptor
from chamberlain.settings import read_traces
from chamberlain.webhooks.sender import Send

# The service has ten seconds to stop altogether, and this is the last thing.
_SECONDS_TO_SEND = 1.5

Observe = Callable[[str, str, int, float], None]


class TracesUnusable(CannotStart):
    """Traces are asked for and cannot be sent; the sentence says what to do."""


class Traces(Protocol):
    """What is wrapped around the parts of a process."""

    def application(self, application: ASGIApp) -> ASGIApp:
        """What answers calls."""
        ...

    def observe(self, observe: Observe) -> Observe:
        """What counts calls."""
        ...

    def acceptor(self, database: Database, *, held_addresses: str | None, observe: Callable[[int], None]) -> Acceptor:
        """What writes submissions."""
        ...

    def assigner(self, database: Database) -> Assigner:
        """What changes assignments."""
        ...

    def handlers(self, handlers: Mapping[JobKind, Handler]) -> Mapping[JobKind, Handler]:
        """What does jobs."""
        ...

    def directory(self, directory: Directory) -> Directory:
        """What is asked for groups and mailboxes."""
        ...

    def guests(self, guests: Guests) -> Guests:
        """What is asked for guest rules."""
        ...

    def send(self, send: Send) -> Send:
        """What calls webhooks."""
        ...


class Untraced(Traces):
    """No traces: everything is as it is."""

    def application(self, application: ASGIApp) -> ASGIApp:
        """The same."""
        return application

    def observe(self, observe: Observe) -> Observe:
        """The same."""
        return observe

    def acceptor(self, database: Database, *, held_addresses: str | None, observe: Callable[[int], None]) -> Acceptor:
        """An acceptor."""
        return Acceptor(database, held_addresses=held_addresses, observe=observe)

    def assigner(self, database: Database) -> Assigner:
        """An assigner."""
        return Assigner(database)

    def handlers(self, handlers: Mapping[JobKind, Handler]) -> Mapping[JobKind, Handler]:
        """The same."""
        return handlers

    def directory(self, directory: Directory) -> Directory:
        """The same."""
        return directory

    def guests(self, guests: Guests) -> Guests:
        """The same."""
        return guests

    def send(self, send: Send) -> Send:
        """The same."""
        return send


@asynccontextmanager
async def opened_traces() -> AsyncIterator[Traces]:
    """What to wrap around the parts, for as long as the block runs; then what is left is sent. Raises
    TracesUnusable."""
    wanted = read_traces()
    if not wanted.are_sent:
        yield Untraced()
        return
    if wanted.protocol not in {"", "http/protobuf"}:
        raise TracesUnusable(
            f'OTEL_EXPORTER_OTLP_PROTOCOL is "{wanted.protocol}": traces are sent by http/protobuf, which receivers '
            "take on port 4318."
        )
    if (
        importlib.util.find_spec("opentelemetry.exporter") is None
        or importlib.util.find_spec("opentelemetry.sdk") is None
    ):
        raise TracesUnusable(
            "OTEL_EXPORTER_OTLP_ENDPOINT asks for traces, and what sends them is not installed: run "
            "`python3 dev.py setup --traces`, or take the variable away."
        )
    from chamberlain.app.tracing.provider import Sent

    traces = Sent()
    try:
        yield traces
    finally:
        await asyncio.to_thread(traces.close, _SECONDS_TO_SEND)
