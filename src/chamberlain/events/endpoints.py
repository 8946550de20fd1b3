# SPDX-License-Identifier: Apache-2.0
"""List and stream events, oldest first, for clients without a webhook."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw, Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import EventType, format_time
from chamberlain.core.errors import Malformed
from chamberlain.core.ids import RequestId
from chamberlain.core.paging import FeedPage, FeedPosition
from chamberlain.events.feed import EventFilter, EventRecord
from chamberlain.events.service import EventService
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import LIMIT, START, feed_cursor, feed_wanted, stream_cursor, stream_position
from chamberlain.http.request import Call, Parameter
from chamberlain.http.resource import CACHE
from chamberlain.http.responses import NO_STORE, Answer, Stream
from chamberlain.http.wire import Time

# New types may be added. Clients ignore unknown ones.
Type = Annotated[
    str, Meta(description="Type of the event. More types may be added.", examples=[str(t) for t in EventType])
]
Data = Annotated[Raw, Meta(extra_json_schema={"type": "object", "description": "Data of the event, by its type."})]


# Named so because the OpenAPI document has other events, too.
class FeedEvent(Struct, rename="camel", frozen=True):
    """An event; `requestId` is null without a request."""

    id: UUID
    type: Type
    timestamp: Time
    request_id: UUID | None
    tenant_id: UUID
    data: Data


class EventFeed(Struct, rename="camel", frozen=True):
    """Some events, oldest first.

    `nextCursor` is always present and continues after them.
    """

    items: tuple[FeedEvent, ...]
    next_cursor: str


async def list_(events: EventService, call: Call[None]) -> Answer:
    """List the events after the cursor."""
    page = await events.list(call.caller, feed_wanted(call), _filter(call))
    body = EventFeed(tuple(map(_event, page.items)), feed_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


LIST_PATH = "/admin/v1/events/"
# SSE heartbeat; keeps proxies from closing the connection.
_HEARTBEAT = b":\n\n"
# Far longer than a cursor.
_LONGEST_CURSOR = 1_000


async def stream(events: EventService, call: Call[None]) -> Stream:
    """Stream the events after `Last-Event-ID`."""
    after = _last_event(call)
    if after is None and call.query.get(START.name) != "now":
        after = FeedPosition(0)
    pages = await events.follow(call.caller, after, _filter(call))
    return Stream(
        chunks=_chunks(call, pages),
        content_type=b"text/event-stream",
        headers=(NO_STORE, (b"x-accel-buffering", b"no")),
        ends_at=call.caller.expires_at,
        close=call.http.streams.open(call.caller),
    )


def _filter(call: Call[None]) -> EventFilter:
    request_id = call.query.get("requestId")
    return EventFilter(call.query.get("type"), None if request_id is None else RequestId(UUID(request_id)))


def _last_event(call: Call[None]) -> FeedPosition | None:
    """Return the position of the last event seen, None for none."""
    sent = [value for name, value in call.listed_headers if name == b"last-event-id"]
    if len(sent) > 1 or any(len(each) > _LONGEST_CURSOR for each in sent):
        raise Malformed("invalidParameter", "Last-Event-ID must be the id of one event of this stream.")
    cursor = sent[0].decode("latin-1") if sent else ""
    return stream_position(call, LIST_PATH, cursor) if cursor else None


async def _chunks(call: Call[None], pages: AsyncGenerator[FeedPage[EventRecord], None]) -> AsyncGenerator[bytes, None]:
    """Write a page in one chunk.

    A page without events is a heartbeat. It has the position, if that has moved, so that a client continues there.
    """
    sent: FeedPosition | None = None
    async with aclosing(pages):
        async for page in pages:
            if page.items:
                yield b"".join(_written(call, page.items))
            elif page.next != sent:
                yield b"id: %s\n\n" % _id(call, page.next)
            else:
                yield _HEARTBEAT
            sent = page.next


def _written(call: Call[None], records: Iterable[EventRecord]) -> Iterable[bytes]:
    for record in records:
        yield b"id: %s\ndata: %s\n\n" % (_id(call, record.position), json.encode(_event(record)))


def _id(call: Call[None], position: FeedPosition) -> bytes:
    return stream_cursor(call, LIST_PATH, position).encode("ascii")


def _event(record: EventRecord) -> FeedEvent:
    return FeedEvent(
        id=record.id,
        type=record.type,
        timestamp=format_time(record.timestamp),
        request_id=record.request_id,
        tenant_id=record.tenant_id,
        data=Raw(record.data),
    )


ABOUT_LIST = About(
    id="listEvents",
    tag="Operation",
    summary="Read events, oldest first",
    description="Events are in commit order. No event is ever inserted before one that was read, so a client that "
    "continues "
    "with `nextCursor` misses nothing. A page with fewer items than `limit` is the last one for now. Keep its "
    "`nextCursor` and retry later.\n\n"
    "Use it without a webhook, or to read all events.",
)
FILTERS = (
    Parameter("type", {"type": "string", "enum": list(EventType)}, "Only events of this type."),
    Parameter("requestId", {"type": "string", "format": "uuid"}, "Only events of this request."),
)
PARAMETERS = (
    *FILTERS,
    LIMIT,
    Parameter(
        "cursor",
        {"type": "string"},
        "`nextCursor` of the page before. It belongs to this caller and these filters, and has no end; only `limit` "
        "may change.",
    ),
)
_EXAMPLE: Mapping[str, object] = {
    "id": "e7e00000-0000-4000-8000-000000000001",
    "type": "group.created",
    "timestamp": "2026-11-20T09:30:01.000Z",
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "data": {
        "group": {
            "id": "a2c7d7c4-7f0a-4e7e-9d55-7a8a1d1f0f01",
            "displayName": "Hooked",
            "mail": "hooked@estate.example",
            "mailNickname": "hooked",
        },
        "templateId": "7e000000-0000-4000-8000-000000000011",
        "metadata": {"el-text-1": "x"},
        "createdBy": {
            "type": "user",
            "id": "ada00000-0000-4000-8000-000000000001",
            "displayName": "Ada Achterberg",
        },
    },
}
LISTED = (
    Success(
        200,
        "The next events.",
        EventFeed,
        headers=CACHE,
        example={"items": [_EXAMPLE], "nextCursor": "AmsxQ2hhbWJlcmxhaW4"},
    ),
)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")

ABOUT_STREAM = About(
    id="streamEvents",
    tag="Operation",
    summary="Stream events as they happen",
    description="Server-sent events: past events first, then new ones, in the order of the list. Each is a `message` "
    "whose data is the event. Its `id` is a cursor: of this stream as `Last-Event-ID`, and of the list with the same "
    "filters. A client that reconnects to any process with `Last-Event-ID` gets every event once. After 15 seconds "
    "without an event a comment is sent, or an `id` without data that only moves the position. The stream ends when "
    "the token expires or the service stops.",
)
HEADERS = (
    Parameter(
        "Last-Event-ID",
        {"type": "string", "maxLength": _LONGEST_CURSOR, "minLength": 0},
        "The `id` of the last event that the client has seen, or `nextCursor` of the list. Empty means none.",
    ),
)
STREAMED = (
    Success(
        200,
        "A stream of events.",
        headers={**CACHE, "X-Accel-Buffering": "Always `no`."},
        events={"message": FeedEvent},
    ),
)
STREAM_CODES = ("invalidCursor", "notAdministrator", "quotaExceeded", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(EventService, (
    Endpoint("GET", LIST_PATH, list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST, LISTED,
             parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("GET", "/admin/v1/events/stream/", stream, Operation.ADMINISTER_SERVICE, ABOUT_STREAM, STREAMED,
             parameters=(*FILTERS, START), headers=HEADERS, codes=STREAM_CODES),
))
# fmt: on
