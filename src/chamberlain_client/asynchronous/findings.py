"""Findings are listed."""

from chamberlain_client import operations
from chamberlain_client.answers import items_of
from chamberlain_client.asynchronous.pages import AsyncPages
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id
from chamberlain_client.models.findings import Finding, FindingKind, FindingState


class AsyncFindings:
    """What is against the rules, or was changed behind the service's back."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        state: FindingState | str | None = None,
        kind: FindingKind | str | None = None,
        subject_id: Id | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Finding]:
        """Findings, newest first; those about one group or site. `limit` is how many a page has."""
        query = {"state": state, "kind": kind, "subjectId": subject_id, "limit": limit, "cursor": cursor}
        return AsyncPages(self._transport, operations.LIST_FINDINGS, items_of(Finding), query=query)
