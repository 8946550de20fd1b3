# SPDX-License-Identifier: Apache-2.0
"""Requests to Graph, alone or in batches.

Up to 20 concurrent ones are one batch (json-batching.md, 028b8e35). Each call has an id, by which Microsoft finds it if
its answer is lost.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import httpx2
import msgspec
import structlog

from chamberlain.core.errors import BudgetWait, Cause, ConnectionBroken, OutsideFault, TryAgain
from chamberlain.directory.microsoft365.operations import Request
from chamberlain.directory.microsoft365.tokens import Tokens
from chamberlain.directory.microsoft365.wire.faults import Answer, away, fault_of
from chamberlain.directory.microsoft365.wire.pace import Pace
from chamberlain.directory.microsoft365.wire.shapes import is_batch, is_published

_VERSION: Final = "/v1.0"
_MOST_PARTS: Final = 20
# Requests and batches that are sent at the same time. While all are in use, calls wait and form larger batches.
_AT_ONCE: Final = 8
_UNAUTHORIZED: Final = 401
# Graph redirects no request of the adapter.
_FAILED: Final = 300
# Attempts of a read, and the longest wait in place for one. Ours.
_MOST_TRIES: Final = 4
_LONGEST_WAIT: Final = timedelta(seconds=30)
_AWAY_SECONDS: Final = 1.0
# The used part of a limit at which calls slow down. Ours: the service itself uses 80 %.
_NEAR_LIMIT: Final = 0.9
_JSON: Final = {"Content-Type": "application/json"}
_ID: Final = "client-request-id"

_log = structlog.get_logger()

Result = Answer | OutsideFault


@dataclass(slots=True)
class _Batch:
    """Requests that are sent together, and their answers in the same order."""

    requests: list[Request] = field(default_factory=list)
    task: "asyncio.Task[Sequence[Result]] | None" = None


class Graph:
    """Graph v1.0 of one directory.

    `address` is that of the cloud, such as https://graph.microsoft.com. Calls raise TryAgain and Rejected only, and
    Unavailable without the database of budgets.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        tokens: Tokens,
        pace: Pace,
        *,
        address: str,
        new_id: Callable[[], UUID],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._tokens = tokens
        self._pace = pace
        self._base = f"{address}{_VERSION}"
        self._new_id = new_id
        self._sleep = sleep
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        # By whether they are for Teams, whose calls take seconds: a batch is as slow as its slowest part.
        self._open: dict[bool, _Batch] = {}

    @property
    def base(self) -> str:
        """Return the address of references to objects."""
        return self._base

    async def begin(self) -> None:
        """Take the turn of some work. Raises BudgetWait."""
        await self._pace.begin()

    async def call(self, request: Request) -> Answer:
        """Send a request, perhaps in a batch with concurrent ones.

        Reads are repeated here: one fault among hundreds of reads would begin all of them again.
        """
        for _ in range(_MOST_TRIES - 1 if request.operation.is_read else 0):
            try:
                return await self._call(request)
            except (ConnectionBroken, BudgetWait):
                raise
            except TryAgain as fault:
                if fault.cause is Cause.NOT_YET or fault.after > _LONGEST_WAIT:
                    raise
                await self._sleep(_AWAY_SECONDS if fault.cause is Cause.AWAY else fault.after.total_seconds())
        return await self._call(request)

    async def _call(self, request: Request) -> Answer:
        await self._pace.take(request)
        call_id = str(self._new_id())
        result = await self._join(replace(request, headers={**request.headers, _ID: call_id}))
        if isinstance(result, Answer):
            if request.operation.units and _is_near_limit(result):
                await self._pace.slow_down(request)
            return result
        if isinstance(result, TryAgain) and result.cause is Cause.BUSY:
            await self._pace.slow_down(request)
        if isinstance(result, TryAgain):
            _log.warning(
                "graph call failed", operation=request.operation.name, client_request_id=call_id, reason=result.reason
            )
        raise result

    async def pages(self, request: Request) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Iterate over the pages of a list."""
        left: Request | None = request
        while left is not None:
            answer = await self.call(left)
            yield answer.body["value"]
            link = answer.body.get("@odata.nextLink")
            before, left = left, None if link is None else self.following(request, link)
            if left == before:
                # The list would never end.
                raise away()

    async def all(self, request: Request) -> Sequence[Mapping[str, Any]]:
        """Return all pages of a list."""
        return [each async for page in self.pages(request) for each in page]

    def following(self, request: Request, link: str) -> Request:
        """Return the request of a link in an answer.

        A link to another server is a fault of Graph.
        """
        if not link.startswith(f"{self._base}/"):
            raise away()
        return replace(request, path=link.removeprefix(self._base))

    async def _join(self, request: Request) -> Result:
        is_slow = not request.operation.units
        batch = self._open.get(is_slow)
        if batch is None or len(batch.requests) == _MOST_PARTS:
            batch = self._open[is_slow] = _Batch()
            batch.task = asyncio.create_task(self._send(batch))
        batch.requests.append(request)
        number = len(batch.requests) - 1
        if batch.task is None:
            raise LookupError("A batch has a task.")
        # The other requests of the batch go on if this caller stops.
        return (await asyncio.shield(batch.task))[number]

    async def _send(self, batch: _Batch) -> Sequence[Result]:
        async with self._at_once:
            for is_slow in [name for name, each in self._open.items() if each is batch]:
                del self._open[is_slow]
            results = list(await self._exchange(batch.requests))
            refused = [number for number, each in enumerate(results) if _is_unauthorized(each)]
            if refused:
                # The cached token was revoked. A fresh one is refused only if the connection is broken.
                await self._tokens.forget()
                again = await self._exchange([batch.requests[number] for number in refused])
                for number, each in zip(refused, again, strict=True):
                    results[number] = each
        return [_result(request, each) for request, each in zip(batch.requests, results, strict=True)]

    async def _exchange(self, requests: Sequence[Request]) -> Sequence[Result]:
        """Send requests once."""
        if len(requests) == 1:
            [request] = requests
            return [await self._send_one(request.operation.method, request.path, request.body, request.headers)]
        parts = [_part(number, request) for number, request in enumerate(requests)]
        answer = await self._send_one("POST", "/$batch", {"requests": parts}, {_ID: str(self._new_id())})
        if not isinstance(answer, Answer) or answer.status >= _FAILED:
            return [answer] * len(requests)
        if not is_batch(answer.body):
            return [away()] * len(requests)
        found = {each["id"]: each for each in answer.body["responses"]}
        return [_answer_of_part(found.get(str(number))) for number in range(len(requests))]

    async def _send_one(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> Result:
        try:
            token = await self._tokens.token()
            response = await self._http.request(
                method,
                self._base + path,
                content=None if body is None else msgspec.json.encode(body),
                headers={**headers, **(_JSON if body is not None else {}), "Authorization": f"Bearer {token}"},
            )
        except OutsideFault as fault:
            return fault
        except (httpx2.RequestError, httpx2.InvalidURL):
            # The URL may be a link of Graph.
            return away()
        try:
            read = msgspec.json.decode(response.content) if response.content else {}
        except (msgspec.DecodeError, RecursionError):
            # Proxies answer with pages. Their status counts.
            if response.status_code < _FAILED:
                return away()
            read = {}
        return Answer(response.status_code, read if isinstance(read, dict) else {}, _lowered(response.headers))


def _result(request: Request, result: Result) -> Result:
    if not isinstance(result, Answer):
        return result
    if result.status >= _FAILED:
        return fault_of(request, result)
    return result if is_published(request.operation, result.status, result.body) else away()


def _is_near_limit(answer: Answer) -> bool:
    """Return whether most of a limit of identity is used.

    Other programs use it too (throttling-limits.md).
    """
    try:
        return float(answer.headers.get("x-ms-throttle-limit-percentage", "0")) >= _NEAR_LIMIT
    except ValueError:
        return False


def _is_unauthorized(result: Result) -> bool:
    return isinstance(result, Answer) and result.status == _UNAUTHORIZED


def _part(number: int, request: Request) -> Mapping[str, Any]:
    headers = {**request.headers, **(_JSON if request.body is not None else {})}
    body = {} if request.body is None else {"body": request.body}
    found = {"id": str(number), "method": request.operation.method, "url": request.path, **body}
    return {**found, "headers": headers} if headers else found


def _answer_of_part(part: Mapping[str, Any] | None) -> Result:
    if part is None:
        return away()
    body = part.get("body")
    return Answer(part["status"], body if isinstance(body, dict) else {}, _lowered(part.get("headers") or {}))


def _lowered(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): str(value) for name, value in headers.items()}
