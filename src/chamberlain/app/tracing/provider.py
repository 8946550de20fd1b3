# SPDX-License-Identifier: Apache-2.0
"""Configure the OpenTelemetry SDK, and wrap every part of a process.

The SDK reads its own variables.
"""

import threading
from collections.abc import Callable, Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.types import ASGIApp

import chamberlain
from chamberlain.app.tracing.calls import TracedAcceptor, TracedAssigner, TracedCalls, TracedSend, observing
from chamberlain.app.tracing.jobs import TracedDirectory, TracedGuests, traced_handlers
from chamberlain.app.tracing.spans import Ids, Spans
from chamberlain.app.tracing.traces import Observe, Traces
from chamberlain.database.transactions import Database
from chamberlain.directory.port import Directory, Guests
from chamberlain.guests.assignments.store import Assigner
from chamberlain.queue.models import JobKind
from chamberlain.queue.worker import Handler
from chamberlain.requests.batcher import Acceptor
from chamberlain.webhooks.sender import Send


class SentTraces(Traces):
    """Traces that are sent to a receiver."""

    def __init__(self) -> None:
        # The operator's resource attributes override ours.
        own = Resource({"service.name": "chamberlain", "service.version": chamberlain.__version__})
        ids = Ids()
        self._provider = TracerProvider(
            resource=own.merge(OTELResourceDetector().detect()), id_generator=ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._spans = Spans(self._provider, ids)

    def application(self, application: ASGIApp) -> ASGIApp:
        """Add a span to each call."""
        return TracedCalls(application, self._spans)

    def observe(self, observe: Observe) -> Observe:
        """Name the span of a call by its path template."""
        return observing(observe)

    def acceptor(self, database: Database, *, held_addresses: str | None, observe: Callable[[int], None]) -> Acceptor:
        """Add spans to submissions and their batches."""
        return TracedAcceptor(database, self._spans, held_addresses=held_addresses, observe=observe)

    def assigner(self, database: Database) -> Assigner:
        """Add a span to each assignment."""
        return TracedAssigner(database, self._spans)

    def handlers(self, handlers: Mapping[JobKind, Handler]) -> Mapping[JobKind, Handler]:
        """Add a span to each job of a request."""
        return traced_handlers(handlers, self._spans)

    def directory(self, directory: Directory) -> Directory:
        """Add spans to the directory of groups and mailboxes."""
        return TracedDirectory(directory, self._spans)

    def guests(self, guests: Guests) -> Guests:
        """Add spans to the directory of guest rules."""
        return TracedGuests(guests, self._spans)

    def send(self, send: Send) -> Send:
        """Add a span to each webhook call."""
        return TracedSend(send, self._spans)

    def close(self, within: float) -> None:
        """Send the last spans within the timeout: a receiver may hang."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(within)
