# SPDX-License-Identifier: Apache-2.0
"""Read the audit trail, in pages or as lines of JSON."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw, Struct, json

from chamberlain.audit.models import AuditFilter, AuditRecord, AuditRows
from chamberlain.audit.rules import written
from chamberlain.audit.service import AuditService
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import format_time
from chamberlain.core.errors import Malformed
from chamberlain.core.time import read_time
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import CURSOR, LIMIT, PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import Call, Parameter
from chamberlain.http.resource import CACHE
from chamberlain.http.responses import NO_STORE, Answer, Stream
from chamberlain.http.wire import Actor, Time

LINES = b"application/x-ndjson"

Changed = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class AuditProgram(Struct, rename="camel", frozen=True):
    """The client program of a change; the name may be empty."""

    id: str
    display_name: str


class AuditSubject(Struct, rename="camel", frozen=True):
    """The object of a change; `type` is a noun of the API."""

    type: str
    id: UUID | None
    display_name: str


class Seal(Struct, frozen=True):
    """The digest of a row, and that of the row before."""

    previous: str
    digest: str


class AuditRow(Struct, rename="camel", frozen=True, omit_defaults=True):
    """One row of the audit trail.

    `before` and `after` have only the changed properties. `clientAddress` is null for a change outside HTTP; `seal` is
    null until the row is sealed. `erased` is true if an erasure emptied the row.
    """

    sequence: int
    at: Time
    tenant_id: UUID
    action: str
    actor: Actor | None
    client: AuditProgram | None
    subject: AuditSubject | None
    before: Changed | None
    after: Changed | None
    request_id: UUID | None
    trace_id: str
    client_address: str | None
    seal: Seal | None
    erased: bool = False


class AuditPage(Struct, rename="camel", frozen=True):
    """Some rows, newest first; `nextCursor` is null on the last page."""

    items: tuple[AuditRow, ...]
    next_cursor: str | None


async def list_(trail: AuditService, call: Call[None]) -> Answer | Stream:
    """List rows as a page, or all as lines."""
    wanted = _wanted(call.query)
    if _wants_lines(call):
        return await _lines(trail, call, wanted)
    page = await trail.list(call.caller, wanted, page_wanted(call))
    body = AuditPage(tuple(map(_row, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE, _VARY))


async def _lines(trail: AuditService, call: Call[None], wanted: AuditFilter) -> Stream:
    if paged := [each.name for each in PARAMETERS if each.name in call.query]:
        sentence = "Lines are not paged. Leave out {parameter}."
        raise Malformed.build("invalidParameter", sentence, parameter=" and ".join(paged))
    several = await trail.export(call.caller, wanted)
    return Stream(
        chunks=_written(several),
        content_type=LINES,
        headers=(NO_STORE, _VARY, (b"x-accel-buffering", b"no")),
        ends_at=call.caller.expires_at,
        close=call.http.streams.open(call.caller),
        must_be_whole=True,
    )


async def _written(rows: AuditRows) -> AsyncGenerator[bytes, None]:
    async with aclosing(rows):
        async for several in rows:
            if several:
                yield b"".join([json.encode(_row(each)) + b"\n" for each in several])


def _wants_lines(call: Call[None]) -> bool:
    """Return whether the Accept header names lines. A wildcard means JSON."""
    accepted = [value for name, value in call.listed_headers if name == b"accept"]
    ranges = [each.strip().lower() for value in accepted for each in value.split(b",")]
    return any(each.split(b";", 1)[0].strip() == LINES and not _refuses(each) for each in ranges)


def _refuses(media_range: bytes) -> bool:
    """Return whether the quality is zero (RFC 9110, 12.4.2)."""
    parameters = [each.strip() for each in media_range.split(b";")[1:]]
    return any(each.startswith(b"q=") and not each[2:].strip(b"0.") for each in parameters)


def _wanted(query: Mapping[str, str]) -> AuditFilter:
    return AuditFilter(
        subject_id=UUID(query["subjectId"]) if "subjectId" in query else None,
        actor_id=UUID(query["actorId"]) if "actorId" in query else None,
        action=query.get("action"),
        since=read_time(query["from"]) if "from" in query else None,
        until=read_time(query["to"]) if "to" in query else None,
    )


def _row(record: AuditRecord) -> AuditRow:
    actor, client, subject, seal = record.actor, record.client, record.subject, record.seal
    return AuditRow(
        sequence=record.sequence,
        at=format_time(record.at),
        tenant_id=record.tenant_id,
        action=record.action,
        actor=None if actor is None else Actor(actor.type, actor.id, actor.display_name),
        client=None if client is None else AuditProgram(client.id, client.display_name),
        subject=None if subject is None else AuditSubject(subject.type, subject.id, subject.display_name),
        before=None if record.before is None else Raw(record.before),
        after=None if record.after is None else Raw(record.after),
        request_id=record.request_id,
        trace_id=record.trace_id,
        client_address=record.client_address,
        seal=None if seal is None else Seal(written(seal.previous), written(seal.digest)),
        erased=record.is_erased,
    )


_VARY = (b"vary", b"Accept")
_TIME: Mapping[str, object] = {"type": "string", "format": "date-time"}

ABOUT_LIST = About(
    id="listAudit",
    tag="Operation",
    summary="Read the audit trail, newest first",
    description="Each row has the actor, the client program, the object and the changes. Every row is sealed "
    "within a minute "
    "or so by a chain of digests, so that `chamberlain audit verify` finds rows that were changed, removed or "
    "inserted later.\n\n"
    "`Accept: application/x-ndjson` returns all matching rows, one per line, in the order of `sequence`, as long "
    "as the token is valid. An incomplete response is closed without the end of its body.",
)
FILTERS = (
    Parameter("subjectId", {"type": "string", "format": "uuid"}, "Only rows about this object."),
    Parameter("actorId", {"type": "string", "format": "uuid"}, "Only rows of this user or application."),
    Parameter(
        "action",
        {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
        "Only this action, such as `template.replace`.",
    ),
    Parameter("from", _TIME, "Only rows from this time on."),
    Parameter("to", _TIME, "Only rows before this time."),
    LIMIT,
    CURSOR,
)
_EXAMPLE: Mapping[str, object] = {
    "sequence": 1042,
    "at": "2026-11-20T09:30:00.000Z",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "action": "group.assign",
    "actor": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "client": {"id": "c11e0000-0000-4000-8000-000000000001", "displayName": "chamberlain-cli"},
    "subject": {"type": "group", "id": "94000000-0000-4000-8000-000000000001", "displayName": "All staff"},
    "before": {"templateId": None},
    "after": {"templateId": "7e000000-0000-4000-8000-000000000021"},
    "requestId": None,
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    "clientAddress": "192.0.2.1",
    "seal": {"previous": f"sha256:{'9f2c' * 16}", "digest": f"sha256:{'41aa' * 16}"},
}
LISTED = (
    Success(
        200,
        "A page of the trail, or all of it as lines.",
        AuditPage,
        headers={**CACHE, "Vary": "Always `Accept`."},
        example={"items": [_EXAMPLE], "nextCursor": None},
        lines=AuditRow,
    ),
)
LIST_CODES = ("invalidCursor", "notAdministrator", "quotaExceeded", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(AuditService, (
    Endpoint("GET", "/admin/v1/audit/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST, LISTED, parameters=FILTERS,
             codes=LIST_CODES),
))
# fmt: on
