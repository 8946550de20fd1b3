# SPDX-License-Identifier: Apache-2.0
"""Streams over real connections: how they look, and everything that ends them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID

import httpx2
import pytest

from chamberlain.app.listeners import Listener, bind, serve_until
from chamberlain.http.responses import MOST_OPEN
from chamberlain.requests.models import RequestResult
from tests.estates import until
from tests.http.http_fixture import REQUEST, TEMPLATE, USER, HttpFixture, record

PATH = f"/requests/v1/{REQUEST}/events/"
GROUPS = "/collab/v1/groups/"
BODY = {"displayName": "Hooked", "templateId": TEMPLATE}
RESULT = RequestResult("group", UUID("a2c7d7c4-7f0a-4e7e-9d55-7a8a1d1f0f01"), "Hooked", "hooked@estate.example")


@pytest.fixture
def http_fixture() -> HttpFixture:
    return HttpFixture(records={REQUEST: record()}, newest=2)


@asynccontextmanager
async def served(http_fixture: HttpFixture) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a real server, which stops as the service does."""
    socket = bind("127.0.0.1", 0)
    # It listens before the server starts, so that no client has to wait for that.
    socket.listen()
    serving = asyncio.create_task(serve_until(http_fixture.stopping, [Listener(socket, None, http_fixture.app())]))
    headers = {"authorization": "Bearer ada", "host": "127.0.0.1:8365"}
    base = f"http://127.0.0.1:{socket.getsockname()[1]}"
    try:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=20, limits=limits) as client:
            yield client
    finally:
        http_fixture.stopping.set()
        await serving


@pytest.fixture
async def client(http_fixture: HttpFixture) -> AsyncIterator[httpx2.AsyncClient]:
    async with served(http_fixture) as found, asyncio.timeout(30):
        yield found


def watched_by(http_fixture: HttpFixture, number: int) -> Callable[[], Awaitable[bool]]:
    async def condition() -> bool:
        return http_fixture.watching == number

    return condition


async def test_it_works(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.ended.set()

    answer = await client.get(PATH)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    assert len(answer.headers["request-id"]) == 32
    first, second, rest = answer.text.split("\n\n")
    assert (first.split("\n")[:2], second.split("\n")[:2]) == (["id: 1", "event: state"], ["id: 2", "event: state"])
    assert first.split("\n")[2].startswith('data: {"requestId":"0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",')
    assert not {'"body"', '"steps"', '"approvals"'} & set(first.replace(":", " ").replace(",", " ").split())
    assert rest == ""
    assert http_fixture.observed == [("/requests/v1/{requestId}/events/", "GET", 200)]


async def test_it_tells_what_happens_at_once_and_stays(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    async with client.stream("GET", PATH) as answer:
        lines = answer.aiter_lines()
        seen = [await anext(lines) for _ in range(4)]

        assert seen[0] == "id: 1"
        assert http_fixture.watching == 1
        http_fixture.ended.set()
        rest = [line async for line in lines]

    assert rest[0] == "id: 2"


async def test_it_goes_on_behind_the_last_event(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.ended.set()

    whole = await client.get(PATH, headers={"last-event-id": ""})
    rest = await client.get(PATH, headers={"last-event-id": "1"})

    assert whole.text.startswith("id: 1\n")
    assert rest.text.startswith("id: 2\n")


async def test_nothing_is_behind_the_end(client: httpx2.AsyncClient) -> None:
    answer = await client.get(PATH, headers={"last-event-id": "2"})

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("sent", ["x", "-1", "+1", "1.0", "1 2", "\u00b2".encode("latin-1"), "1" * 10])
async def test_it_rejects_what_is_no_number_of_an_event(client: httpx2.AsyncClient, sent: str | bytes) -> None:
    answer = await client.get(PATH, headers=[(b"last-event-id", sent if isinstance(sent, bytes) else sent.encode())])

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")


async def test_it_rejects_two_last_events(client: httpx2.AsyncClient) -> None:
    answer = await client.get(PATH, headers=[(b"last-event-id", b"1"), (b"last-event-id", b"2")])

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")


async def test_it_rejects_what_does_not_exist(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records.clear()

    answer = await client.get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


async def test_it_answers_head_and_opens_nothing(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    for _ in range(MOST_OPEN + 1):
        answer = await client.head(PATH)

        assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, "text/event-stream", b"")
    assert http_fixture.watching == 0


async def test_it_rejects_one_stream_too_many(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MOST_OPEN - 1):
            await stack.enter_async_context(client.stream("GET", PATH))
        async with client.stream("GET", PATH):
            await until(watched_by(http_fixture, MOST_OPEN))
            refused = await client.get(PATH)
            async with client.stream("GET", PATH, headers={"authorization": "Bearer automation"}) as another:
                assert another.status_code == 200
        await until(watched_by(http_fixture, MOST_OPEN - 1))

        assert (refused.status_code, refused.json()["code"]) == (429, "quotaExceeded")
        assert refused.json()["limit"] == "openStreams"
        assert refused.headers["retry-after"] == "1"
        async with client.stream("GET", PATH) as again:
            assert again.status_code == 200


async def test_whoever_leaves_leaves_nothing_behind(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    assert (await client.get("/health/live")).status_code == 200
    before = len(asyncio.all_tasks())
    async with AsyncExitStack() as stack:
        for _ in range(MOST_OPEN):
            await stack.enter_async_context(client.stream("GET", PATH))
        await until(watched_by(http_fixture, MOST_OPEN))

    await until(watched_by(http_fixture, 0))

    async def as_before() -> bool:
        return len(asyncio.all_tasks()) <= before

    await until(as_before)


async def test_it_ends_when_the_token_expires(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.moment = USER.expires_at

    answer = await client.get(PATH)

    assert answer.text.count("event: state") == 2
    assert http_fixture.watching == 0


async def test_a_stop_ends_streams_and_waits_at_once(http_fixture: HttpFixture) -> None:
    async with asyncio.timeout(30), served(http_fixture) as client, AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(client.stream("GET", PATH)) for _ in range(3)]
        waiting = asyncio.create_task(client.post(GROUPS, json=BODY, headers={"prefer": "wait=30"}))
        await until(watched_by(http_fixture, 3))
        await until(awaited(http_fixture))
        begun = asyncio.get_running_loop().time()

        http_fixture.stopping.set()

        assert (await waiting).status_code == 202
        for stream in streams:
            assert (await stream.aread()).endswith(b"\n\n")
        assert asyncio.get_running_loop().time() - begun < 5
    assert http_fixture.watching == 0


def awaited(http_fixture: HttpFixture) -> Callable[[], Awaitable[bool]]:
    async def condition() -> bool:
        return bool(http_fixture.awaiting)

    return condition


async def test_a_call_may_wait_for_its_group(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.result = RESULT
    waiting = asyncio.create_task(client.post(GROUPS, json=BODY, headers={"prefer": "respond-async, wait=30"}))
    await until(awaited(http_fixture))

    http_fixture.ended.set()
    answer = await waiting

    assert answer.status_code == 201
    assert answer.headers["preference-applied"] == "wait"
    assert answer.headers["location"] == f"http://127.0.0.1:8365/graph/v1.0/groups/{RESULT.id}"
    assert answer.headers["operation-location"] == f"http://127.0.0.1:8365/requests/v1/{REQUEST}/"
    assert answer.json() == {
        "requestId": str(REQUEST),
        "tenantId": str(USER.tenant_id),
        "approvalRequired": False,
        "group": {"id": str(RESULT.id), "displayName": "Hooked", "mail": "hooked@estate.example"},
    }


async def test_a_wait_that_is_too_short_changes_nothing(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await client.post(GROUPS, json=BODY, headers={"prefer": "wait=1"})

    assert accepted(answer)
    assert http_fixture.awaiting == []


async def test_a_wait_for_what_fails_changes_nothing(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.ended.set()

    assert accepted(await client.post(GROUPS, json=BODY, headers={"prefer": "wait=30"}))


@pytest.mark.parametrize("prefer", ["wait=0", "wait=soon", "respond-async"])
async def test_nobody_waits_who_does_not_want_to(client: httpx2.AsyncClient, prefer: str) -> None:
    assert accepted(await client.post(GROUPS, json=BODY, headers={"prefer": prefer}))


async def test_a_replay_is_answered_at_once(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.replayed = True

    answer = await client.post(GROUPS, json=BODY, headers={"prefer": "wait=30"})

    assert accepted(answer)
    assert answer.headers["idempotency-replayed"] == "true"


async def test_nobody_waits_for_an_approval(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.approval_required = True

    assert accepted(await client.post(GROUPS, json=BODY, headers={"prefer": "wait=30"}))


async def test_whoever_leaves_waits_no_longer(client: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    waiting = asyncio.create_task(client.post(GROUPS, json=BODY, headers={"prefer": "wait=30"}))
    await until(awaited(http_fixture))

    waiting.cancel()

    async def nobody_waits() -> bool:
        return not http_fixture.awaiting and http_fixture.observed == [(GROUPS, "POST", 499)]

    await until(nobody_waits)


def accepted(answer: httpx2.Response) -> bool:
    """The usual answer, with all that belongs to it."""
    assert answer.headers["operation-location"] == f"http://127.0.0.1:8365/requests/v1/{REQUEST}/"
    assert answer.headers["retry-after"] == "1"
    assert "preference-applied" not in answer.headers
    assert list(answer.json()) == ["requestId", "tenantId", "approvalRequired"]
    return answer.status_code == 202
