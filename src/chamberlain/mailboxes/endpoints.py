# SPDX-License-Identifier: Apache-2.0
"""Endpoints of mailboxes: create, read and list."""

from collections.abc import Mapping

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import MailboxId
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import Call, HttpContext, Parameter, submission_of, wait_of
from chamberlain.http.resource import CACHE
from chamberlain.http.responses import NO_STORE, Answer, Headers
from chamberlain.mailboxes.models import MailboxFilter, MailboxRecord, ProvisioningState
from chamberlain.mailboxes.service import MailboxService
from chamberlain.mailboxes.wire import (
    MAILBOX,
    MAILBOX_EXAMPLE,
    AcceptedMailbox,
    DryRunMailbox,
    Mailbox,
    MailboxBody,
    accepted_mailbox_of,
    dry_run_mailbox,
    mailbox_of,
    to_mailbox_order,
)
from chamberlain.requests.models import Accepted
from chamberlain.requests.wire import DRY_RUN


class MailboxPage(Struct, rename="camel", frozen=True):
    """A page of mailboxes, newest first.

    `nextCursor` is null on the last page.
    """

    items: tuple[Mailbox, ...]
    next_cursor: str | None


async def create(mailboxes: MailboxService, call: Call[MailboxBody]) -> Answer:
    """Queue a request for a mailbox, or do a dry run."""
    order = to_mailbox_order(call.body)
    if call.query.get(DRY_RUN.name) == "true":
        return Answer(200, json.encode(dry_run_mailbox(await mailboxes.dry_run(call.caller, order))))
    found = await mailboxes.request(call.caller, order, submission_of(call))
    accepted = found.accepted
    patience = wait_of(call.listed_headers) if b"prefer" in call.headers else None
    # A replay gets the first answer. Approvals take too long to wait for.
    if patience is not None and not accepted.replayed and not accepted.approval_required:
        result = await call.http.streams.attend(mailboxes.await_result(accepted), call.receive, patience)
        if result is not None and (record := await _finished(found.record, mailboxes, call)) is not None:
            return _created(record, call.http)
    return _accepted(found.record, accepted, call.http)


async def _finished(queued: MailboxRecord, mailboxes: MailboxService, call: Call[MailboxBody]) -> MailboxRecord | None:
    """Read the mailbox, or return None if that is impossible now.

    The request is accepted all the same.
    """
    try:
        return await mailboxes.read(call.caller, queued.id)
    except Unavailable:
        return None


async def read(mailboxes: MailboxService, call: Call[None]) -> Answer:
    """Read a mailbox."""
    record = await mailboxes.read(call.caller, MailboxId(call.ids["mailboxId"]))
    return Answer(200, json.encode(mailbox_of(record)), (NO_STORE,))


async def list_(mailboxes: MailboxService, call: Call[None]) -> Answer:
    """List the visible mailboxes that match the filters."""
    query = call.query
    wanted = MailboxFilter(
        type=MailboxType(query["type"]) if "type" in query else None,
        provisioning_state=ProvisioningState(query["provisioningState"]) if "provisioningState" in query else None,
        prefix=query.get("q"),
    )
    page = await mailboxes.list(call.caller, wanted, page_wanted(call))
    body = MailboxPage(tuple(map(mailbox_of, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


def _accepted(record: MailboxRecord, accepted: Accepted, http: HttpContext) -> Answer:
    headers = (*_addresses(record, http), (b"retry-after", b"%d" % http.retry_after_seconds))
    if accepted.replayed:
        headers += ((b"idempotency-replayed", b"true"),)
    return Answer(202, json.encode(accepted_mailbox_of(record)), headers)


def _created(record: MailboxRecord, http: HttpContext) -> Answer:
    headers = (*_addresses(record, http), (b"preference-applied", b"wait"))
    return Answer(201, json.encode(accepted_mailbox_of(record)), headers)


def _addresses(record: MailboxRecord, http: HttpContext) -> Headers:
    base = http.addresses.base_url
    return (
        (b"location", f"{base}/mail/v1/mailboxes/{record.id}/".encode("ascii")),
        (b"operation-location", f"{base}/requests/v1/{record.request_id}/".encode("ascii")),
    )


_TAG = "Mailboxes"
_SENT: Mapping[str, object] = {
    "name": "Zürich",
    "displayName": "Room Zürich",
    "capacity": 12,
    "officeLocation": "HQ - Floor 5",
    "roomMailboxMetadata": {"hasWhiteboard": True},
    "tags": ["quiet"],
}
_EXAMPLE: Mapping[str, object] = {
    **_SENT,
    "permissions": {},
    "id": "5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f11",
    "type": "room",
    "primarySmtpAddress": "zurich@rooms.estate.example",
    "templateId": "7e000000-0000-4000-8000-000000000003",
    "templateSource": "default",
    "capacityUnit": "people",
    "provisioningState": "active",
    "requestId": "7c2a8f04-52a2-4b43-a1a8-5a7a3de3a0c2",
    "error": None,
    "warnings": [],
    "warningReasons": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:01.000Z",
}
_ASKED_FOR = {**_EXAMPLE, "tenantId": "e57a7e00-0000-4000-8000-000000000001", "approvalRequired": False}

ABOUT_CREATE = About(
    id="createMailbox",
    tag=_TAG,
    summary="Request a mailbox",
    description="The kind of the template decides whether it becomes a shared mailbox, equipment or a room. Without "
    "`templateId`, the properties that only one type has decide the type. The tenant's default template of that type "
    "is used, and `templateSource` says so. The answer is sent once the request is queued durably. Follow the request "
    'at `Operation-Location`, or read the mailbox. In the body `null` means "not sent".',
    example=_SENT,
)
ABOUT_READ = About(
    id="readMailbox",
    tag=_TAG,
    summary="Read a mailbox",
    description="Returns the properties that were sent or are defaults of the template, and those that the service "
    "adds. A mailbox that you may not read answers 404.",
)
ABOUT_LIST = About(
    id="listMailboxes",
    tag=_TAG,
    summary="List mailboxes, newest first",
    description="Lists the mailboxes that the caller requested, owns or has a permission on. Administrators and "
    "applications see all mailboxes of the tenant.",
)
FILTERS = (
    Parameter("type", {"type": "string", "enum": list(MailboxType)}, "Only mailboxes of this type."),
    Parameter(
        "provisioningState",
        {"type": "string", "enum": list(ProvisioningState)},
        "Only mailboxes in this state.",
    ),
    Parameter(
        "q",
        {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
        "Only mailboxes whose name or an address starts with this text.",
    ),
    *PARAMETERS,
)
PREFER = Parameter(
    "Prefer",
    {"type": "string", "examples": ["wait=10"]},
    "`wait=N` (RFC 7240): answer when the mailbox is active, if that is within N seconds, at most 30.",
)
_LOCATIONS = {"Location": "Address of the mailbox.", "Operation-Location": "Address of the request."}
_LINKS = {
    "request": {
        "operationId": "readRequest",
        "parameters": {"requestId": "$response.body#/requestId"},
        "description": "The state of the request.",
    },
    "mailbox": {
        "operationId": "readMailbox",
        "parameters": {"mailboxId": "$response.body#/id"},
        "description": "The mailbox.",
    },
}
CREATED = (
    Success(
        200,
        "The result of a dry run. Nothing was written and no number was used.",
        DryRunMailbox,
        example=MAILBOX_EXAMPLE,
    ),
    Success(
        201,
        "The mailbox is active. Only with `Prefer: wait=N`.",
        AcceptedMailbox,
        headers={**_LOCATIONS, "Preference-Applied": "Always `wait`."},
        example=_ASKED_FOR,
    ),
    Success(
        202,
        "Queued durably.",
        AcceptedMailbox,
        headers={
            **_LOCATIONS,
            "Retry-After": "Seconds to wait before reading the request.",
            "Idempotency-Replayed": "`true` for the answer of an earlier call with this idempotency key.",
        },
        example={**_ASKED_FOR, "provisioningState": "queued", "updatedAt": "2026-11-20T09:30:00.000Z"},
        links=_LINKS,
    ),
)
READ = (Success(200, "The mailbox.", Mailbox, CACHE, _EXAMPLE),)
LISTED = (Success(200, "A page of mailboxes.", MailboxPage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),)
CREATE_CODES = (
    "templateNotAllowed", "notPossible", "idempotencyKeyReused", "idempotencyKeyInProgress", "nameTaken",
    "addressTaken", "quotaExceeded",
)  # fmt: skip
READ_CODES = ("notAdministrator", "notFound")
LIST_CODES = ("invalidCursor", "notAdministrator")

# fmt: off
ENDPOINTS = EndpointTable(MailboxService, (
    Endpoint("POST", "/mail/v1/mailboxes/", create, Operation.CREATE_MAILBOX, ABOUT_CREATE,
             CREATED, shape=MAILBOX, parameters=(DRY_RUN,), headers=(PREFER,),
             codes=CREATE_CODES),
    Endpoint("GET", "/mail/v1/mailboxes/", list_, Operation.READ_MAILBOXES, ABOUT_LIST,
             LISTED, parameters=FILTERS, codes=LIST_CODES),
    Endpoint("GET", "/mail/v1/mailboxes/{mailboxId}/", read, Operation.READ_MAILBOXES,
             ABOUT_READ, READ, codes=READ_CODES),
))
# fmt: on
