# SPDX-License-Identifier: Apache-2.0
"""Events over HTTP: oldest first, from where a reader left off, for those who administer the service."""

import json
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import RequestId
from tests.events.fake_events import event_record
from tests.http.http_fixture import ESTATE, HttpFixture

PATH = "/admin/v1/events/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
REQUEST = RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"))
EVENT = {
    "id": "00000000-0000-0000-0000-000000000001",
    "type": "group.created",
    "timestamp": "2026-11-20T09:30:01.000Z",
    "requestId": str(REQUEST),
    "tenantId": str(ESTATE),
    "data": {"group": {"displayName": "Hooked"}},
}


def ids(answer: httpx2.Response) -> list[int]:
    return [UUID(each["id"]).int for each in answer.json()["items"]]


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.events.records = [event_record(1, request_id=REQUEST), event_record(2)]

    answer = await api.get(PATH, headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    first, second = answer.json()["items"]
    assert first == EVENT
    assert list(first) == list(EVENT)
    assert second == {**EVENT, "id": "00000000-0000-0000-0000-000000000002", "requestId": None}


async def test_it_goes_on_from_the_last_page(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    nothing = await api.get(PATH, headers=ADMINISTRATOR)
    http_fixture.events.records = [event_record(1), event_record(2), event_record(3)]
    first = await api.get(f"{PATH}?limit=2&cursor={nothing.json()['nextCursor']}", headers=ADMINISTRATOR)
    second = await api.get(f"{PATH}?limit=200&cursor={first.json()['nextCursor']}", headers=ADMINISTRATOR)
    again = await api.get(f"{PATH}?cursor={second.json()['nextCursor']}", headers=ADMINISTRATOR)
    http_fixture.events.records.append(event_record(4))
    last = await api.get(f"{PATH}?cursor={again.json()['nextCursor']}", headers=ADMINISTRATOR)

    assert [ids(each) for each in (nothing, first, second, again, last)] == [[], [1, 2], [3], [], [4]]
    assert all(each.json()["nextCursor"] for each in (nothing, first, second, again, last))


async def test_a_cursor_is_good_however_the_path_is_written(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.events.records = [event_record(1), event_record(2)]
    cursor = (await api.get(f"{PATH}?limit=1", headers=ADMINISTRATOR)).json()["nextCursor"]

    answer = await api.get(f"{PATH.rstrip('/')}?cursor={cursor}", headers=ADMINISTRATOR)

    assert ids(answer) == [2]


async def test_an_event_of_a_type_that_is_not_known_yet_is_read(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    http_fixture.events.records = [event_record(1, type_="room.renamed")]

    (event,) = (await api.get(PATH, headers=ADMINISTRATOR)).json()["items"]

    assert event["type"] == "room.renamed"


@pytest.mark.parametrize("who", ["Bearer configuration", "Bearer mail automation"])
async def test_an_application_that_configures_reads_them(api: httpx2.AsyncClient, who: str) -> None:
    assert (await api.get(PATH, headers={"authorization": who})).status_code == 200


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer automation", "Bearer mail", "Bearer powerless"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    answer = await api.get(PATH, headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")


async def test_it_rejects_a_cursor_of_somebody_else(api: httpx2.AsyncClient) -> None:
    cursor = (await api.get(PATH, headers=ADMINISTRATOR)).json()["nextCursor"]

    answer = await api.get(f"{PATH}?cursor={cursor}", headers={"authorization": "Bearer configuration"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidCursor")


async def test_it_rejects_a_cursor_of_another_list(api: httpx2.AsyncClient) -> None:
    cursor = (await api.get(PATH, headers=ADMINISTRATOR)).json()["nextCursor"]

    answer = await api.get(f"/admin/v1/findings/?cursor={cursor}", headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidCursor")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("cursor=", "invalidCursor"),
        ("cursor=0", "invalidCursor"),
        ("limit=0", "invalidParameter"),
        ("limit=201", "invalidParameter"),
        ("type=room.renamed", "invalidParameter"),
        ("type=group.created&type=team.created", "invalidParameter"),
        ("requestId=1", "invalidParameter"),
        ("start=now", "unknownParameter"),
    ],
)
async def test_it_rejects_what_it_does_not_know(api: httpx2.AsyncClient, query: str, code: str) -> None:
    answer = await api.get(f"{PATH}?{query}", headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_it_handles_a_database_that_is_away(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.events.refusal = Unavailable("databaseUnavailable", "Send the request again.")

    assert (await api.get(PATH, headers=ADMINISTRATOR)).status_code == 503


async def test_filters_belong_to_the_cursor(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.events.records = [
        event_record(1, request_id=REQUEST),
        event_record(2, type_="team.created", request_id=REQUEST),
        event_record(3, type_="team.created"),
        event_record(4, request_id=REQUEST),
    ]
    queries = ("type=team.created", f"requestId={REQUEST}", f"type=team.created&requestId={REQUEST}")
    answers = [await api.get(f"{PATH}?{query}", headers=ADMINISTRATOR) for query in queries]
    cursor = answers[0].json()["nextCursor"]

    again = await api.get(f"{PATH}?cursor={cursor}&type=team.created&limit=1", headers=ADMINISTRATOR)
    other = await api.get(f"{PATH}?cursor={cursor}&type=group.created", headers=ADMINISTRATOR)

    assert [ids(each) for each in answers] == [[2, 3], [1, 2, 4], [2]]
    assert ids(again) == []
    assert (other.status_code, other.json()["code"]) == (400, "invalidCursor")


STREAM = f"{PATH}stream/"


def streamed(answer: httpx2.Response) -> list[tuple[str, int | None]]:
    """The blocks of a stream: the id of each, and the number of its event."""
    blocks = [dict(line.split(": ", 1) for line in block.split("\n") if line != ":") for block in blocks_of(answer)]
    return [(each.get("id", ""), number_of(each.get("data"))) for each in blocks]


def blocks_of(answer: httpx2.Response) -> list[str]:
    assert answer.text.endswith("\n\n")
    return answer.text.removesuffix("\n\n").split("\n\n")


def number_of(data: str | None) -> int | None:
    return None if data is None else UUID(json.loads(data)["id"]).int


async def test_it_streams_events_with_a_cursor_each(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.events.records = [event_record(1, request_id=REQUEST), event_record(2)]

    answer = await api.get(STREAM, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
    assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-store", "no")
    begin, first, second, *heartbeats = streamed(answer)
    assert [begin[1], first[1], second[1]] == [None, 1, 2]
    assert heartbeats == [("", None), ("", None)]
    assert json.loads(blocks_of(answer)[1].partition("data: ")[2]) == EVENT
    # Each id continues the stream and the list behind its event.
    resumed = await api.get(STREAM, headers={**ADMINISTRATOR, "last-event-id": first[0]})
    listed = await api.get(f"{PATH}?cursor={first[0]}", headers=ADMINISTRATOR)
    assert ([number for _, number in streamed(resumed)][:2], ids(listed)) == ([None, 2], [2])


async def test_a_stream_starts_after_the_list_or_now(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.events.records = [event_record(1), event_record(2), event_record(3)]
    cursor = (await api.get(f"{PATH}?limit=2", headers=ADMINISTRATOR)).json()["nextCursor"]

    after = await api.get(f"{STREAM}?start=now", headers={**ADMINISTRATOR, "last-event-id": cursor})
    now = await api.get(f"{STREAM}?start=now", headers={**ADMINISTRATOR, "last-event-id": ""})

    assert [number for _, number in streamed(after) if number] == [3]
    assert [number for _, number in streamed(now) if number] == []
    # The first block has the position, so nothing is missed after an interruption.
    assert streamed(now)[0][0]


async def test_a_filtered_stream_moves_on_without_events(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.events.records = [event_record(1), event_record(2, type_="team.created"), event_record(3)]

    answer = await api.get(f"{STREAM}?type=team.created", headers=ADMINISTRATOR)

    _, second, moved, heartbeat = streamed(answer)
    assert (second[1], moved[1], heartbeat) == (2, None, ("", None))
    again = await api.get(f"{STREAM}?type=team.created", headers={**ADMINISTRATOR, "last-event-id": moved[0]})
    assert [number for _, number in streamed(again) if number] == []


@pytest.mark.parametrize(
    ("ids", "query", "code"),
    [
        (["1"], "", "invalidCursor"),
        (["1", "2"], "", "invalidParameter"),
        (["1" * 1_001], "", "invalidParameter"),
        ([], "?start=later", "invalidParameter"),
        ([], "?limit=2", "unknownParameter"),
    ],
)
async def test_it_rejects_a_stream_from_nowhere(api: httpx2.AsyncClient, ids: list[str], query: str, code: str) -> None:
    headers = [("authorization", "Bearer administrator"), *[("last-event-id", each) for each in ids]]

    answer = await api.get(f"{STREAM}{query}", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_it_rejects_a_stream_without_the_permission(api: httpx2.AsyncClient) -> None:
    answer = await api.get(STREAM, headers={"authorization": "Bearer ada"})

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")
