"""Calls that come in: a span for each, from the first byte to the end of the answer."""

import re
from collections.abc import Callable
from contextvars import ContextVar
from uuid import UUID

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chamberlain.app.tracing.spans import Spans, ending, traceparent_of
from chamberlain.http.body import WHOLE

# How a call is counted: path with placeholders, method, status, seconds.
Observe = Callable[[str, str, int, float], None]

# Somebody asks every few seconds whether we are well; nobody wants to read about it.
_NOT_TOLD = "/health/"
_MOVED = re.compile(r"/requests/v1/([0-9a-fA-F-]{36})/\w+/?")

_propagator = TraceContextTextMapPropagator()
_span: ContextVar[Span | None] = ContextVar("chamberlain_call_span", default=None)


class TracedCalls:
    """The application, with a span around each call. What it hands on says so in `traceparent`, so that the trace id of
    logs, rows and webhooks is that of the span."""

    def __init__(self, application: ASGIApp, spans: Spans) -> None:
        self._application = application
        self._spans = spans

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] != "http" or scope["path"].startswith(_NOT_TOLD):
            await self._application(scope, receive, send)
            return
        span = self._spans.of_call(
            scope["method"], _context(scope), {"http.request.method": scope["method"], "url.scheme": scope["scheme"]}
        )
        scope["headers"] = [
            *((name, value) for name, value in scope["headers"] if name != b"traceparent"),
            (b"traceparent", traceparent_of(span).encode("ascii")),
        ]
        # An answer that leaves whole is no message, and would not be seen here.
        scope.get("state", {}).pop(WHOLE, None)
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
                self._tell(span, scope, status)
        finally:
            _span.reset(current)
            contexts.detach(token)

    def _tell(self, span: Span, scope: Scope, status: int) -> None:
        if status:
            span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        if scope["method"] == "POST" and status < 300 and (moved := _MOVED.fullmatch(scope["path"])) is not None:
            # Somebody has decided on a request, or had it go on: what is done then belongs under this call.
            trace_id = f"{span.get_span_context().trace_id:032x}"
            self._spans.of_request(trace_id, UUID(moved[1]), {}).end()


def observing(observe: Observe) -> Observe:
    """Count a call, and have its span say which path that was."""

    def observed(path: str, method: str, status: int, seconds: float) -> None:
        span = _span.get()
        if span is not None:
            span.update_name(f"{method} {path}")
            span.set_attribute("http.route", path)
        observe(path, method, status, seconds)

    return observed


def _context(scope: Scope) -> Context:
    """What the caller says this belongs to. Baggage is left alone: nobody here reads it."""
    headers = {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name in {b"traceparent", b"tracestate"}
    }
    return _propagator.extract(headers, Context())
