# SPDX-License-Identifier: Apache-2.0
"""Administration: tenant, adoptions, drift, audit trail, events, webhooks, deliveries, held jobs."""

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from datetime import date, datetime

from msgspec import UNSET, UnsetType, to_builtins

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncPages, AsyncResource, AsyncTransport
from chamberlain_client.calls import (
    Id,
    QueryValue,
    build_change,
    build_document_post,
    build_get,
    build_post,
    encode_ids,
    format_time,
    parse_id,
)
from chamberlain_client.errors import ChamberlainError, Unreachable
from chamberlain_client.events import Event, EventType, decode_event, validate_number
from chamberlain_client.models import (
    AdapterName,
    AdoptedKind,
    Adoption,
    AdoptionFilter,
    AdoptionPreview,
    Attempt,
    AuditRow,
    ConfigurationPlan,
    Connection,
    Delivery,
    DeliveryState,
    DriftCheck,
    Figures,
    Job,
    PermissionReport,
    Redelivered,
    Release,
    ReleasePreview,
    ReleaseType,
    RotatedSecret,
    Tenant,
    TenantSettings,
)
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


class AsyncConfiguration(AsyncResource):
    """Configuration documents of the caller's tenant.

    A document is a text in YAML, or a JSON object.
    """

    async def plan(self, document: Mapping[str, object] | str) -> ConfigurationPlan:
        """Compare a document with the tenant. Raises NotPossible."""
        call = build_document_post(operations.PLAN_CONFIGURATION, document=document, query={}, key=None)
        return decode(await self._transport.send(call), ConfigurationPlan)

    async def apply(
        self,
        document: Mapping[str, object] | str,
        plan: ConfigurationPlan | str,
        *,
        idempotency_key: str | None = None,
    ) -> ConfigurationPlan:
        """Apply a document with this plan or digest, all or nothing.

        Raises NotPossible, and Conflict if the plan has changed.
        """
        digest = plan if isinstance(plan, str) else plan.digest
        call = build_document_post(
            operations.APPLY_CONFIGURATION, document=document, query={"digest": digest}, key=idempotency_key
        )
        return decode(await self._transport.send(call), ConfigurationPlan)


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


class AsyncReleases(AsyncResource):
    """Releases of managed objects, which stay in the directory."""

    async def preview(self, types: Collection[ReleaseType | str] | None = None) -> ReleasePreview:
        """Preview a release by a dry run. Without types, of all."""
        call = build_post(operations.CREATE_RELEASE, body=_release_body(types, UNSET), key=None, dry_run=True)
        return decode(await self._transport.send(call), ReleasePreview)

    async def start(
        self,
        types: Collection[ReleaseType | str] | None = None,
        *,
        comment: str | UnsetType = UNSET,
        idempotency_key: str | None = None,
    ) -> Release:
        """Give the managed objects of these types back. Without types, all.

        Raises Conflict if another release of the tenant is running.
        """
        body = _release_body(types, comment)
        return await self._post(Release, operations.CREATE_RELEASE, body=body, key=idempotency_key)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[Release]:
        """List releases, newest first."""
        return self._list(Release, operations.LIST_RELEASES, limit=limit, cursor=cursor)

    async def get(self, release_id: Id) -> Release:
        """Read one release with its skipped objects. Raises NotFound."""
        return await self._get(Release, operations.READ_RELEASE, release_id)


class AsyncConnections(AsyncResource):
    """The connection of the tenant to its directory."""

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[Connection]:
        """List the connection of the tenant. There is at most one."""
        return self._list(Connection, operations.LIST_CONNECTIONS, limit=limit, cursor=cursor)

    async def add(
        self,
        adapter: AdapterName | str,
        *,
        address: str | None = None,
        credential: str | None = None,
        credential_file: str | None = None,
        force: bool = False,
    ) -> Connection:
        """Add the connection of the tenant.

        Without an address, it is the directory of the service. Raises NotPossible, and Conflict for a second one, or
        for managed objects unless `force` is set.
        """
        body = {"adapter": str(adapter), **_connection_body(None, address, credential, credential_file)}
        call = build_post(operations.CREATE_CONNECTION, body=body, key=None, force=force)
        return _read_connection(await self._transport.send(call))

    async def get(self, connection_id: Id) -> Connection:
        """Read a connection. Raises NotFound."""
        call = build_get(operations.READ_CONNECTION, connection_id)
        return _read_connection(await self._transport.send(call))

    async def change(
        self,
        connection_id: Id,
        *,
        adapter: AdapterName | str | None = None,
        address: str | None = None,
        credential: str | None = None,
        credential_file: str | None = None,
        if_match: str | None = None,
        force: bool = False,
    ) -> Connection:
        """Change parts of a connection; None stays.

        Raises NotFound, Stale, NotPossible, and Conflict for managed objects unless `force` is set.
        """
        body = _connection_body(adapter, address, credential, credential_file)
        call = build_change(operations.CHANGE_CONNECTION, connection_id, body=body, if_match=if_match, force=force)
        return _read_connection(await self._transport.send(call))

    async def delete(self, connection_id: Id, *, if_match: str | None = None, force: bool = False) -> None:
        """Delete a connection.

        Raises NotFound, Stale, and Conflict for managed objects unless `force` is set.
        """
        await self._transport.send(
            build_change(operations.DELETE_CONNECTION, connection_id, if_match=if_match, force=force)
        )

    async def check(self, connection_id: Id) -> Connection:
        """Check a connection now, and return its new state. Raises NotFound."""
        call = build_post(operations.CHECK_CONNECTION, connection_id, body={}, key=None)
        return _read_connection(await self._transport.send(call))


class AsyncDrift(AsyncResource):
    """Drift checks. Their results are findings."""

    async def check(self, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None) -> DriftCheck:
        """Start a drift check now, or after the running one."""
        return await self._act(DriftCheck, operations.CHECK_DRIFT, comment=comment, key=idempotency_key)


class AsyncOwnFigures(AsyncResource):
    """Figures of the tenant."""

    async def get(self, *, begin: date | None = None, end: date | None = None) -> Figures:
        """Read the figures from `begin` to `end`, both included.

        They are days of UTC. The default is the last 30 days.
        """
        query = {name: None if day is None else day.isoformat() for name, day in (("from", begin), ("to", end))}
        return decode(await self._transport.send(build_get(operations.READ_FIGURES, query=query)), Figures)


class AsyncPermissions(AsyncResource):
    """Permissions of callers and of the directory."""

    async def report(self) -> PermissionReport:
        """Report the permissions of the last 30 days."""
        return await self._get(PermissionReport, operations.REPORT_PERMISSIONS)


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
    """The event feed of the tenant.

    A filter by `type` or `request_id` leaves other events out. A cursor belongs to its filters.
    """

    def list(
        self,
        *,
        type: EventType | str | None = None,  # noqa: A002 - the name in the API.
        request_id: Id | None = None,
        cursor: str | None = None,
        limit: int = _PAGE,
    ) -> "AsyncFeed":
        """List events after the cursor, or from the beginning, up to now."""
        return AsyncFeed(self._transport, _event_filters(type, request_id), cursor, limit=limit, every=None)

    def follow(
        self,
        cursor: str | None = None,
        *,
        type: EventType | str | None = None,  # noqa: A002 - the name in the API.
        request_id: Id | None = None,
        every: float = 5.0,
        limit: int = _PAGE,
    ) -> "AsyncFeed":
        """List events, and then poll for new ones without end.

        `every` is the interval in seconds. `stream` gets new events at once.
        """
        return AsyncFeed(self._transport, _event_filters(type, request_id), cursor, limit=limit, every=every)

    def stream(
        self,
        cursor: str | None = None,
        *,
        type: EventType | str | None = None,  # noqa: A002 - the name in the API.
        request_id: Id | None = None,
        start: str | None = None,
    ) -> "AsyncEventStream":
        """Stream events as they happen, without end.

        Without a cursor it starts with the oldest event; with `start="now"`, with the next one. A broken stream
        resumes.
        """
        return AsyncEventStream(self._transport, {**_event_filters(type, request_id), "start": start}, cursor)


def _event_filters(type_: str | None, request_id: Id | None) -> Mapping[str, QueryValue]:
    return {"type": type_, "requestId": None if request_id is None else str(parse_id(request_id))}


class AsyncFeed:
    """Events, oldest first. Store `cursor` to continue later without a gap.

    The cursor moves after the last event of a page, so a program that stops in between gets some events again.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        filters: Mapping[str, QueryValue],
        cursor: str | None,
        *,
        limit: int,
        every: float | None,
    ) -> None:
        self._transport = transport
        self._filters = filters
        self._limit = limit
        self._every = every
        self.cursor = cursor

    async def page(self) -> Page[Event]:
        """Read the next page without moving the cursor; `next_cursor` leads on."""
        query = {**self._filters, "cursor": self.cursor, "limit": self._limit}
        return decode_page(await self._transport.send(build_get(operations.LIST_EVENTS, query=query)), decode_event)

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


class AsyncEventStream:
    """Events as they happen. Store `cursor` to continue later without a gap.

    The cursor moves when the next event is requested, so a program that stops before gets the last event again.
    """

    def __init__(self, transport: AsyncTransport, query: Mapping[str, QueryValue], cursor: str | None) -> None:
        self._transport = transport
        self._query = query
        self.cursor = cursor

    async def __aiter__(self) -> AsyncGenerator[Event]:
        """Iterate over the events, and resume after each interruption.

        Raises ChamberlainError if the service stays unreachable or refuses the call.
        """
        async with aclosing(self.documents()) as documents:
            async for document in documents:
                yield decode_event(document)

    async def documents(self) -> AsyncGenerator[bytes]:
        """Iterate over the events as JSON, as the service sends them."""
        call = build_get(operations.STREAM_EVENTS, query=self._query, accept="text/event-stream")
        attempt, begin = 0, self._transport.clock.now()
        while True:
            attempt += 1
            try:
                async with aclosing(self._transport.server_sent_events(call, self.cursor)) as events:
                    async for event in events:
                        # Each event and heartbeat resets the retries.
                        attempt, begin = 0, self._transport.clock.now()
                        if event.data:
                            yield event.data.encode()
                        self.cursor = validate_number(event.id) or self.cursor
            except ChamberlainError as error:
                await self._transport.wait_or_raise(call, error, attempt=max(1, attempt), begin=begin)
            else:
                # The token has expired, or the process stops.
                ended = Unreachable("The stream has ended.", was_sent=True)
                await self._transport.wait_or_raise(call, ended, attempt=max(1, attempt), begin=begin)


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


def _read_connection(response: Response) -> Connection:
    return with_etag(decode(response, Connection), response)


def _connection_body(
    adapter: AdapterName | str | None, address: str | None, credential: str | None, credential_file: str | None
) -> Mapping[str, object]:
    given = {
        "adapter": None if adapter is None else str(adapter),
        "address": address,
        "credential": credential,
        "credentialFile": credential_file,
    }
    return {name: each for name, each in given.items() if each is not None}


def _release_body(types: Collection[ReleaseType | str] | None, comment: str | UnsetType) -> Mapping[str, object]:
    body: dict[str, object] = {} if types is None else {"types": [str(each) for each in types]}
    return body if comment is UNSET else {**body, "comment": comment}
