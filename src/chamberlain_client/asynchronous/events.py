"""Events are read, oldest first, and followed."""

from collections.abc import AsyncGenerator

from chamberlain_client import operations
from chamberlain_client.answers import Page, page_of
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import reading
from chamberlain_client.events import event_of
from chamberlain_client.models.events import Event
from chamberlain_client.operations import Operation

# As many as a page may have.
_MOST = 200


class AsyncEvents:
    """What has happened in the tenant."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(self, *, cursor: str | None = None, limit: int = _MOST) -> "AsyncFeed":
        """What has happened behind the cursor, or from the beginning, up to now."""
        return AsyncFeed(self._transport, operations.LIST_EVENTS, cursor, limit=limit, every=None)

    def follow(self, cursor: str | None = None, *, every: float = 5.0, limit: int = _MOST) -> "AsyncFeed":
        """The same, and then what happens, without end: it is looked for every so many seconds."""
        return AsyncFeed(self._transport, operations.LIST_EVENTS, cursor, limit=limit, every=every)


class AsyncFeed:
    """Events, one after the other. `cursor` is where to go on: keep it, and nothing is missed.

    It moves on when all events of a page were taken, so some may come a second time to whoever stops in between.
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
        """The next events; `next_cursor` is where to go on. The feed itself stays where it is."""
        query = {"cursor": self.cursor, "limit": self._limit}
        return page_of(await self._transport.send(reading(self._operation, query=query)), event_of)

    async def __aiter__(self) -> AsyncGenerator[Event]:
        """Event by event."""
        while True:
            page = await self.page()
            for event in page.items:
                yield event
            self.cursor = page.next_cursor
            if len(page.items) < self._limit:
                if self._every is None:
                    return
                await self._transport.clock.sleep(self._every)
