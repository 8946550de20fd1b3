# SPDX-License-Identifier: Apache-2.0
"""Spans of calls, submissions, assignments and webhook calls."""

import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope
from starlette.types import Send as SendMessage

from chamberlain.app.tracing.spans import BATCH_SIZE, TENANT_ID, Attributes, Spans, ending, traceparent_of
from chamberlain.app.tracing.traces import Observe
from chamberlain.core.ids import RequestId
from chamberlain.database.transactions import Database
from chamberlain.fastpath.buffered_response import withdraw_buffered_call
from chamberlain.guests.assignments.rules import AssignmentDraft
from chamberlain.guests.assignments.store import Assigner
from chamberlain.requests.batcher import Acceptor
from chamberlain.requests.models import Draft, Verdict
from chamberlain.webhooks.models import Reply, WebhookCall
from chamberlain.webhooks.sender import Send

# Health checks come every few seconds and get no span.
_UNTRACED = "/health/"
_REQUEST_ACTION = re.compile(r"/requests/v1/([0-9a-fA-F-]{36})/\w+/?")

_propagator = TraceContextTextMapPropagator()
_span: ContextVar[Span | None] = ContextVar("chamberlain_call_span", default=None)


class TracedCalls:
    """An application with a span around each call.

    It sets `traceparent`, so logs, rows and webhooks get the trace id of the span.
    """

    def __init__(self, application: ASGIApp, spans: Spans) -> None:
        self._application = application
        self._spans = spans

    async def __call__(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        """Answer one call."""
        if scope["type"] != "http" or scope["path"].startswith(_UNTRACED):
            await self._application(scope, receive, send)
            return
        span = self._spans.of_call(
            scope["method"], _context(scope), {"http.request.method": scope["method"], "url.scheme": scope["scheme"]}
        )
        scope["headers"] = [
            *((name, value) for name, value in scope["headers"] if name != b"traceparent"),
            (b"traceparent", traceparent_of(span).encode("ascii")),
        ]
        # A buffered response sends no ASGI messages, so its status would be missed here.
        withdraw_buffered_call(scope)
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        token, current = contexts.attach(trace.set_span_in_context(span)), _span.set(span)
        try:
            with ending(span):
                await self._application(scope, receive, watched)
                self._set_status(span, scope, status)
        finally:
            _span.reset(current)
            contexts.detach(token)

    def _set_status(self, span: Span, scope: Scope, status: int) -> None:
        if status:
            span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        if scope["method"] == "POST" and status < 300 and (acted := _REQUEST_ACTION.fullmatch(scope["path"])):
            # The jobs that continue the request belong under this call.
            trace_id = f"{span.get_span_context().trace_id:032x}"
            self._spans.of_request(trace_id, UUID(acted[1]), {}).end()


def observing(observe: Observe) -> Observe:
    """Name the span of a call when its metrics are recorded.

    The name is the path template.
    """

    def observed(path: str, method: str, status: int, seconds: float) -> None:
        span = _span.get()
        if span is not None:
            span.update_name(f"{method} {path}")
            span.set_attribute("http.route", path)
        observe(path, method, status, seconds)

    return observed


def _context(scope: Scope) -> Context:
    """Extract the caller's trace context. Baggage is ignored."""
    headers = {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name in {b"traceparent", b"tracestate"}
    }
    return _propagator.extract(headers, Context())


class TracedAcceptor(Acceptor):
    """Write drafts with a span for each, and one for each batch."""

    def __init__(
        self, database: Database, spans: Spans, *, held_addresses: str | None, observe: Callable[[int], None]
    ) -> None:
        super().__init__(database, held_addresses=held_addresses, observe=observe)
        self._spans = spans
        # The spans of requests that are being written.
        self._pending: dict[UUID, SpanContext] = {}

    async def accept(self, draft: Draft) -> Verdict:
        """Write the draft. Raises the errors of Acceptor."""
        attributes = {TENANT_ID: str(draft.change.tenant_id), "chamberlain.request.kind": str(draft.kind)}
        span = self._spans.of_request(draft.change.trace_id, draft.request_id, attributes)
        self._pending[draft.request_id] = span.get_span_context()
        try:
            with ending(span):
                verdict = await super().accept(draft)
                span.set_attribute("chamberlain.verdict", type(verdict).__name__)
                return verdict
        finally:
            self._pending.pop(draft.request_id, None)

    async def _flush(self, drafts: Sequence[Draft]) -> Sequence[Verdict]:
        members = [found for draft in drafts if (found := self._pending.get(draft.request_id)) is not None]
        with ending(self._spans.of_batch("submission batch", members, {BATCH_SIZE: len(drafts)})):
            return await super()._flush(drafts)


class TracedAssigner(Assigner):
    """Read and change assignments with a span for each change."""

    def __init__(self, database: Database, spans: Spans) -> None:
        super().__init__(database)
        self._spans = spans

    async def change(self, draft: AssignmentDraft) -> bool:
        """Write the draft. Raises the errors of Assigner."""
        attributes = {TENANT_ID: str(draft.change.tenant_id), "chamberlain.request.kind": "assignment"}
        span = self._spans.of_request(draft.change.trace_id, draft.request_id, attributes)
        with ending(span):
            written = await super().change(draft)
            span.set_attribute("chamberlain.verdict", "Written" if written else "Again")
            return written


class _Payload(msgspec.Struct, rename="camel"):
    """The request that an event belongs to."""

    request_id: RequestId | None = None


_read = msgspec.json.Decoder(_Payload).decode


class TracedSend:
    """Call webhooks with a span for each call."""

    def __init__(self, send: Send, spans: Spans) -> None:
        self._send = send
        self._spans = spans

    async def __call__(self, call: WebhookCall) -> Reply:
        """Call a webhook. The reply has any failure."""
        span = self._start_span(call)
        if span is None:
            return await self._send(call)
        with ending(span):
            reply = await self._send(replace(call, traceparent=traceparent_of(span)))
            if reply.status is not None:
                span.set_attribute("http.response.status_code", reply.status)
            if not reply.succeeded:
                span.set_attribute("error.type", "noAnswer" if reply.status is None else str(reply.status))
                span.set_status(Status(StatusCode.ERROR))
            return reply

    def _start_span(self, call: WebhookCall) -> Span | None:
        # Path and query may contain a secret of the receiver.
        attributes: Attributes = {
            "http.request.method": "POST",
            "server.address": urlsplit(call.url).hostname or "",
            "chamberlain.event.id": str(call.event_id),
        }
        current = trace.get_current_span()
        if current.get_span_context().is_valid:
            # A caller tests the webhook and waits for the result.
            return self._spans.below(current, "webhook call", attributes, SpanKind.CLIENT)
        request_id = _read(call.payload).request_id
        if request_id is None:
            return None
        return self._spans.of_work("webhook call", call.trace_id, request_id, attributes, SpanKind.CLIENT)
