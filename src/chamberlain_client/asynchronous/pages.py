"""Lists: item by item over all pages, or page by page."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Generic, TypeVar

from msgspec import Raw

from chamberlain_client.answers import Page, page_of, require_next
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import QueryValue, reading
from chamberlain_client.operations import Operation

T = TypeVar("T")


class AsyncPages(Generic[T]):
    """A list. To iterate over it reads all pages, one after the other, as they are needed; nothing is kept."""

    def __init__(
        self,
        transport: AsyncTransport,
        operation: Operation,
        decode: Callable[[Raw], T],
        *,
        query: Mapping[str, QueryValue],
    ) -> None:
        self._transport = transport
        self._operation = operation
        self._decode = decode
        self._query = query

    def __aiter__(self) -> AsyncIterator[T]:
        """Item by item."""
        return self._items()

    async def page(self) -> Page[T]:
        """The first page alone, or that of the cursor that was given; `next_cursor` leads to the next one."""
        return await self._page(self._query)

    async def pages(self) -> AsyncGenerator[Page[T]]:
        """Page by page."""
        page = await self.page()
        yield page
        while page.next_cursor is not None:
            page = await self._page({**self._query, "cursor": page.next_cursor})
            yield page

    async def _items(self) -> AsyncGenerator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def _page(self, query: Mapping[str, QueryValue]) -> Page[T]:
        answer = await self._transport.send(reading(self._operation, query=query))
        page = page_of(answer, self._decode)
        require_next(page, answer, query.get("cursor"))
        return page
