# SPDX-License-Identifier: Apache-2.0
"""Send calls with a token, a timeout and retries, and paginate lists."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import httpx2
from msgspec import Raw, UnsetType, structs

from chamberlain_client.calls import (
    Body,
    Call,
    Id,
    QueryValue,
    build_get,
    build_post,
    comment_body,
    validate_header,
)
from chamberlain_client.connections import AsyncTokenSource, async_token_of, transport_errors
from chamberlain_client.errors import AnswerNotUnderstood, ChamberlainError
from chamberlain_client.operations import Operation, Server
from chamberlain_client.responses import Page, Response, decode, decode_page, item_decoder, refusal_of
from chamberlain_client.timing import AsyncClock, Retries, retry_delay

T = TypeVar("T")

# Seconds. A stream has a heartbeat every 15 seconds.
_STREAM_TIMEOUT = 45.0
# Many times the size of the largest page of the API. The limit protects the memory of the program.
_LARGEST_BODY = 64 * 1024 * 1024


class NoFurtherEvents(Exception):
    """The service has no further events."""


class AsyncTransport:
    """Sends calls to the addresses of one service."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        addresses: Mapping[Server, str],
        tokens: Mapping[Server, AsyncTokenSource],
        *,
        timeout: float,
        retries: Retries,
        clock: AsyncClock,
    ) -> None:
        self._client = client
        self._addresses = addresses
        self._tokens = tokens
        self._timeout = timeout
        self._retries = retries
        self.clock = clock

    async def send(self, call: Call) -> Response:
        """Send a call, with retries, and return its 2xx response.

        Raises ChamberlainError for all others.
        """
        begin, attempt = self.clock.now(), 0
        while True:
            attempt += 1
            try:
                return await self._attempt(call)
            except ChamberlainError as error:
                await self.wait_or_raise(call, error, attempt=attempt, begin=begin)

    async def wait_or_raise(self, call: Call, error: ChamberlainError, *, attempt: int, begin: float) -> None:
        """Wait for the next attempt; raise the error after the last one."""
        elapsed, chance = self.clock.now() - begin, self.clock.chance()
        seconds = retry_delay(self._retries, call, error, attempt=attempt, elapsed=elapsed, chance=chance)
        if seconds is None:
            raise error
        await self.clock.sleep(seconds)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncGenerator[httpx2.Response]:
        """Stream the response to a call, without retries.

        Raises ChamberlainError for all but 2xx.
        """
        request, deadline = await self._request(call, read=_STREAM_TIMEOUT), self._deadline(call)
        with transport_errors():
            response = await self._client.send(request, stream=True)
            try:
                if not response.is_success:
                    raise _error_of(await self._read(response, deadline))
                yield response
            finally:
                await response.aclose()

    async def server_sent_events(self, call: Call, last_event_id: str | None) -> AsyncGenerator[httpx2.ServerSentEvent]:
        """Stream server-sent events after the last one, without retries.

        Raises NoFurtherEvents if the service has no more.
        """
        if last_event_id is not None:
            call = structs.replace(call, headers=(*call.headers, ("last-event-id", validate_header(last_event_id))))
        async with self.stream(call) as response:
            if response.status_code == 204:
                raise NoFurtherEvents
            async for event in httpx2.EventSource(response):
                yield event

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _attempt(self, call: Call) -> Response:
        request, deadline = await self._request(call, read=self._timeout + call.waits), self._deadline(call)
        with transport_errors():
            streamed = await self._client.send(request, stream=True)
            try:
                response = await self._read(streamed, deadline)
            finally:
                await streamed.aclose()
        if streamed.is_success:
            return response
        raise _error_of(response)

    async def _request(self, call: Call, *, read: float) -> httpx2.Request:
        token = await async_token_of(self._tokens[call.server])
        return self._client.build_request(
            call.method,
            self._addresses[call.server] + call.path,
            params=call.query or None,
            headers=[*call.headers, ("authorization", f"Bearer {token}")],
            content=call.content,
            timeout=httpx2.Timeout(self._timeout, read=read),
        )

    def _deadline(self, call: Call) -> float:
        return self.clock.now() + self._timeout + call.waits

    async def _read(self, response: httpx2.Response, deadline: float) -> Response:
        """Read a whole response.

        The timeout of the HTTP library restarts with each chunk; the deadline does not.
        """
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > _LARGEST_BODY:
                raise AnswerNotUnderstood(response.status_code, f"it has more than {_LARGEST_BODY // 2**20} MiB")
            if self.clock.now() > deadline:
                raise httpx2.ReadTimeout("The answer does not end.", request=response.request)
        return Response(response.status_code, dict(response.headers), bytes(content), self.clock.today())


class AsyncPages(Generic[T]):
    """A list.

    Iteration reads all pages, one after the other, as they are needed; nothing is cached.
    """

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
        """Iterate over all items."""
        return self._items()

    async def page(self) -> Page[T]:
        """Read one page: the first, or that of the given cursor.

        `next_cursor` leads to the next one.
        """
        return await self._page(self._query)

    async def pages(self) -> AsyncGenerator[Page[T]]:
        """Iterate over all pages."""
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
        response = await self._transport.send(build_get(self._operation, query=query))
        return decode_page(response, self._decode, query.get("cursor"))


class AsyncResource:
    """Operations of one noun."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _get(self, type_: type[T], operation: Operation, *ids: Id) -> T:
        return decode(await self._transport.send(build_get(operation, *ids)), type_)

    async def _post(self, type_: type[T], operation: Operation, *ids: Id, body: Body, key: str | None) -> T:
        return decode(await self._transport.send(build_post(operation, *ids, body=body, key=key)), type_)

    async def _act(
        self, type_: type[T], operation: Operation, *ids: Id, comment: str | UnsetType, key: str | None
    ) -> T:
        """Send a POST whose body is a comment."""
        return await self._post(type_, operation, *ids, body=comment_body(comment), key=key)

    def _list(self, type_: type[T], operation: Operation, **query: QueryValue) -> AsyncPages[T]:
        return AsyncPages(self._transport, operation, item_decoder(type_), query=query)


def _error_of(response: Response) -> ChamberlainError:
    return refusal_of(response) or AnswerNotUnderstood(response.status, "it is neither an answer nor a refusal")
