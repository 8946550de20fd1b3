"""A feed of events in memory, for tests of the API."""

from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Caller
from chamberlain.core.ids import EventId, RequestId, TenantId
from chamberlain.core.paging import FeedPage, FeedPosition, FeedWanted
from chamberlain.events.service import EventRecord, EventService

ESTATE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))


def event_record(number: int, *, type_: str = "group.created", request_id: RequestId | None = None) -> EventRecord:
    """An event with the data of a created group."""
    happened = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
    data = b'{"group":{"displayName":"Hooked"}}'
    return EventRecord(EventId(UUID(int=number)), type_, happened, request_id, ESTATE, data)


class FakeEvents(EventService):
    """Keeps events in memory, oldest first. Raises `refusal` once it is set."""

    def __init__(self) -> None:
        self.records: list[EventRecord] = []
        self.refusal: Exception | None = None

    async def list(self, caller: Caller, wanted: FeedWanted) -> FeedPage[EventRecord]:
        if self.refusal is not None:
            raise self.refusal
        assert caller.tenant_id == ESTATE
        begin = wanted.after.number
        found = self.records[begin : begin + wanted.limit]
        return FeedPage(found, FeedPosition(begin + len(found)))
