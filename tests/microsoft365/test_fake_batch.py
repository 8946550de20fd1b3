# SPDX-License-Identifier: Apache-2.0
"""Batches of the fake (json-batching.md)."""

from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import ADA, BEN, CLEO, OUTER, PARTNERS
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.graph_client import batch, code, new_group, reference

pytestmark = pytest.mark.pure

JSON = {"Content-Type": "application/json"}


async def post(graph: httpx2.AsyncClient, *parts: dict[str, Any]) -> dict[str, Any]:
    answer = await graph.post("/$batch", json=batch(*parts))
    assert answer.status_code == 200, answer.text
    return {each["id"]: each for each in answer.json()["responses"]}


def bind(*users: object) -> dict[str, Any]:
    body = {"members@odata.bind": [reference(each) for each in users]}
    return {"method": "PATCH", "url": f"/groups/{PARTNERS}", "headers": JSON, "body": body}


async def test_it_works(graph: httpx2.AsyncClient) -> None:
    created = {"method": "POST", "url": "/groups", "headers": JSON, "body": new_group()}
    answers = await post(
        graph, {"method": "GET", "url": f"/users/{ADA}?$select=id"}, {"method": "GET", "url": "groups/x"}, created
    )

    assert {number: each["status"] for number, each in answers.items()} == {"1": 200, "2": 404, "3": 201}
    assert answers["1"]["body"]["id"] == str(ADA)
    assert answers["1"]["headers"]["x-ms-resource-unit"] == "1"
    assert answers["2"]["body"]["error"]["code"] == "Request_ResourceNotFound"


async def test_the_order_of_answers_is_not_that_of_requests(graph: httpx2.AsyncClient) -> None:
    orders = set()
    for _ in range(5):
        parts = batch(*[{"method": "GET", "url": f"/users/{ADA}"}] * 5)
        orders.add(tuple(each["id"] for each in (await graph.post("/$batch", json=parts)).json()["responses"]))

    assert len(orders) > 1


async def test_a_header_of_a_part_is_its_own(graph: httpx2.AsyncClient) -> None:
    part = {"method": "GET", "url": "/users?$count=true"}
    answers = await post(graph, part, {**part, "headers": {"ConsistencyLevel": "eventual"}})

    assert "@odata.count" not in answers["1"]["body"]
    assert answers["2"]["body"]["@odata.count"] == 5


async def test_a_part_depends_on_another(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    first, second, third = bind(BEN), bind(BEN) | {"dependsOn": ["1"]}, bind(CLEO) | {"dependsOn": ["2"]}
    answers = await post(graph, first, second, third)

    assert {number: each["status"] for number, each in answers.items()} == {"1": 204, "2": 400, "3": 424}
    assert str(CLEO) not in tenant.member_ids(str(PARTNERS))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(batch(*[{"method": "GET", "url": "/users"}] * 21), id="21 parts"),
        pytest.param({"requests": []}, id="no part"),
        pytest.param({"requests": [{"id": "a", "method": "GET", "url": "/users"}] * 2}, id="an id twice"),
        pytest.param(
            {"requests": [{"id": "a", "method": "GET", "url": "/a"}, {"id": "A", "method": "GET", "url": "/a"}]},
            id="an id twice in other letters",
        ),
        pytest.param({"requests": [{"id": 1, "method": "GET", "url": "/users"}]}, id="an id that is a number"),
        pytest.param(batch({"method": "GET"}), id="no address"),
        pytest.param(batch({"method": "GET", "url": "https://graph.microsoft.com/v1.0/users"}), id="a whole address"),
        pytest.param(batch({"method": "POST", "url": "/groups", "body": {}}), id="a body without its type"),
        pytest.param(batch({"method": "GET", "url": "/users", "dependsOn": ["9"]}), id="an unknown dependency"),
        pytest.param(batch({"method": "GET", "url": "/users", "dependsOn": ["1"]}), id="a dependency on itself"),
        pytest.param({"parts": []}, id="another form"),
    ],
)
async def test_refused(graph: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    assert code(await graph.post("/$batch", json=body)) == (400, "BadRequest")


async def test_twenty_parts_are_accepted(graph: httpx2.AsyncClient) -> None:
    assert len(await post(graph, *[{"method": "GET", "url": "/users"}] * 20)) == 20


async def test_parts_fail_alone(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    tenant.faults.plan(Fault.THROTTLED, path=f"/users/{ADA}")
    tenant.faults.plan(Fault.UNAVAILABLE_WITHOUT_DELAY, path=f"/users/{BEN}")
    tenant.has_decimal_delays = True

    answers = await post(graph, *({"method": "GET", "url": f"/users/{each}"} for each in (ADA, BEN, CLEO)))

    assert {number: each["status"] for number, each in answers.items()} == {"1": 429, "2": 503, "3": 200}
    assert answers["1"]["headers"]["Retry-After"] == "7.000"
    assert "Retry-After" not in answers["2"]["headers"]


async def test_each_part_counts_against_the_limits(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    """json-batching.md, "Batch size limitations"."""
    tenant.add_team(str(OUTER))
    part = {"method": "GET", "url": f"/teams/{OUTER}/channels"}

    answers = await post(graph, *[part] * 7)

    assert sorted(each["status"] for each in answers.values()) == [200] * 4 + [429] * 3


async def test_the_answer_of_a_whole_batch_is_lost(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    tenant.faults.plan(Fault.LOST_ANSWER, path="$batch")

    with pytest.raises(httpx2.ReadError):
        await graph.post("/$batch", json=batch(bind(BEN)))

    assert str(BEN) in tenant.member_ids(str(PARTNERS))
