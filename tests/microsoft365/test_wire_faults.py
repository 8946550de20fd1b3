# SPDX-License-Identifier: Apache-2.0
"""Answers that Graph and its proxies give rarely, and the ids by which a lost call is found."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import msgspec
import pytest
from structlog.testing import capture_logs

from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory.budgets import Budget, Budgets
from chamberlain.directory.microsoft365.adoptions import GraphAdoptions
from chamberlain.directory.microsoft365.calls import groups, teams
from chamberlain.directory.microsoft365.tokens import Tokens
from chamberlain.directory.microsoft365.wire.faults import PermissionMissing
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.microsoft365.wire.pace import Pace
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import Marking
from tests.directory.group_work import work
from tests.directory.sample_directory import OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.sample import APP, PERMISSIONS
from tests.microsoft365.fake.tokens import HttpClient, HttpResponse
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import GRAPH, graph_of, opened, settings

EXTENSION = "chamberlain_group"
GROUP = {"id": str(PARTNERS), "displayName": "Partners", "groupTypes": ["Unified"]}

Responder = Callable[[httpx2.Request], httpx2.Response]


@asynccontextmanager
async def answering(fake: FakeMicrosoft365, respond: Responder, budgets: Budgets | None = None) -> AsyncIterator[Graph]:
    """Open the client of Graph on a server that answers all requests in one way."""
    tokens = Tokens(settings(TENANT).application, fake.http_client())
    pace = Pace(budgets, TENANT, directory=str(TENANT), application=str(APP))

    async def sleep(_seconds: float) -> None:
        await asyncio.sleep(0)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as http:
        yield Graph(http, tokens, pace, address=GRAPH, new_id=uuid4, sleep=sleep)


async def write(graph: Graph) -> None:
    await groups.update_group(graph, PARTNERS, {"description": "a"})


async def failure(call: Awaitable[object]) -> TryAgain:
    with pytest.raises(TryAgain) as failed:
        await call
    return failed.value


@pytest.mark.parametrize(
    ("response", "cause", "seconds"),
    [
        (httpx2.Response(429, text="<html>Too many</html>", headers={"Retry-After": "4"}), Cause.BUSY, 4),
        (httpx2.Response(429, headers={"Retry-After": "1.5"}), Cause.BUSY, 1.5),
        (httpx2.Response(429, headers={"Retry-After": "Fri, 27 Nov 2026 09:00:00 GMT"}), Cause.BUSY, 30),
        (httpx2.Response(429, headers={"Retry-After": "inf"}), Cause.BUSY, 30),
        (httpx2.Response(429, headers={"Retry-After": "1e300"}), Cause.BUSY, 30),
        (httpx2.Response(429, headers={"Retry-After": "nan"}), Cause.BUSY, 30),
        (httpx2.Response(429, headers={"Retry-After": "-5"}), Cause.BUSY, 1),
        (httpx2.Response(502, text="<html>Bad gateway</html>"), Cause.AWAY, 10),
        (httpx2.Response(408, text=""), Cause.AWAY, 10),
        (httpx2.Response(302, headers={"Location": "https://login.microsoftonline.com"}), Cause.AWAY, 10),
        (httpx2.Response(200, text="<html>Sign in</html>"), Cause.AWAY, 10),
        (
            httpx2.Response(200, stream=httpx2.ByteStream(b"no gzip"), headers={"Content-Encoding": "gzip"}),
            Cause.AWAY,
            10,
        ),
    ],
    ids=["html", "decimal", "date", "infinite", "huge", "nan", "negative", "502", "408", "302", "page", "encoding"],
)
async def test_it_is_tried_again(
    fake: FakeMicrosoft365, response: httpx2.Response, cause: Cause, seconds: float
) -> None:
    async with answering(fake, lambda _request: response) as graph:
        fault = await failure(write(graph))

    assert (fault.cause, fault.after) == (cause, timedelta(seconds=seconds))


async def test_a_batch_without_an_answer_for_a_part_fails_that_part(fake: FakeMicrosoft365) -> None:
    def respond(request: httpx2.Request) -> httpx2.Response:
        first = msgspec.json.decode(request.content)["requests"][0]
        return httpx2.Response(200, json={"responses": [{"id": first["id"], "status": 200, "body": GROUP}]})

    async with answering(fake, respond) as graph:
        done, lost = await asyncio.gather(
            groups.get_group(graph, PARTNERS, EXTENSION), write(graph), return_exceptions=True
        )

    assert not isinstance(done, BaseException)
    assert isinstance(lost, TryAgain)
    assert lost.cause is Cause.AWAY


async def test_a_throttled_batch_delays_each_part(fake: FakeMicrosoft365) -> None:
    response = httpx2.Response(429, headers={"Retry-After": "9"})

    async with answering(fake, lambda _request: response) as graph:
        faults = await asyncio.gather(failure(write(graph)), failure(write(graph)))

    assert [(each.cause, each.after) for each in faults] == [(Cause.BUSY, timedelta(seconds=9))] * 2


async def test_every_call_and_every_part_has_an_id_of_its_own(fake: FakeMicrosoft365) -> None:
    sent: list[Mapping[str, Any]] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        parts = msgspec.json.decode(request.content)["requests"] if request.content else []
        sent.extend([dict(request.headers), *(each["headers"] for each in parts)])
        answers = [{"id": each["id"], "status": 200, "body": GROUP} for each in parts]
        return httpx2.Response(200, json={"responses": answers} if parts else GROUP)

    async with answering(fake, respond) as graph:
        await groups.get_group(graph, PARTNERS, EXTENSION)
        await asyncio.gather(*(groups.get_group(graph, each, EXTENSION) for each in (PARTNERS, OUTER)))

    ids = [each["client-request-id"] for each in sent]
    assert len(ids) == len(set(ids)) == 4
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", each) for each in ids)


async def test_a_lost_call_is_logged_with_its_id(fake: FakeMicrosoft365) -> None:
    sent: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers["client-request-id"])
        raise httpx2.ReadError("The connection was closed.", request=request)

    with capture_logs() as logs:
        async with answering(fake, respond) as graph:
            await failure(write(graph))

    assert [(each["client_request_id"], each["operation"]) for each in logs] == [(sent[0], "PATCH /groups/{group-id}")]


async def test_a_creation_without_its_permission_breaks_the_connection(fake: FakeMicrosoft365) -> None:
    fake.consent(str(TENANT), str(APP), {*PERMISSIONS} - {"Group.ReadWrite.All"} | {"GroupMember.Read.All"})
    microsoft365 = opened(fake, TENANT)

    [outcome] = await microsoft365.adapters.directory.ensure([work()])
    await microsoft365.close()

    assert isinstance(outcome.fault, PermissionMissing)
    assert "Group.ReadWrite.All" in outcome.fault.reason


@pytest.mark.parametrize("status", [409, 412])
async def test_a_write_that_another_one_precedes_is_tried_again(fake: FakeMicrosoft365, status: int) -> None:
    answer = httpx2.Response(status, json={"error": {"code": "Conflict", "message": "Another write came first."}})

    async with answering(fake, lambda request: found(request) or answer) as graph:
        [fault] = await GraphAdoptions(graph).mark([marking()])

    assert isinstance(fault, TryAgain)
    assert fault.cause is Cause.BUSY


def found(request: httpx2.Request) -> httpx2.Response | None:
    """Return the group to a read."""
    return httpx2.Response(200, json=GROUP) if request.method == "GET" else None


def marking() -> Marking:
    return Marking(TENANT, ObjectType.GROUP, PARTNERS, EXTENSION, RequestId(uuid4()))


class RecordedBudgets(Budgets):
    """Budgets without a limit, which record those that are slowed down."""

    def __init__(self) -> None:
        self.slowed: list[str] = []

    async def follow(self, budget: Budget, tenant_id: TenantId, cost: float = 1.0) -> None:
        """Hold no call back."""

    async def slow_down(self, budget: Budget) -> None:
        self.slowed.append(budget.name)


async def test_only_a_limit_of_identity_slows_down_before_it_is_reached(fake: FakeMicrosoft365) -> None:
    # Microsoft publishes this header for identity alone. A limit of a second is often nearly reached.
    near = httpx2.Response(200, json=GROUP, headers={"x-ms-throttle-limit-percentage": "0.95"})
    for_groups, for_teams = RecordedBudgets(), RecordedBudgets()

    async with answering(fake, lambda _request: near, for_groups) as graph:
        await groups.get_group(graph, PARTNERS, EXTENSION)
    async with answering(fake, lambda _request: near, for_teams) as graph:
        await teams.create_channel(graph, PARTNERS, "Plans")

    assert for_groups.slowed == [f"graph {TENANT} {APP} units"]
    assert for_teams.slowed == []


class SignIn(HttpClient):
    """A sign-in that gives one answer to the discovery, or to requests of tokens."""

    def __init__(self, fake: FakeMicrosoft365, method: str, status: int, text: str) -> None:
        super().__init__(fake.tokens)
        self._method = method
        self._answer = HttpResponse(status, text, {})

    def _request(self, method: str, url: str, body: bytes) -> HttpResponse:
        return self._answer if method == self._method else super()._request(method, url, body)


@pytest.mark.parametrize(
    ("method", "status", "text"),
    [
        ("POST", 503, "<html>It is not available.</html>"),
        ("POST", 200, "<html>Sign in</html>"),
        ("POST", 200, "[]"),
        ("POST", 200, '{"access_token": null}'),
        ("POST", 200, '{"access_token": "\u00e9"}'),
        ("POST", 200, '{"access_token": "a\\nb"}'),
        ("POST", 200, '{"access_token": "a", "expires_in": null}'),
        ("POST", 400, '{"error": "temporarily_unavailable"}'),
        ("GET", 302, ""),
        ("GET", 200, "{}"),
    ],
)
async def test_a_sign_in_that_fails_is_tried_again(fake: FakeMicrosoft365, method: str, status: int, text: str) -> None:
    tokens = Tokens(settings(TENANT).application, SignIn(fake, method, status, text))

    fault = await failure(tokens.token())

    assert not isinstance(fault, ConnectionBroken)
    assert fault.cause is Cause.AWAY


async def test_an_expired_token_is_replaced(fake: FakeMicrosoft365) -> None:
    async with graph_of(fake, TENANT, RecordingTransport(fake.transport())) as graph:
        await write(graph)
        fake.clock.wait(timedelta(hours=2))

        await write(graph)


async def test_one_revoked_token_fails_no_part_of_a_batch(fake: FakeMicrosoft365) -> None:
    async with graph_of(fake, TENANT, RecordingTransport(fake.transport())) as graph:
        fake.faults.plan(Fault.TOKEN_REVOKED, method="PATCH")

        await asyncio.gather(write(graph), groups.get_group(graph, PARTNERS, EXTENSION))
