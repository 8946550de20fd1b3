"""List events, oldest first, for clients without a webhook."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw, Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import EventType, format_time
from chamberlain.events.service import EventRecord, EventService
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import LIMIT, feed_cursor, feed_wanted
from chamberlain.http.request import Call, Parameter
from chamberlain.http.resource import CACHE
from chamberlain.http.responses import NO_STORE, Answer
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
    page = await events.list(call.caller, feed_wanted(call))
    body = EventFeed(tuple(map(_event, page.items)), feed_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


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
PARAMETERS = (
    LIMIT,
    Parameter(
        "cursor",
        {"type": "string"},
        "`nextCursor` of the page before. It belongs to this caller and has no end; only `limit` may change.",
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

# fmt: off
ENDPOINTS = EndpointTable(EventService, (
    Endpoint("GET", "/admin/v1/events/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST, LISTED,
             parameters=PARAMETERS, codes=LIST_CODES),
))
# fmt: on
