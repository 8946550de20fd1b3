# Made by `python3 dev.py twin` from asynchronous/drift.py, which is the one to be changed.
"""What was changed in the directory behind the service's back is looked for."""

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import decoded
from chamberlain_client.calls import posting, said
from chamberlain_client.models.drift import DriftCheck
from chamberlain_client.synchronous.transport import Transport


class Drift:
    """Checks for drift. What they find is among the findings."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def check(self, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None) -> DriftCheck:
        """Let a check begin now, or after the one that is under way."""
        call = posting(operations.CHECK_DRIFT, body=said(comment), key=idempotency_key)
        return decoded(self._transport.send(call), DriftCheck)
