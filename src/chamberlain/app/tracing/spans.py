# SPDX-License-Identifier: Apache-2.0
"""Spans that continue the trace of a call in every process.

Rows store the trace id only. So the span id of a request is derived from the trace id and the request id: a worker can
compute the parent of its spans.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
)

import chamberlain

Attributes = Mapping[str, str | int | bool | list[str]]

REQUEST_ID = "chamberlain.request.id"
TENANT_ID = "chamberlain.tenant.id"
BATCH_SIZE = "chamberlain.batch.size"

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}", re.ASCII)


class Ids(RandomIdGenerator):
    """Generate random ids, except for a span with a preset id.

    Spans start in one thread.
    """

    def __init__(self) -> None:
        self.next: int | None = None

    def generate_span_id(self) -> int:
        """Return the id that was set, once; else a random one."""
        known, self.next = self.next, None
        return super().generate_span_id() if known is None else known


class Spans:
    """Start the spans of a process. The caller ends them."""

    def __init__(self, provider: TracerProvider, ids: Ids) -> None:
        self._provider = provider
        self._ids = ids
        self._tracer: Tracer = provider.get_tracer("chamberlain", chamberlain.__version__)

    def of_call(self, name: str, context: Context, attributes: Attributes) -> Span:
        """Start the span of an incoming call, below the caller's context."""
        return self._tracer.start_span(name, context, SpanKind.SERVER, dict(attributes))

    def of_request(self, trace_id: str, request_id: UUID, attributes: Attributes) -> Span:
        """Start the span of a request below the current call."""
        self._ids.next = request_span_id(trace_id, request_id)
        try:
            return self._tracer.start_span("request", attributes={REQUEST_ID: str(request_id), **attributes})
        finally:
            self._ids.next = None

    def of_batch(self, name: str, members: Iterable[SpanContext], attributes: Attributes) -> Span:
        """Start the span of a batch, with links to its members.

        It begins a new trace.
        """
        links = [Link(each) for each in members]
        return self._tracer.start_span(name, Context(), SpanKind.INTERNAL, dict(attributes), links)

    def of_work(
        self, name: str, trace_id: str, request_id: UUID, attributes: Attributes, kind: SpanKind = SpanKind.CONSUMER
    ) -> Span | None:
        """Start a span below that of a request.

        Returns None without a valid trace id.
        """
        if _TRACE_ID.fullmatch(trace_id) is None:
            return None
        above = SpanContext(
            int(trace_id, 16), request_span_id(trace_id, request_id), is_remote=True, trace_flags=self._flags(trace_id)
        )
        context = trace.set_span_in_context(NonRecordingSpan(above), Context())
        return self._tracer.start_span(name, context, kind, {REQUEST_ID: str(request_id), **attributes})

    def below(self, parent: Span, name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        """Start a child span."""
        return self._tracer.start_span(name, trace.set_span_in_context(parent, Context()), kind, dict(attributes))

    def _flags(self, trace_id: str) -> TraceFlags:
        """Repeat the sampling decision of the process that started the trace.

        The settings are the same.
        """
        decision = self._provider.sampler.should_sample(None, int(trace_id, 16), "request").decision
        return TraceFlags(TraceFlags.SAMPLED if decision is Decision.RECORD_AND_SAMPLE else TraceFlags.DEFAULT)


def request_span_id(trace_id: str, request_id: UUID) -> int:
    """Derive the span id of a request in a trace."""
    return int.from_bytes(hashlib.sha256(f"{trace_id} {request_id}".encode()).digest()[:8]) or 1


def traceparent_of(span: Span) -> str:
    """Encode a span as a W3C Trace Context header."""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


@contextmanager
def ending(*spans: Span) -> Iterator[None]:
    """End the spans with the block, as failed if it raises.

    The error itself may contain personal data.
    """
    succeeded = False
    try:
        yield
        succeeded = True
    finally:
        for span in spans:
            if not succeeded:
                span.set_status(Status(StatusCode.ERROR))
            span.end()
