# SPDX-License-Identifier: Apache-2.0
"""The audit trail over HTTP: in pages and as lines, for those who administer the service."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import UUID

import httpx2
import pytest

from chamberlain.app.listeners import Listener, bind, serve_until
from chamberlain.audit.models import AuditFilter
from chamberlain.core.errors import Unavailable
from tests.audit.fake_audit import ALL_STAFF, audit_record
from tests.estates import until
from tests.http.http_fixture import ADA, CALLERS, USER, HttpFixture

PATH = "/admin/v1/audit/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
LINES = {**ADMINISTRATOR, "accept": "application/x-ndjson"}
ROW = {
    "sequence": 1042,
    "at": "2026-11-20T09:30:00.000Z",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "action": "group.assign",
    "actor": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "client": {"id": "c11e0000-0000-4000-8000-000000000001", "displayName": "chamberlain-cli"},
    "subject": {"type": "group", "id": str(ALL_STAFF), "displayName": "All staff"},
    "before": {"templateId": None},
    "after": {"templateId": "7e000000-0000-4000-8000-000000000021"},
    "requestId": None,
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    "clientAddress": "192.0.2.1",
    "seal": {"previous": f"sha256:{'00' * 32}", "digest": f"sha256:{'aa' * 32}"},
}


@pytest.fixture
def http_fixture() -> HttpFixture:
    http_fixture = HttpFixture()
    http_fixture.audit.records = [audit_record(sequence, USER) for sequence in (1040, 1041, 1042)]
    return http_fixture


async def test_it_works(api: httpx2.AsyncClient) -> None:
    answer = await api.get(PATH, headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["vary"] == "Accept"
    body = answer.json()
    assert body["items"][0] == ROW
    assert list(body["items"][0]) == list(ROW)
    assert [each["sequence"] for each in body["items"]] == [1042, 1041, 1040]
    assert body["nextCursor"] is None


async def test_it_comes_in_pages(api: httpx2.AsyncClient) -> None:
    first = (await api.get(f"{PATH}?limit=2", headers=ADMINISTRATOR)).json()
    second = (await api.get(f"{PATH}?limit=2&cursor={first['nextCursor']}", headers=ADMINISTRATOR)).json()

    assert [each["sequence"] for each in first["items"] + second["items"]] == [1042, 1041, 1040]
    assert second["nextCursor"] is None


async def test_a_cursor_belongs_to_its_filters(api: httpx2.AsyncClient) -> None:
    first = (await api.get(f"{PATH}?limit=2", headers=ADMINISTRATOR)).json()

    answer = await api.get(f"{PATH}?action=group.assign&cursor={first['nextCursor']}", headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidCursor")


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
async def test_a_change_that_no_call_made_has_no_address(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, accept: str
) -> None:
    http_fixture.audit.records = [replace(audit_record(1043, USER), client_address=None)]

    answer = await api.get(PATH, headers={**ADMINISTRATOR, "accept": accept})

    document = answer.json()
    row = document["items"][0] if "items" in document else document
    assert row == {**ROW, "sequence": 1043, "clientAddress": None}


async def test_what_was_emptied_says_so_and_no_more(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.audit.records = [audit_record(1043, USER, is_erased=True)]

    (row,) = (await api.get(PATH, headers=ADMINISTRATOR)).json()["items"]

    emptied = ("actor", "client", "subject", "before", "after", "clientAddress")
    assert row == {**ROW, "sequence": 1043, **dict.fromkeys(emptied), "erased": True}


async def test_it_looks_for_what_the_filters_name(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    begin, end = "2026-11-20T10:30:00.5+01:00", "2026-11-21T00:00:00Z"
    query = f"subjectId={ALL_STAFF}&actorId={str(ADA).upper()}&action=group.assign&from={quote(begin)}&to={end}"

    for headers in (ADMINISTRATOR, LINES):
        assert (await api.get(f"{PATH}?{query}", headers=headers)).status_code == 200

    since, till = datetime(2026, 11, 20, 9, 30, 0, 500_000, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)
    assert http_fixture.audit.asked == [AuditFilter(ALL_STAFF, UUID(str(ADA)), "group.assign", since, till)] * 2


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("subjectId=all", "subjectId"),
        ("actorId=", "actorId"),
        ("action=", "action"),
        ("from=yesterday", "from"),
        ("from=2026-11-20", "from"),
        ("from=2026-11-20T09:30:00", "from"),
        ("to=2026-02-30T09:30:00Z", "to"),
        ("to=0001-01-01T00:00:00%2B23:59", "to"),
        ("to=2026-11-20T09:30:00+01:00", "to"),
        ("limit=201", "limit"),
    ],
)
async def test_it_rejects_what_no_filter_is(api: httpx2.AsyncClient, query: str, named: str) -> None:
    answer = await api.get(f"{PATH}?{query}", headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert f"The query parameter {named} " in answer.json()["detail"]


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer automation", "Bearer mail", "Bearer powerless"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    for headers in ({}, {"accept": "application/x-ndjson"}):
        answer = await api.get(PATH, headers={"authorization": who, **headers})

        assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")


async def test_an_application_that_configures_reads_it(api: httpx2.AsyncClient) -> None:
    assert (await api.get(PATH, headers={"authorization": "Bearer mail automation"})).status_code == 200


async def test_lines_come_in_the_order_of_their_sequence(api: httpx2.AsyncClient) -> None:
    answer = await api.get(PATH, headers=LINES)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text.endswith("\n")
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row["sequence"] for row in rows] == [1040, 1041, 1042]
    assert rows[-1] == ROW


@pytest.mark.parametrize(
    ("accept", "type_"),
    [
        ("application/x-ndjson", "application/x-ndjson"),
        ("Application/X-NDJSON; charset=utf-8", "application/x-ndjson"),
        ("text/html, application/x-ndjson;q=0.5", "application/x-ndjson"),
        ("application/x-ndjson;q=0, */*", "application/json"),
        ("application/x-ndjson;q=0.0", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/csv", "application/json"),
        ("", "application/json"),
    ],
)
async def test_only_who_names_lines_gets_them(api: httpx2.AsyncClient, accept: str, type_: str) -> None:
    answer = await api.get(PATH, headers={**ADMINISTRATOR, "accept": accept})

    assert (answer.status_code, answer.headers["content-type"]) == (200, type_)


@pytest.mark.parametrize("query", ["limit=2", "cursor=x", "limit=2&cursor=x"])
async def test_it_rejects_pages_of_lines(api: httpx2.AsyncClient, query: str) -> None:
    answer = await api.get(f"{PATH}?{query}", headers=LINES)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")


async def test_it_handles_a_trail_without_a_row(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.audit.records = []

    assert (await api.get(PATH, headers=ADMINISTRATOR)).json() == {"items": [], "nextCursor": None}
    assert (await api.get(PATH, headers=LINES)).text == ""


async def test_it_handles_a_database_that_is_away(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.audit.refusal = Unavailable("databaseUnavailable", "Send the request again.")

    for headers in (ADMINISTRATOR, LINES):
        assert (await api.get(PATH, headers=headers)).status_code == 503


async def test_lines_that_break_off_do_not_look_whole(http_fixture: HttpFixture) -> None:
    """The token expires in the middle: the broken connection shows the reader that lines are missing."""
    caller = CALLERS["Bearer administrator"]
    http_fixture.audit.stops_behind = 2
    http_fixture.moment = caller.expires_at - timedelta(milliseconds=1)
    socket = bind("127.0.0.1", 0)
    socket.listen()
    serving = asyncio.create_task(serve_until(http_fixture.stopping, [Listener(socket, None, http_fixture.app())]))
    base = f"http://127.0.0.1:{socket.getsockname()[1]}"
    got = b""

    async def read() -> None:
        nonlocal got
        async with client.stream("GET", PATH) as answer:
            async for chunk in answer.aiter_bytes():
                got += chunk

    async with (
        asyncio.timeout(20),
        httpx2.AsyncClient(base_url=base, headers={**LINES, "host": "127.0.0.1:8365"}, timeout=20) as client,
    ):
        with pytest.raises(httpx2.RemoteProtocolError):
            await read()
    http_fixture.stopping.set()
    await serving

    assert [json.loads(line)["sequence"] for line in got.splitlines()] == [1040, 1041]
    assert http_fixture.audit.open == 0


async def test_a_reader_who_leaves_leaves_nothing_open(http_fixture: HttpFixture) -> None:
    http_fixture.audit.stops_behind = 1
    socket = bind("127.0.0.1", 0)
    socket.listen()
    serving = asyncio.create_task(serve_until(http_fixture.stopping, [Listener(socket, None, http_fixture.app())]))
    base = f"http://127.0.0.1:{socket.getsockname()[1]}"

    async def nothing_is_open() -> bool:
        return http_fixture.audit.open == 0

    async with httpx2.AsyncClient(base_url=base, headers={**LINES, "host": "127.0.0.1:8365"}, timeout=20) as client:
        async with client.stream("GET", PATH) as answer:
            first = await anext(answer.aiter_lines())
        await until(nothing_is_open)
    http_fixture.stopping.set()
    await serving

    assert json.loads(first)["sequence"] == 1040
