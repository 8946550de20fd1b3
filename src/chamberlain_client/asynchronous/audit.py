"""The audit trail is read, in pages or as a whole."""

from collections.abc import AsyncGenerator
from datetime import datetime

from chamberlain_client import operations
from chamberlain_client.answers import decoded_bytes, items_of
from chamberlain_client.asynchronous.pages import AsyncPages
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id, reading
from chamberlain_client.models.audit import AuditRow


class AsyncAudit:
    """Who did what."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        subject_id: Id | None = None,
        actor_id: Id | None = None,
        action: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[AuditRow]:
        """Rows, newest first; what was done from `begin` on and before `end`. `limit` is how many a page has."""
        query = {"subjectId": subject_id, "actorId": actor_id, "action": action, "from": begin, "to": end}
        paging = {"limit": limit, "cursor": cursor}
        return AsyncPages(self._transport, operations.LIST_AUDIT, items_of(AuditRow), query={**query, **paging})

    async def export(
        self,
        *,
        subject_id: Id | None = None,
        actor_id: Id | None = None,
        action: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
    ) -> AsyncGenerator[AuditRow]:
        """All rows that the filters name in one answer, in the order of `sequence`. Raises Unreachable when it breaks
        off: then it has not told all. It is not taken up again."""
        query = {"subjectId": subject_id, "actorId": actor_id, "action": action, "from": begin, "to": end}
        call = reading(operations.LIST_AUDIT, query=query, accept="application/x-ndjson")
        async with self._transport.stream(call) as response:
            async for line in response.aiter_lines():
                if line:
                    yield decoded_bytes(line.encode(), AuditRow)
