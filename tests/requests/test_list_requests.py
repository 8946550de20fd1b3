# SPDX-License-Identifier: Apache-2.0
"""Lists of requests in pages: filters, bounds, and cursors that are good for nothing else."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import Forbidden
from chamberlain.core.ids import RequestId
from chamberlain.core.paging import PageWanted, Position
from chamberlain.requests.models import RequestFilter, RequestKind, RequestState
from tests.http.http_fixture import MOMENT, REQUEST, USER, HttpFixture, record

PATH = "/requests/v1/"
MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)


def fill(http_fixture: HttpFixture, number: int) -> None:
    """Let the house have some requests."""
    for each in range(number):
        request_id = RequestId(UUID(int=each + 1))
        http_fixture.records[request_id] = replace(record(), request_id=request_id)


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = record()

    answer = await api.get(PATH)

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    (item,) = answer.json()["items"]
    assert answer.json()["nextCursor"] is None
    whole = (await api.get(f"{PATH}{REQUEST}/")).json()
    assert item == {name: value for name, value in whole.items() if name not in {"body", "steps", "approvals"}}
    assert item["actions"] == ["cancel"]
    assert http_fixture.lists == [(USER, RequestFilter(), PageWanted(50, None))]


async def test_it_hands_on_every_filter(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    await api.get(f"{PATH}?state=failed&kind=team&mine=true&limit=7")
    await api.get(f"{PATH}?toDecide=true&mine=false")
    await api.get(f"{PATH}?q=Apollo%20%C3%84&from=2026-11-20T10:30:00%2B01:00&to=2026-11-21T00:00:00Z")

    wanted = RequestFilter(RequestState.FAILED, RequestKind.TEAM, mine=True)
    assert http_fixture.lists == [
        (USER, wanted, PageWanted(7, None)),
        (USER, RequestFilter(to_decide=True), PageWanted(50, None)),
        (USER, RequestFilter(prefix="Apollo \u00c4", since=MOMENT, until=MIDNIGHT), PageWanted(50, None)),
    ]


@pytest.mark.parametrize(
    "query", ["q=", "q=a%00", "q=a%0a", f"q={'a' * 257}", "from=2026-11-20", "from=2026-11-20T10:30:00", "to=tomorrow"]
)
async def test_it_rejects_an_invalid_prefix_or_time(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, query: str
) -> None:
    answer = await api.get(f"{PATH}?{query}")

    assert (answer.status_code, answer.json()["code"], http_fixture.lists) == (400, "invalidParameter", [])


async def test_the_cursor_leads_to_the_next_page(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    fill(http_fixture, 3)

    first = (await api.get(f"{PATH}?limit=2&state=queued")).json()
    # The limit may change, and so may the way in which the same list is written.
    answer = await api.get(f"/requests/v1?state=queued&cursor={first['nextCursor']}&limit=5")

    assert len(first["items"]) == 2
    assert answer.status_code == 200
    assert http_fixture.lists[-1][2] == PageWanted(5, Position(MOMENT, UUID(int=2)))


async def test_a_cursor_tells_nothing(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    fill(http_fixture, 2)

    first = (await api.get(f"{PATH}?limit=1")).json()["nextCursor"]
    second = (await api.get(f"{PATH}?limit=1")).json()["nextCursor"]

    # It can be in a URL as it is, and two are never alike.
    assert first != second
    assert set(first) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize("query", ["", "state=failed", "kind=group&state=queued", "mine=false"])
async def test_it_rejects_a_cursor_of_other_filters(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, query: str
) -> None:
    fill(http_fixture, 2)
    cursor = (await api.get(f"{PATH}?limit=1&state=queued")).json()["nextCursor"]

    answer = await api.get(f"{PATH}?cursor={cursor}&{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidCursor")


async def test_it_rejects_a_cursor_of_somebody_else_and_of_another_list(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    fill(http_fixture, 2)
    cursor = (await api.get(f"{PATH}?limit=1")).json()["nextCursor"]

    others = await api.get(f"{PATH}?cursor={cursor}", headers={"authorization": "Bearer automation"})
    elsewhere = await api.get(f"/admin/v1/jobs/?cursor={cursor}", headers={"authorization": "Bearer administrator"})

    assert [others.json()["code"], elsewhere.json()["code"]] == ["invalidCursor"] * 2


@pytest.mark.parametrize("cursor", ["", "x", "A" * 200, "%00", "%F0%9F%92%A9", "====", "-_-_"])
async def test_it_rejects_a_cursor_that_is_none(api: httpx2.AsyncClient, cursor: str) -> None:
    answer = await api.get(f"{PATH}?cursor={cursor}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidCursor")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=201", "limit=-1", "limit=1.0", "limit=", "limit=%D9%A1", "limit=" + "9" * 5000,
        "state=done", "state=", "kind=site", "mine=1", "mine=True", "toDecide=yes", "state=failed&state=queued",
    ],
)  # fmt: skip
async def test_it_rejects_what_a_parameter_cannot_be(api: httpx2.AsyncClient, query: str) -> None:
    answer = await api.get(f"{PATH}?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert query.partition("=")[0] in answer.json()["detail"]


async def test_it_says_what_a_parameter_must_be(api: httpx2.AsyncClient) -> None:
    detail = (await api.get(f"{PATH}?limit=500&kind=site&mine=yes")).json()["detail"]

    assert "limit must be a whole number from 1 to 200" in detail
    assert "kind must be one of shared, equipment, room, group, team, assignment" in detail
    assert "mine must be true or false" in detail


async def test_it_rejects_a_parameter_that_there_is_not(api: httpx2.AsyncClient) -> None:
    answer = await api.get(f"{PATH}?todecide=true")

    assert (answer.status_code, answer.json()["code"]) == (400, "unknownParameter")


async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.get(PATH, headers={"authorization": "Bearer powerless"})
    http_fixture.refusal = Forbidden("notAdministrator", "No.")
    other = await api.get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")
    assert (other.status_code, other.json()["code"]) == (403, "notAdministrator")
