"""The SDK of OpenTelemetry, set up as its own variables say, and every part of a process that it watches."""

import threading
from collections.abc import Callable, Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.types import ASGIApp

import chamberlain
from chamberlain.app.tracing.calls import Observe, TracedCalls, observing
from chamberlain.app.tracing.jobs import TracedDirectory, TracedGuests, traced_handlers
from chamberlain.app.tracing.spans import Ids, Spans
from chamberlain.app.tracing.submissions import TracedAcceptor, TracedAssigner, TracedSend
from chamberlain.database.transactions import Database
from chamberlain.directory.port import Directory, Guests
from chamberlain.guests.assignments.store import Assigner
from chamberlain.queue.models import JobKind
from chamberlain.queue.worker import Handler
from chamberlain.requests.batcher import Acceptor
from chamberlain.webhooks.sender import Send


class Sent:
    """Traces that are sent. Each method gives what it was given, with spans around it."""

    def __init__(self) -> None:
        # What an operator says of the process comes before what we say of it.
        own = Resource({"service.name": "chamberlain", "service.version": chamberlain.__version__})
        ids = Ids()
        self._provider = TracerProvider(
            resource=own.merge(OTELResourceDetector().detect()), id_generator=ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._spans = Spans(self._provider, ids)

    def application(self, application: ASGIApp) -> ASGIApp:
        """What answers calls."""
        return TracedCalls(application, self._spans)

    def observe(self, observe: Observe) -> Observe:
        """What counts calls."""
        return observing(observe)

    def acceptor(self, database: Database, *, held_addresses: str | None, observe: Callable[[int], None]) -> Acceptor:
        """What writes submissions."""
        return TracedAcceptor(database, self._spans, held_addresses=held_addresses, observe=observe)

    def assigner(self, database: Database) -> Assigner:
        """What changes assignments."""
        return TracedAssigner(database, self._spans)

    def handlers(self, handlers: Mapping[JobKind, Handler]) -> Mapping[JobKind, Handler]:
        """What does jobs."""
        return traced_handlers(handlers, self._spans)

    def directory(self, directory: Directory) -> Directory:
        """What is asked for groups and mailboxes."""
        return TracedDirectory(directory, self._spans)

    def guests(self, guests: Guests) -> Guests:
        """What is asked for guest rules."""
        return TracedGuests(guests, self._spans)

    def send(self, send: Send) -> Send:
        """What calls webhooks."""
        return TracedSend(send, self._spans)

    def close(self, within: float) -> None:
        """Send what is left, for so many seconds at most: a receiver that hangs must not hold up the end."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(within)
