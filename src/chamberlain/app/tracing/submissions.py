"""What is written for calls: a span for each request, and one for each batch that they travel in together."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from opentelemetry import trace
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode

from chamberlain.app.tracing.spans import BATCH_SIZE, TENANT_ID, Attributes, Spans, ending, traceparent_of
from chamberlain.core.ids import RequestId
from chamberlain.database.transactions import Database
from chamberlain.guests.assignments.rules import AssignmentDraft
from chamberlain.guests.assignments.store import Assigner
from chamberlain.requests.batcher import Acceptor
from chamberlain.requests.models import Draft, Verdict
from chamberlain.webhooks.models import Reply, WebhookCall
from chamberlain.webhooks.sender import Send

# The spans of requests that are being written.
_Waiting: TypeAlias = dict[UUID, SpanContext]


class TracedAcceptor(Acceptor):
    """Writes drafts as an acceptor does."""

    def __init__(
        self, database: Database, spans: Spans, *, held_addresses: str | None, observe: Callable[[int], None]
    ) -> None:
        super().__init__(database, held_addresses=held_addresses, observe=observe)
        self._spans = spans
        self._waiting: _Waiting = {}

    async def accept(self, draft: Draft) -> Verdict:
        """Write the draft. Raises as an acceptor does."""
        attributes = {TENANT_ID: str(draft.change.tenant_id), "chamberlain.request.kind": str(draft.kind)}
        span = self._spans.of_request(draft.change.trace_id, draft.request_id, attributes)
        self._waiting[draft.request_id] = span.get_span_context()
        try:
            with ending(span):
                verdict = await super().accept(draft)
                span.set_attribute("chamberlain.verdict", type(verdict).__name__)
                return verdict
        finally:
            self._waiting.pop(draft.request_id, None)

    async def _flush(self, drafts: Sequence[Draft]) -> Sequence[Verdict]:
        members = [found for draft in drafts if (found := self._waiting.get(draft.request_id)) is not None]
        with ending(self._spans.of_batch("submission batch", members, {BATCH_SIZE: len(drafts)})):
            return await super()._flush(drafts)


class TracedAssigner(Assigner):
    """Reads and changes assignments as an assigner does."""

    def __init__(self, database: Database, spans: Spans) -> None:
        super().__init__(database)
        self._spans = spans

    async def change(self, draft: AssignmentDraft) -> bool:
        """Write the draft. Raises as an assigner does."""
        attributes = {TENANT_ID: str(draft.change.tenant_id), "chamberlain.request.kind": "assignment"}
        span = self._spans.of_request(draft.change.trace_id, draft.request_id, attributes)
        with ending(span):
            written = await super().change(draft)
            span.set_attribute("chamberlain.verdict", "Written" if written else "Again")
            return written


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
