"""What is written for calls: a span for each request, and one for each batch that they travel in together."""

from collections.abc import Callable, Sequence
from typing import TypeAlias
from uuid import UUID

from opentelemetry.trace import SpanContext

from chamberlain.app.tracing.spans import BATCH_SIZE, TENANT_ID, Spans, ending
from chamberlain.database.transactions import Database
from chamberlain.guests.assignments.rules import AssignmentDraft
from chamberlain.guests.assignments.store import Assigner
from chamberlain.requests.batcher import Acceptor
from chamberlain.requests.models_submissions import Draft, Verdict

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
