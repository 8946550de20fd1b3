"""What is done with the webhook of a template: it gets a new secret, or is called with a test event."""

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import decoded
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id, posting, said
from chamberlain_client.models.deliveries import Attempt
from chamberlain_client.models.templates import RotatedSecret


class AsyncWebhooks:
    """Webhooks of templates. What they receive is checked by `chamberlain_client.webhooks`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def rotate_of_mailbox_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> RotatedSecret:
        """A new secret, shown here and never again; the one before it signs as well for 24 hours. Raises NotFound."""
        operation = operations.ROTATE_MAILBOX_TEMPLATE_WEBHOOK
        call = posting(operation, template_id, body=said(comment), key=idempotency_key)
        return decoded(await self._transport.send(call), RotatedSecret)

    async def rotate_of_collab_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> RotatedSecret:
        """The same of a template of groups or teams."""
        operation = operations.ROTATE_COLLAB_TEMPLATE_WEBHOOK
        call = posting(operation, template_id, body=said(comment), key=idempotency_key)
        return decoded(await self._transport.send(call), RotatedSecret)

    async def test_of_mailbox_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Attempt:
        """Call the webhook with a test event, and say what came back. Raises NotFound, and Conflict when it has no
        secret."""
        call = posting(operations.TEST_MAILBOX_TEMPLATE_WEBHOOK, template_id, body=said(comment), key=idempotency_key)
        return decoded(await self._transport.send(call), Attempt)

    async def test_of_collab_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Attempt:
        """The same of a template of groups or teams."""
        call = posting(operations.TEST_COLLAB_TEMPLATE_WEBHOOK, template_id, body=said(comment), key=idempotency_key)
        return decoded(await self._transport.send(call), Attempt)
