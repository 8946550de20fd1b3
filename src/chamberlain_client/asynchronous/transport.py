"""Sending calls: token, time-outs, and as many attempts as are allowed."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import httpx2

from chamberlain_client.answers import Answer, refusal_of
from chamberlain_client.calls import Call
from chamberlain_client.clocks import AsyncClock
from chamberlain_client.errors import AnswerNotUnderstood, ChamberlainError
from chamberlain_client.operations import Server
from chamberlain_client.retries import Retries, pause
from chamberlain_client.tokens import AsyncTokenSource, async_token_of
from chamberlain_client.transmission import told

# A stream says every 15 seconds that it lives.
_SILENCE = 45.0


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

    async def send(self, call: Call) -> Answer:
        """The answer to a call, with as many attempts as are allowed. Raises ChamberlainError for any but 2xx."""
        begin, attempt = self.clock.now(), 0
        while True:
            attempt += 1
            try:
                return await self._attempt(call)
            except ChamberlainError as error:
                await self.wait_or_raise(call, error, attempt=attempt, begin=begin)

    async def wait_or_raise(self, call: Call, error: ChamberlainError, *, attempt: int, begin: float) -> None:
        """Wait until the next attempt may begin; raises the error when there is to be none."""
        elapsed, chance = self.clock.now() - begin, self.clock.chance()
        seconds = pause(self._retries, call, error, attempt=attempt, elapsed=elapsed, chance=chance)
        if seconds is None:
            raise error
        await self.clock.sleep(seconds)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncGenerator[httpx2.Response]:
        """The answer to a call while it comes in. Attempted once; raises ChamberlainError for any but 2xx."""
        request = await self._request(call, read=_SILENCE)
        with told():
            response = await self._client.send(request, stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                    raise self._refused(response)
                yield response
            finally:
                await response.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _attempt(self, call: Call) -> Answer:
        request = await self._request(call, read=self._timeout + call.waits)
        with told():
            response = await self._client.send(request)
        if response.is_success:
            return self._answer(response)
        raise self._refused(response)

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

    def _answer(self, response: httpx2.Response) -> Answer:
        return Answer(response.status_code, dict(response.headers), response.content, self.clock.today())

    def _refused(self, response: httpx2.Response) -> ChamberlainError:
        found = refusal_of(self._answer(response))
        return found or AnswerNotUnderstood(response.status_code, "it is neither an answer nor a refusal")
