# SPDX-License-Identifier: Apache-2.0
"""A feed of events in memory, for tests of the API."""

from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Caller
from chamberlain.core.ids import EventId, RequestId, TenantId
from chamberlain.core.paging import FeedPage, FeedPosition, FeedWanted
from chamberlain.events.feed import EventFilter, EventRecord
from chamberlain.events.service import ALL, EventService

ESTATE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))


def event_record(number: int, *, type_: str = "group.created", request_id: RequestId | None = None) -> EventRecord:
    """An event with the data of a created group."""
    happened = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
    data = b'{"group":{"displayName":"Hooked"}}'
    position = FeedPosition(number)
    return EventRecord(EventId(UUID(int=number)), type_, happened, request_id, ESTATE, data, position)


class FakeEvents(EventService):
    """Keeps events in memory, oldest first, numbered from 1. Raises `refusal` once it is set."""

    def __init__(self) -> None:
        self.records: list[EventRecord] = []
        self.refusal: Exception | None = None

    async def list(self, caller: Caller, wanted: FeedWanted, chosen: EventFilter = ALL) -> FeedPage[EventRecord]:
        if self.refusal is not None:
            raise self.refusal
        assert caller.tenant_id == ESTATE
        found = self._after(wanted.after, chosen)[: wanted.limit]
        end = found[-1].position if len(found) == wanted.limit else FeedPosition(len(self.records))
        return FeedPage(found, end)

    async def follow(
        self, caller: Caller, after: FeedPosition | None, chosen: EventFilter = ALL
    ) -> AsyncGenerator[FeedPage[EventRecord], None]:
        """Follow to the end, with two heartbeats there."""
        if self.refusal is not None:
            raise self.refusal
        assert caller.tenant_id == ESTATE
        end = FeedPosition(len(self.records))
        return self._pages(end if after is None else after, chosen, end)

    async def _pages(
        self, after: FeedPosition, chosen: EventFilter, end: FeedPosition
    ) -> AsyncGenerator[FeedPage[EventRecord], None]:
        yield FeedPage((), after)
        if found := self._after(after, chosen):
            yield FeedPage(found, found[-1].position)
        for _ in range(2):
            yield FeedPage((), end)

    def _after(self, position: FeedPosition, chosen: EventFilter) -> Sequence[EventRecord]:
        return [
            each
            for each in self.records
            if each.position > position
            and chosen.type in {None, each.type}
            and chosen.request_id in {None, each.request_id}
        ]
