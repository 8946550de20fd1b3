"""Making spans that belong to the trace of a call, whichever process goes on with it.

A row of ours carries the id of a trace and no more. So the span that stands for a request has an id that follows from
those of the trace and the request: whoever does something for the request later knows under which span it belongs.
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

# What an attribute may be, as far as we have any.
Attributes = Mapping[str, str | int | bool | list[str]]

REQUEST_ID = "chamberlain.request.id"
TENANT_ID = "chamberlain.tenant.id"
BATCH_SIZE = "chamberlain.batch.size"

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}", re.ASCII)


class Ids(RandomIdGenerator):
    """Random ids, but for a span whose id is known beforehand. Spans are begun in one thread."""

    def __init__(self) -> None:
        self.next: int | None = None

    def generate_span_id(self) -> int:
        """The id that was asked for, once; else a random one."""
        known, self.next = self.next, None
        return super().generate_span_id() if known is None else known


class Spans:
    """Begins the spans of a process. Whoever begins one ends it."""

    def __init__(self, provider: TracerProvider, ids: Ids) -> None:
        self._provider = provider
        self._ids = ids
        self._tracer: Tracer = provider.get_tracer("chamberlain", chamberlain.__version__)

    def of_call(self, name: str, context: Context, attributes: Attributes) -> Span:
        """A call that comes in, under what its caller says it belongs to."""
        return self._tracer.start_span(name, context, SpanKind.SERVER, dict(attributes))

    def of_request(self, trace_id: str, request_id: UUID, attributes: Attributes) -> Span:
        """The one that stands for a request in this trace, under the call that is being answered."""
        self._ids.next = request_span_id(trace_id, request_id)
        try:
            return self._tracer.start_span("request", attributes={REQUEST_ID: str(request_id), **attributes})
        finally:
            self._ids.next = None

    def of_batch(self, name: str, members: Iterable[SpanContext], attributes: Attributes) -> Span:
        """What is done for several requests at once: in a trace of its own, which leads to each of theirs."""
        links = [Link(each) for each in members]
        return self._tracer.start_span(name, Context(), SpanKind.INTERNAL, dict(attributes), links)

    def of_work(
        self, name: str, trace_id: str, request_id: UUID, attributes: Attributes, kind: SpanKind = SpanKind.CONSUMER
    ) -> Span | None:
        """Something that is done for a request; None where it carries no id of a trace."""
        if _TRACE_ID.fullmatch(trace_id) is None:
            return None
        above = SpanContext(
            int(trace_id, 16), request_span_id(trace_id, request_id), is_remote=True, trace_flags=self._flags(trace_id)
        )
        context = trace.set_span_in_context(NonRecordingSpan(above), Context())
        return self._tracer.start_span(name, context, kind, {REQUEST_ID: str(request_id), **attributes})

    def below(self, parent: Span, name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        """A part of what a span stands for."""
        return self._tracer.start_span(name, trace.set_span_in_context(parent, Context()), kind, dict(attributes))

    def _flags(self, trace_id: str) -> TraceFlags:
        """Whether the trace is kept, as the process that began it has decided by the same settings."""
        decision = self._provider.sampler.should_sample(None, int(trace_id, 16), "request").decision
        return TraceFlags(TraceFlags.SAMPLED if decision is Decision.RECORD_AND_SAMPLE else TraceFlags.DEFAULT)


def request_span_id(trace_id: str, request_id: UUID) -> int:
    """The id of the span that stands for a request in a trace."""
    return int.from_bytes(hashlib.sha256(f"{trace_id} {request_id}".encode()).digest()[:8]) or 1


def traceparent_of(span: Span) -> str:
    """The header of W3C Trace Context that says: what you do belongs under this span."""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


@contextmanager
def ending(*spans: Span) -> Iterator[None]:
    """End them with the block, and mark them when it does not come to its end. What was raised is not shown: it may
    hold anything."""
    well = False
    try:
        yield
        well = True
    finally:
        for span in spans:
            if not well:
                span.set_status(Status(StatusCode.ERROR))
            span.end()
