# Made by `python3 dev.py twin` from asynchronous/events.py, which is the one to be changed.
"""Events are read, oldest first, and followed."""

from collections.abc import Generator

from chamberlain_client import operations
from chamberlain_client.answers import Page, page_of
from chamberlain_client.calls import reading
from chamberlain_client.events import event_of
from chamberlain_client.models.events import Event
from chamberlain_client.operations import Operation
from chamberlain_client.synchronous.transport import Transport

# As many as a page may have.
_MOST = 200


class Events:
    """What has happened in the tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, cursor: str | None = None, limit: int = _MOST) -> "Feed":
        """What has happened behind the cursor, or from the beginning, up to now."""
        return Feed(self._transport, operations.LIST_EVENTS, cursor, limit=limit, every=None)

    def follow(self, cursor: str | None = None, *, every: float = 5.0, limit: int = _MOST) -> "Feed":
        """The same, and then what happens, without end: it is looked for every so many seconds."""
        return Feed(self._transport, operations.LIST_EVENTS, cursor, limit=limit, every=every)


class Feed:
    """Events, one after the other. `cursor` is where to go on: keep it, and nothing is missed.

    It moves on when all events of a page were taken, so some may come a second time to whoever stops in between.
    """

    def __init__(
        self, transport: Transport, operation: Operation, cursor: str | None, *, limit: int, every: float | None
    ) -> None:
        self._transport = transport
        self._operation = operation
        self._limit = limit
        self._every = every
        self.cursor = cursor

    def page(self) -> Page[Event]:
        """The next events; `next_cursor` is where to go on. The feed itself stays where it is."""
        query = {"cursor": self.cursor, "limit": self._limit}
        return page_of(self._transport.send(reading(self._operation, query=query)), event_of)

    def __iter__(self) -> Generator[Event]:
        """Event by event."""
        while True:
            page = self.page()
            yield from page.items
            self.cursor = page.next_cursor
            if len(page.items) < self._limit:
                if self._every is None:
                    return
                self._transport.clock.sleep(self._every)
