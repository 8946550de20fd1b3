# SPDX-License-Identifier: Apache-2.0
"""Several calls in one request, each with its own answer."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from chamberlain.embedded.directory.faults import Faults, Injection
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.conftest import REQUEST_ID, Served, serving
from tests.embedded.directory.sample_data import ADA, SECTION, STAFF

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BATCH = "/v1.0/$batch"
UNKNOWN = "/groups/00000000-0000-4000-8000-00000000dead"
# A part of a batch, as it is sent and as it is answered.
Part = Mapping[str, Any]


def get(part_id: str, url: str, *depends_on: str, **more: object) -> Part:
    return {"id": part_id, "method": "GET", "url": url, **more, **({"dependsOn": [*depends_on]} if depends_on else {})}


async def run(served: Served, parts: Sequence[Part], *, whose: str = "house-directory") -> dict[str, Part]:
    answer = await served.post(BATCH, {"requests": parts}, whose=whose)
    assert answer.status_code == 200, answer.text
    return {part["id"]: part for part in answer.json()["responses"]}


async def test_it_works(served: Served) -> None:
    check = {"id": "c", "method": "POST", "url": f"/users/{ADA}/checkMemberGroups", "body": {"groupIds": [str(STAFF)]}}

    answers = await run(served, [get("a", f"/groups/{STAFF}?$select=id"), get("b", UNKNOWN), check])

    assert {part_id: answer["status"] for part_id, answer in answers.items()} == {"a": 200, "b": 404, "c": 200}
    assert answers["a"]["body"]["id"] == str(STAFF)
    assert answers["a"]["headers"]["Content-Type"].startswith("application/json")
    assert answers["b"]["body"]["error"]["code"] == "Request_ResourceNotFound"
    assert answers["b"]["headers"]["Request-Id"] == str(REQUEST_ID)
    assert answers["c"]["body"]["value"] == [str(STAFF)]


async def test_it_returns_links_that_work_outside_the_batch(served: Served) -> None:
    answers = await run(
        served, [get("1", "groups?$top=1&$filter=startswith(displayName,%20'a')%20or%20mail%20eq%20null")]
    )

    following = await served.get(answers["1"]["body"]["@odata.nextLink"].removeprefix(served.graph_url))

    assert following.status_code == 200


async def test_each_part_has_its_own_headers(served: Served) -> None:
    eventual = {"ConsistencyLevel": "eventual"}

    answers = await run(served, [get("1", "/groups/$count", headers=eventual), get("2", "/groups/$count")])

    assert (answers["1"]["status"], answers["1"]["body"]) == (200, 4)
    assert answers["2"]["status"] == 400


async def test_each_part_needs_its_own_permission(served: Served) -> None:
    answers = await run(served, [get("1", "/groups"), get("2", "/users"), get("3", "/me")], whose="house")

    assert [answers[part_id]["status"] for part_id in "123"] == [200, 403, 400]


async def test_a_part_that_depends_on_a_failed_one_does_not_run(served: Served) -> None:
    parts = [get("1", "/groups", "2"), get("2", UNKNOWN, "3"), get("3", "/groups"), get("4", "/groups", "1", "3")]

    answers = await run(served, parts)

    assert [answers[part_id]["status"] for part_id in "1234"] == [424, 404, 200, 424]
    assert answers["4"]["body"]["error"]["code"] == "FailedDependency"


@pytest.mark.parametrize(
    "part", [get("1", "/$batch"), get("1", "https://graph.example/v1.0/groups"), get("1", "/grüpps"), get("1", "/x")]
)
async def test_a_part_that_is_not_possible_fails_alone(served: Served, part: Part) -> None:
    answers = await run(served, [part, get("2", "/groups")])

    assert answers["1"]["status"] in {400, 404}
    assert answers["2"]["status"] == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"requests": []},
        {"requests": [get(str(number), "/groups") for number in range(21)]},
        {"requests": [get("1", "/groups"), get("1", "/users")]},
        {"requests": [get("1", "/groups", "2"), get("2", "/groups", "1")]},
        {"requests": [get("1", "/groups", "1")]},
        {"requests": [get("1", "/groups", "9")]},
        {"requests": [{"id": "1", "method": "GET"}]},
        {"requests": [get("1", "/groups", colour="red")]},
    ],
)
async def test_it_rejects_an_invalid_batch(served: Served, body: object) -> None:
    assert (await served.post(BATCH, body)).status_code == 400


async def test_it_requires_a_token(served: Served) -> None:
    assert (await served.post(BATCH, {"requests": [get("1", "/groups")]}, whose="nobody")).status_code == 401


async def test_each_part_counts_for_throttling(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    parts = [get(str(number), "/groups") for number in range(1, 7)]

    async with serving(databases.application.pool, Injection(Faults(throttle=3), lambda: NOON)) as served:
        answers = await run(served, parts)

    assert [answers[str(number)]["status"] for number in range(1, 7)] == [200, 200, 429, 200, 200, 429]
    assert answers["3"]["headers"]["Retry-After"] == "1"


@pytest.mark.parametrize("inner", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
async def test_a_body_that_is_nested_too_deep_is_refused(served: Served, inner: str) -> None:
    part = f'{{"id": "1", "method": "POST", "url": "/directoryObjects/getByIds", "body": {inner}}}'

    answer = await served.http.post(
        f"/graph{BATCH}", content=f'{{"requests": [{part}]}}', headers={"Authorization": "Bearer house-directory"}
    )

    assert answer.status_code == 400
