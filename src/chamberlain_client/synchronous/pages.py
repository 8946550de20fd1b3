# Made by `python3 dev.py twin` from asynchronous/pages.py, which is the one to be changed.
"""Lists: item by item over all pages, or page by page."""

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Generic, TypeVar

from msgspec import Raw

from chamberlain_client.answers import Page, page_of, require_next
from chamberlain_client.calls import QueryValue, reading
from chamberlain_client.operations import Operation
from chamberlain_client.synchronous.transport import Transport

T = TypeVar("T")


class Pages(Generic[T]):
    """A list. To iterate over it reads all pages, one after the other, as they are needed; nothing is kept."""

    def __init__(
        self,
        transport: Transport,
        operation: Operation,
        decode: Callable[[Raw], T],
        *,
        query: Mapping[str, QueryValue],
    ) -> None:
        self._transport = transport
        self._operation = operation
        self._decode = decode
        self._query = query

    def __iter__(self) -> Iterator[T]:
        """Item by item."""
        return self._items()

    def page(self) -> Page[T]:
        """The first page alone, or that of the cursor that was given; `next_cursor` leads to the next one."""
        return self._page(self._query)

    def pages(self) -> Generator[Page[T]]:
        """Page by page."""
        page = self.page()
        yield page
        while page.next_cursor is not None:
            page = self._page({**self._query, "cursor": page.next_cursor})
            yield page

    def _items(self) -> Generator[T]:
        for page in self.pages():
            yield from page.items

    def _page(self, query: Mapping[str, QueryValue]) -> Page[T]:
        answer = self._transport.send(reading(self._operation, query=query))
        page = page_of(answer, self._decode)
        require_next(page, answer, query.get("cursor"))
        return page
