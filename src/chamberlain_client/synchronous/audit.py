# Made by `python3 dev.py twin` from asynchronous/audit.py, which is the one to be changed.
"""The audit trail is read, in pages or as a whole."""

from collections.abc import Generator
from datetime import datetime

from chamberlain_client import operations
from chamberlain_client.answers import decoded_bytes, items_of
from chamberlain_client.calls import Id, reading
from chamberlain_client.models.audit import AuditRow
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport


class Audit:
    """Who did what."""

    def __init__(self, transport: Transport) -> None:
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
    ) -> Pages[AuditRow]:
        """Rows, newest first; what was done from `begin` on and before `end`. `limit` is how many a page has."""
        query = {"subjectId": subject_id, "actorId": actor_id, "action": action, "from": begin, "to": end}
        paging = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_AUDIT, items_of(AuditRow), query={**query, **paging})

    def export(
        self,
        *,
        subject_id: Id | None = None,
        actor_id: Id | None = None,
        action: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
    ) -> Generator[AuditRow]:
        """All rows that the filters name in one answer, in the order of `sequence`. Raises Unreachable when it breaks
        off: then it has not told all. It is not taken up again."""
        query = {"subjectId": subject_id, "actorId": actor_id, "action": action, "from": begin, "to": end}
        call = reading(operations.LIST_AUDIT, query=query, accept="application/x-ndjson")
        with self._transport.stream(call) as response:
            for line in response.iter_lines():
                if line:
                    yield decoded_bytes(line.encode(), AuditRow)
