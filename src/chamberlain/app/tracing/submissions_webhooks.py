"""Calls of webhooks: a span for each attempt, which the receiver is told of by `traceparent`."""

from dataclasses import replace
from urllib.parse import urlsplit

import msgspec
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from chamberlain.app.tracing.spans import Attributes, Spans, ending, traceparent_of
from chamberlain.core.ids import RequestId
from chamberlain.webhooks.models import Reply, WebhookCall
from chamberlain.webhooks.sender import Send


class _Payload(msgspec.Struct, rename="camel"):
    """What an event says of where it comes from."""

    request_id: RequestId | None = None


_read = msgspec.json.Decoder(_Payload).decode


class TracedSend:
    """Makes calls as a sender does."""

    def __init__(self, send: Send, spans: Spans) -> None:
        self._send = send
        self._spans = spans

    async def __call__(self, call: WebhookCall) -> Reply:
        """Make a call; whatever goes wrong is in the reply."""
        span = self._begun(call)
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

    def _begun(self, call: WebhookCall) -> Span | None:
        # Its path and what follows may hold a secret of the receiver.
        attributes: Attributes = {
            "http.request.method": "POST",
            "server.address": urlsplit(call.url).hostname or "",
            "chamberlain.event.id": str(call.event_id),
        }
        current = trace.get_current_span()
        if current.get_span_context().is_valid:
            # Somebody tries it out, and waits.
            return self._spans.below(current, "webhook call", attributes, SpanKind.CLIENT)
        request_id = _read(call.payload).request_id
        if request_id is None:
            return None
        return self._spans.of_work("webhook call", call.trace_id, request_id, attributes, SpanKind.CLIENT)
