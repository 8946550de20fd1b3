"""Administration: tenant, adoptions, drift, audit trail, events, webhooks, deliveries, held jobs."""

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime

from msgspec import UNSET, UnsetType, to_builtins

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncPages, AsyncResource, AsyncTransport
from chamberlain_client.calls import Id, build_change, build_get, build_post, encode_ids, format_time, parse_id
from chamberlain_client.events import Event, decode_event
from chamberlain_client.models import (
    AdoptedKind,
    Adoption,
    AdoptionFilter,
    AdoptionPreview,
    Attempt,
    AuditRow,
    Delivery,
    DeliveryState,
    DriftCheck,
    Job,
    Redelivered,
    RotatedSecret,
    Tenant,
    TenantSettings,
)
from chamberlain_client.operations import Operation
from chamberlain_client.responses import Page, Response, decode, decode_bytes, decode_page, with_etag

# The largest page of events.
_PAGE = 200


class AsyncOwnTenant(AsyncResource):
    """The caller's tenant, for its administrators."""

    async def get(self) -> Tenant:
        """Read the tenant with its `etag`."""
        return _read_tenant(await self._transport.send(build_get(operations.READ_TENANT)))

    async def replace(
        self, tenant: TenantSettings | Tenant | Mapping[str, object], *, if_match: str | None = None
    ) -> Tenant:
        """Replace the settings of the tenant.

        The service ignores properties of the operator. Raises NotPossible, and Stale if `if_match` is not its version
        any more.
        """
        call = build_change(operations.REPLACE_TENANT, body=tenant, if_match=if_match)
        return _read_tenant(await self._transport.send(call))


class AsyncAdoptions(AsyncResource):
    """Adoptions of existing mailboxes and groups."""

    async def preview(
        self, kind: AdoptedKind | str, template_id: Id, *, chosen: AdoptionFilter | None = None
    ) -> AdoptionPreview:
        """Preview an adoption by a dry run. Raises NotPossible."""
        body = _adoption_body(kind, template_id, chosen)
        call = build_post(operations.CREATE_ADOPTION, body=body, key=None, dry_run=True)
        return decode(await self._transport.send(call), AdoptionPreview)

    async def confirm(self, preview: AdoptionPreview, *, idempotency_key: str | None = None) -> Adoption:
        """Adopt the objects of a preview.

        Raises NotPossible, and Conflict if the preview has changed.
        """
        body = {**_adoption_body(preview.kind, preview.template.id, preview.filter), "digest": preview.digest}
        return await self._post(Adoption, operations.CREATE_ADOPTION, body=body, key=idempotency_key)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[Adoption]:
        """List adoptions, newest first."""
        return self._list(Adoption, operations.LIST_ADOPTIONS, limit=limit, cursor=cursor)

    async def get(self, adoption_id: Id) -> Adoption:
        """Read one adoption with its refused objects. Raises NotFound."""
        return await self._get(Adoption, operations.READ_ADOPTION, adoption_id)

    async def undo(
        self, adoption_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Adoption:
        """Remove the marks and records of an adoption.

        Raises NotFound, and Conflict if it is undone already.
        """
        return await self._act(Adoption, operations.UNDO_ADOPTION, adoption_id, comment=comment, key=idempotency_key)


class AsyncDrift(AsyncResource):
    """Drift checks. Their results are findings."""

    async def check(self, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None) -> DriftCheck:
        """Start a drift check now, or after the running one."""
        return await self._act(DriftCheck, operations.CHECK_DRIFT, comment=comment, key=idempotency_key)


class AsyncAudit(AsyncResource):
    """The audit trail."""

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
        """List rows, newest first, from `begin` on and before `end`.

        `limit` is the size of a page.
        """
        query = {"subjectId": subject_id, "actorId": actor_id, "action": action, "from": begin, "to": end}
        return self._list(AuditRow, operations.LIST_AUDIT, **query, limit=limit, cursor=cursor)

    async def export(
        self,
        *,
        subject_id: Id | None = None,
        actor_id: Id | None = None,
        action: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
    ) -> AsyncGenerator[AuditRow]:
        """Stream all rows that match the filters in the order of `sequence`.

        Raises Unreachable if the stream breaks: the export is then incomplete, and does not resume.
        """
        query = {"subjectId": subject_id, "actorId": actor_id, "action": action, "from": begin, "to": end}
        call = build_get(operations.LIST_AUDIT, query=query, accept="application/x-ndjson")
        async with self._transport.stream(call) as response:
            async for line in response.aiter_lines():
                if line:
                    yield decode_bytes(line.encode(), AuditRow)


class AsyncEvents(AsyncResource):
    """The event feed of the tenant."""

    def list(self, *, cursor: str | None = None, limit: int = _PAGE) -> "AsyncFeed":
        """List events after the cursor, or from the beginning, up to now."""
        return AsyncFeed(self._transport, operations.LIST_EVENTS, cursor, limit=limit, every=None)

    def follow(self, cursor: str | None = None, *, every: float = 5.0, limit: int = _PAGE) -> "AsyncFeed":
        """List events, and then poll for new ones without end.

        `every` is the interval in seconds.
        """
        return AsyncFeed(self._transport, operations.LIST_EVENTS, cursor, limit=limit, every=every)


class AsyncFeed:
    """Events, oldest first. Store `cursor` to continue later without a gap.

    The cursor moves after the last event of a page, so a program that stops in between gets some events again.
    """

    def __init__(
        self, transport: AsyncTransport, operation: Operation, cursor: str | None, *, limit: int, every: float | None
    ) -> None:
        self._transport = transport
        self._operation = operation
        self._limit = limit
        self._every = every
        self.cursor = cursor

    async def page(self) -> Page[Event]:
        """Read the next page without moving the cursor; `next_cursor` leads on."""
        query = {"cursor": self.cursor, "limit": self._limit}
        return decode_page(await self._transport.send(build_get(self._operation, query=query)), decode_event)

    async def __aiter__(self) -> AsyncGenerator[Event]:
        """Iterate over the events."""
        while True:
            page = await self.page()
            for event in page.items:
                yield event
            self.cursor = page.next_cursor
            if len(page.items) < self._limit:
                if self._every is None:
                    return
                await self._transport.clock.sleep(self._every)


class AsyncWebhooks(AsyncResource):
    """Webhooks of templates. Receivers verify their calls by `chamberlain_client.webhooks`."""

    async def rotate_of_mailbox_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> RotatedSecret:
        """Generate a new secret, shown only in this response.

        The old one also signs for 24 hours. Raises NotFound.
        """
        operation = operations.ROTATE_MAILBOX_TEMPLATE_WEBHOOK
        return await self._act(RotatedSecret, operation, template_id, comment=comment, key=idempotency_key)

    async def rotate_of_collab_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> RotatedSecret:
        """Generate a new secret for a template of groups or teams."""
        operation = operations.ROTATE_COLLAB_TEMPLATE_WEBHOOK
        return await self._act(RotatedSecret, operation, template_id, comment=comment, key=idempotency_key)

    async def test_of_mailbox_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Attempt:
        """Send a test event, and return the attempt.

        Raises NotFound, and Conflict if there is no secret.
        """
        operation = operations.TEST_MAILBOX_TEMPLATE_WEBHOOK
        return await self._act(Attempt, operation, template_id, comment=comment, key=idempotency_key)

    async def test_of_collab_template(
        self, template_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Attempt:
        """Send a test event for a template of groups or teams."""
        operation = operations.TEST_COLLAB_TEMPLATE_WEBHOOK
        return await self._act(Attempt, operation, template_id, comment=comment, key=idempotency_key)


class AsyncDeliveries(AsyncResource):
    """Deliveries of webhooks."""

    def list(
        self,
        *,
        state: DeliveryState | str | None = None,
        template_id: Id | None = None,
        request_id: Id | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Delivery]:
        """List deliveries of the last 30 days, newest first.

        `limit` is the size of a page.
        """
        query = {"state": state, "templateId": template_id, "requestId": request_id, "limit": limit, "cursor": cursor}
        return self._list(Delivery, operations.LIST_DELIVERIES, **query)

    async def redeliver(
        self, delivery_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Delivery:
        """Queue a delivery again, in any state.

        Raises NotFound, and Conflict if there is no active webhook.
        """
        return await self._act(
            Delivery, operations.REDELIVER_DELIVERY, delivery_id, comment=comment, key=idempotency_key
        )

    async def redeliver_span(
        self,
        begin: datetime,
        end: datetime,
        *,
        template_id: Id | UnsetType = UNSET,
        idempotency_key: str | None = None,
    ) -> int:
        """Queue deliveries of a time span again, and return their number.

        The span is that of their creation, from `begin` on and before `end`. `template_id` limits them to one template.
        Raises NotPossible and Conflict.
        """
        body = {"from": format_time(begin), "to": format_time(end), **encode_ids({"templateId": template_id})}
        return (await self._post(Redelivered, operations.REDELIVER_SPAN, body=body, key=idempotency_key)).count


class AsyncJobs(AsyncResource):
    """Held jobs, which wait for an administrator."""

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[Job]:
        """List held jobs, newest first."""
        return self._list(Job, operations.LIST_JOBS, limit=limit, cursor=cursor)

    async def release(self, job_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None) -> Job:
        """Release a held job. Raises NotFound."""
        return await self._act(Job, operations.RELEASE_JOB, job_id, comment=comment, key=idempotency_key)


def _read_tenant(response: Response) -> Tenant:
    return with_etag(decode(response, Tenant), response)


def _adoption_body(kind: AdoptedKind | str, template_id: Id, chosen: AdoptionFilter | None) -> Mapping[str, object]:
    filters = {} if chosen is None else {name: each for name, each in to_builtins(chosen).items() if each is not None}
    return {"kind": str(kind), "templateId": str(parse_id(template_id)), "filter": filters}
