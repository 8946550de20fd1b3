"""What was changed in the directory behind the service's back is looked for."""

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import decoded
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import posting, said
from chamberlain_client.models.drift import DriftCheck


class AsyncDrift:
    """Checks for drift. What they find is among the findings."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def check(self, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None) -> DriftCheck:
        """Let a check begin now, or after the one that is under way."""
        call = posting(operations.CHECK_DRIFT, body=said(comment), key=idempotency_key)
        return decoded(await self._transport.send(call), DriftCheck)
