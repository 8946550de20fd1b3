# Made by `python3 dev.py twin` from asynchronous/findings.py, which is the one to be changed.
"""Findings are listed, accepted and confirmed."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import decoded, items_of
from chamberlain_client.calls import Id, posting, said, written_time
from chamberlain_client.models.findings import Finding, FindingKind, FindingState
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport


class Findings:
    """What is against the rules, or was changed behind the service's back."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        state: FindingState | str | None = None,
        kind: FindingKind | str | None = None,
        subject_id: Id | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[Finding]:
        """Findings, newest first; those about one group or site. `limit` is how many a page has."""
        query = {"state": state, "kind": kind, "subjectId": subject_id, "limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_FINDINGS, items_of(Finding), query=query)

    def accept(
        self,
        finding_id: Id,
        reason: str,
        *,
        until: datetime | UnsetType = UNSET,
        idempotency_key: str | None = None,
    ) -> Finding:
        """Let one stand, until a moment or for good. Raises NotFound, and Conflict for one that has gone."""
        body = {"reason": reason} if isinstance(until, UnsetType) else {"reason": reason, "until": written_time(until)}
        call = posting(operations.ACCEPT_FINDING, finding_id, body=body, key=idempotency_key)
        return decoded(self._transport.send(call), Finding)

    def confirm(
        self, finding_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Finding:
        """Say in a review that the guest stays. Raises NotFound, also for those who are not asked, and Conflict for
        what is no open review."""
        call = posting(operations.CONFIRM_FINDING, finding_id, body=said(comment), key=idempotency_key)
        return decoded(self._transport.send(call), Finding)
