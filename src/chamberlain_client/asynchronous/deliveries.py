"""Deliveries of webhooks are listed, and sent again."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import decoded, items_of
from chamberlain_client.asynchronous.pages import AsyncPages
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id, ids_of, posting, said, written_time
from chamberlain_client.models.deliveries import Delivery, DeliveryState, Redelivered


class AsyncDeliveries:
    """What webhooks were told, and are to be told."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        state: DeliveryState | str | None = None,
        template_id: Id | None = None,
        request_id: Id | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Delivery]:
        """Deliveries of the last 30 days, newest first. `limit` is how many a page has."""
        query = {"state": state, "templateId": template_id, "requestId": request_id, "limit": limit, "cursor": cursor}
        return AsyncPages(self._transport, operations.LIST_DELIVERIES, items_of(Delivery), query=query)

    async def redeliver(
        self, delivery_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Delivery:
        """Send one again, whatever has become of it. Raises NotFound, and Conflict when there is no active webhook."""
        call = posting(operations.REDELIVER_DELIVERY, delivery_id, body=said(comment), key=idempotency_key)
        return decoded(await self._transport.send(call), Delivery)

    async def redeliver_span(
        self,
        begin: datetime,
        end: datetime,
        *,
        template_id: Id | UnsetType = UNSET,
        idempotency_key: str | None = None,
    ) -> int:
        """Send again all that were made from `begin` on and before `end`, of one template or of any; gives how many.
        Raises NotPossible and Conflict."""
        body = {"from": written_time(begin), "to": written_time(end), **ids_of({"templateId": template_id})}
        call = posting(operations.REDELIVER_SPAN, body=body, key=idempotency_key)
        return decoded(await self._transport.send(call), Redelivered).count
