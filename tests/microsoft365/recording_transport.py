# SPDX-License-Identifier: Apache-2.0
"""A transport under httpx2 that holds every exchange with Graph against Microsoft's description.

It refuses an operation that is not in published/operations.txt, and collects the operations in use. It can stop the
caller after an exchange, as a kill does.
"""

import json
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2

from tests.microsoft365.permissions import ACTIVITY, sufficient
from tests.microsoft365.recorder import PUBLISHED, Exchange, Operation, description

# Parsed JSON of any form.
Json: TypeAlias = Any

# The variable with the folder for answers (tests/clients/test_graph_sdk_fake.py).
ANSWERS: Final = "CHAMBERLAIN_TEST_GRAPH_ANSWERS"
_VERSION: Final = "/v1.0"
# A part of a batch that was not run because another one failed.
_FAILED_DEPENDENCY: Final = 424


class Killed(BaseException):
    """The caller stops here. No handler of exceptions may continue."""


class DifferentFromPublished(AssertionError):
    """An exchange differs from the description."""


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Records and checks exchanges.

    `exchanges` are those with Graph, a batch as its parts. `sent` counts requests, of all hosts. The request number
    `stop_after` is done, and raises Killed instead of its answer; so does every later request, which is not sent. With
    `is_last_answered` the last answer arrives. `are_requests_checked` is false in tests that send wrong requests.
    """

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        *,
        stop_after: int | None = None,
        is_last_answered: bool = False,
        are_requests_checked: bool = True,
    ) -> None:
        self._inner = inner
        self._described = description(is_strict=True)
        self._are_requests_checked = are_requests_checked
        self._is_last_answered = is_last_answered
        self.stop_after = stop_after
        self.sent = 0
        self.exchanges: list[Exchange] = []
        self.operations: Counter[str] = Counter()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.stop_after is not None and self.sent >= self.stop_after:
            raise Killed
        await request.aread()
        problems = self._request_problems(request)
        if problems:
            raise DifferentFromPublished("\n".join([f"{request.method} {request.url}", *problems]))
        self.sent += 1
        is_last = self.sent == self.stop_after and not self._is_last_answered
        try:
            response = await self._inner.handle_async_request(request)
            await response.aread()
        except httpx2.TransportError:
            if is_last:
                raise Killed from None
            raise
        if is_last:
            raise Killed
        problems = self._record(request, response)
        if problems:
            raise DifferentFromPublished("\n".join([f"{request.method} {request.url}", *problems]))
        return response

    def _request_problems(self, request: httpx2.Request) -> list[str]:
        if not self._are_requests_checked:
            return []
        if _path(request.url) is not None and request.content and _sent(request) is None:
            return ["the body is no JSON"]
        return [problem for exchange in _requests(request) for problem in self._problems_of(exchange)]

    def _problems_of(self, exchange: Exchange) -> Sequence[str]:
        operation = self._described.find(exchange.method, exchange.path)
        if operation is not None and name(operation) not in published_operations():
            # The description has more operations, for the embedded directory.
            return [f"{name(operation)} is not in operations.txt"]
        return _problems(replace(exchange, status=204))

    def _record(self, request: httpx2.Request, response: httpx2.Response) -> list[str]:
        found = _exchanges(request, response)
        problems = []
        for exchange in found:
            operation = self._described.find(exchange.method, exchange.path)
            if operation is None:
                # Without checks of requests, only an error can answer it.
                problems += [f"no such operation, and {exchange.status}"] if exchange.status < 400 else []
                continue
            self.operations[name(operation)] += 1
            problems += _problems(replace(exchange, sent=None))
        self.exchanges += [] if problems else found
        return problems

    async def aclose(self) -> None:
        """Close the inner transport, and write the answers for Microsoft's client if a folder is set."""
        await self._inner.aclose()
        folder = os.environ.get(ANSWERS)
        if folder is not None:
            lines = [json.dumps(each) for each in self._answers()]
            (Path(folder) / f"{uuid.uuid4()}.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def _answers(self) -> Iterable[Json]:
        for each in self.exchanges:
            operation = self._described.find(each.method, each.path)
            if operation is not None and each.answer is not None:
                yield {"operation": name(operation), "status": each.status, "answer": each.answer}

    def needs(self, permissions: frozenset[str]) -> frozenset[str]:
        """Return the recorded operations that none of these application permissions allows."""
        return frozenset(each for each in self._successful() if not sufficient(each) & permissions)

    def in_use(self, permissions: frozenset[str]) -> frozenset[str]:
        """Return those of these application permissions that alone allow a recorded operation."""
        allowed = [sufficient(each) & permissions for each in self._successful()]
        return frozenset(each for names in allowed if len(names) == 1 for each in names)

    def _successful(self) -> frozenset[str]:
        """Return the operations of successful exchanges. The sign-in activity of users is one of its own."""
        found = set()
        for each in self.exchanges:
            operation = self._described.find(each.method, each.path)
            if operation is not None and each.status < 400:
                has_activity = ACTIVITY in each.query.get("$select", "")
                found.add(f"{name(operation)} {ACTIVITY}" if has_activity else name(operation))
        return frozenset(found)


def _problems(exchange: Exchange) -> Sequence[str]:
    parts = (exchange.method, exchange.path, exchange.query, exchange.sent, exchange.status, exchange.answer)
    return _known_problems(json.dumps(parts))


@lru_cache(maxsize=4096)
def _known_problems(exchange: str) -> Sequence[str]:
    """Compare an exchange with the description. Tests that repeat a run have most exchanges many times."""
    return description(is_strict=True).problems(Exchange(*json.loads(exchange)))


def name(operation: Operation) -> str:
    """Return an operation as operations.txt has it."""
    return f"{operation.method} {operation.template}"


@cache
def published_operations() -> frozenset[str]:
    """Return the operations of operations.txt."""
    lines = (PUBLISHED / "operations.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(" ".join(line.split()[:2]) for line in lines if line and not line.startswith("#"))


def _path(url: httpx2.URL) -> str | None:
    path = unquote(urlsplit(str(url)).path)
    return path.removeprefix(_VERSION) if path.startswith(f"{_VERSION}/") else None


def _query(text: str) -> dict[str, str]:
    return dict(parse_qsl(text, keep_blank_values=True))


def _requests(request: httpx2.Request) -> Iterable[Exchange]:
    """Return the request, or the parts of a batch, without answers."""
    path = _path(request.url)
    if path is None:
        return []
    body = _sent(request)
    if path == "/$batch":
        # A batch without this form is refused as a whole.
        parts = body.get("requests", []) if isinstance(body, dict) else []
        return [_part(each) for each in parts if {"method", "url"} <= each.keys()]
    return [Exchange(request.method, path, _query(urlsplit(str(request.url)).query), body, 0, None)]


def _sent(request: httpx2.Request) -> Json:
    try:
        return json.loads(request.content)
    except ValueError:
        return None


def _part(part: Mapping[str, Json]) -> Exchange:
    url = urlsplit("/" + part["url"].lstrip("/"))
    return Exchange(part["method"], unquote(url.path), _query(url.query), part.get("body"), 0, None)


def _exchanges(request: httpx2.Request, response: httpx2.Response) -> list[Exchange]:
    asked = list(_requests(request))
    answer: Json = json.loads(response.content) if response.content else None
    if _path(request.url) != "/$batch" or response.status_code != 200:
        return [replace(each, status=response.status_code, answer=answer) for each in asked[:1]]
    assert answer.keys() == {"responses"}
    ids = [each["id"] for each in json.loads(request.content)["requests"]]
    by_id = {each["id"]: each for each in answer["responses"]}
    assert sorted(ids) == sorted(by_id), "Each part has one answer."
    return [
        replace(each, status=by_id[one]["status"], answer=by_id[one].get("body"))
        for one, each in zip(ids, asked, strict=True)
        if by_id[one]["status"] != _FAILED_DEPENDENCY
    ]
