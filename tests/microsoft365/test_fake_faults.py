# SPDX-License-Identifier: Apache-2.0
"""Faults and lags of the fake."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import httpx2
import pytest

from tests.directory.sample_directory import ADA, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.faults import DELTA_FAULTS, MEMBER_FAULTS, Fault, Faults
from tests.microsoft365.fake.sample import EXTENSION
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.fake.writes import Lags
from tests.microsoft365.graph_client import GRAPH, FakeToken, code, new_group, reference
from tests.microsoft365.recording_transport import RecordingTransport

pytestmark = pytest.mark.pure

UNIQUE, UPSERT = "/groups(uniqueName='chamberlain-1')", {"prefer": "create-if-missing"}


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311  Seeds make tests repeatable.


@pytest.mark.parametrize(
    ("fault", "status", "delay"),
    [
        (Fault.THROTTLED, 429, "7"),
        (Fault.THROTTLED_WITHOUT_DELAY, 429, None),
        (Fault.UNAVAILABLE, 503, "12"),
        (Fault.UNAVAILABLE_WITHOUT_DELAY, 503, None),
        (Fault.TOKEN_REVOKED, 401, None),
    ],
)
async def test_before_the_operation(
    graph: httpx2.AsyncClient, tenant: Tenant, fault: Fault, status: int, delay: str | None
) -> None:
    tenant.faults.plan(fault)

    refused = await graph.post("/groups", json=new_group())
    nothing = list(tenant.ledger)
    answer = await graph.post("/groups", json=new_group())

    assert (refused.status_code, refused.headers.get("retry-after")) == (status, delay)
    assert nothing == []
    assert answer.status_code == 201


async def test_after_the_operation(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    tenant.faults.plan(Fault.LOST_ANSWER, method="PATCH")
    with pytest.raises(httpx2.ReadError):
        await graph.patch(UNIQUE, json=new_group(), headers=UPSERT)
    tenant.faults.plan(Fault.GATEWAY_TIMEOUT)
    timeout = await graph.patch(UNIQUE, json=new_group(description="x"), headers=UPSERT)

    [created] = tenant.created("group")
    assert timeout.status_code == 504
    assert tenant.group(created.id)["description"] == "x"


async def test_a_dropped_connection(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    tenant.faults.plan(Fault.DROPPED)

    with pytest.raises(httpx2.ReadError):
        await graph.post("/groups", json=new_group())

    assert tenant.ledger == []


def test_faults_of_a_seed_are_repeatable_and_rare() -> None:
    def drawn(seed: int) -> list[Fault | None]:
        faults = Faults.drawn(seeded(seed))
        return [faults.draw("GET", "/users") for _ in range(1000)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 0 < sum(each is not None for each in drawn(1)) < 300


def test_all_faults_occur_in_some_seed() -> None:
    seen = {fault for seed in range(30) for fault, rate in Faults.drawn(seeded(seed)).rates.items() if rate}

    assert seen == {*Fault}


def test_a_request_has_no_fault_of_another_kind() -> None:
    faults = Faults(rates=dict.fromkeys(DELTA_FAULTS | MEMBER_FAULTS, 1.0))

    assert faults.draw("GET", "/users") is None
    assert faults.draw("GET", "/users/delta", among=DELTA_FAULTS) in DELTA_FAULTS


async def test_reads_go_to_replicas(graph: httpx2.AsyncClient, tenant: Tenant, clock: Clock) -> None:
    """[S2]: a read right after a write may return old data or 404."""
    tenant.lags = Lags(replicas=(timedelta(0), timedelta(seconds=10), timedelta(seconds=30)))
    group_id = (await graph.post("/groups", json=new_group())).json()["id"]

    async def seen() -> set[int]:
        return {(await graph.get(f"/groups/{group_id}")).status_code for _ in range(30)}

    at_once = await seen()
    clock.wait(timedelta(seconds=29))
    almost = await seen()
    clock.wait(timedelta(seconds=1))

    assert (at_once, almost, await seen()) == ({200, 404}, {200, 404}, {200})


async def test_the_index_lags_more(graph: httpx2.AsyncClient, tenant: Tenant, clock: Clock) -> None:
    tenant.lags = Lags(index=timedelta(seconds=60))
    body = new_group() | {EXTENSION: {"requestId": "r1"}}
    await graph.patch(UNIQUE, json=body, headers=UPSERT)
    path = f"/groups?$filter={EXTENSION}/requestId eq 'r1'&$select=id"

    early = (await graph.get(path)).json()["value"]
    by_key = await graph.get(UNIQUE)
    clock.wait(timedelta(seconds=60))
    later = (await graph.get(path)).json()["value"]

    assert (early, by_key.status_code, len(later)) == ([], 200, 1)


async def test_references_to_new_objects(graph: httpx2.AsyncClient, tenant: Tenant, clock: Clock) -> None:
    """[S2]: "the source resource object or one of the objects being referenced do not exist" means not yet."""
    lag = timedelta(seconds=10)
    tenant.lags = Lags(replicas=(lag, lag, lag))
    tenant.add_user("new", at=clock.now, displayName="New", userPrincipalName="new@estate.example")
    body = {"members@odata.bind": [reference("new")]}

    early = await graph.patch(f"/groups/{PARTNERS}", json=body)
    clock.wait(lag)
    later = await graph.patch(f"/groups/{PARTNERS}", json=body)

    assert code(early) == (400, "Request_BadRequest")
    assert "do not exist" in early.json()["error"]["message"]
    assert later.status_code == 204


async def test_an_upsert_finds_a_group_that_no_replica_has(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    tenant.lags = Lags(replicas=(timedelta(minutes=5),) * 3)
    first = await graph.patch(UNIQUE, json=new_group(), headers=UPSERT)
    read = await graph.get(UNIQUE)
    second = await graph.patch(UNIQUE, json=new_group(), headers=UPSERT)

    assert [each.status_code for each in (first, read, second)] == [201, 404, 204]
    assert len(tenant.created("group")) == 1


def test_lags_of_seeds_are_ordered() -> None:
    for seed in range(50):
        lags = Lags.drawn(seeded(seed))
        assert lags.replicas[0] == timedelta(0)
        assert max(lags.replicas) < lags.index
        assert max(lags.replicas) < lags.teams <= lags.longest < timedelta(minutes=15)


@pytest.mark.parametrize("seed", range(10))
async def test_a_patient_caller_creates_each_group_once(
    hostile_fake: Callable[[int], FakeMicrosoft365], clock: Clock, seed: int
) -> None:
    """A caller that repeats each upsert until it is done, with every exchange as published."""
    fake = hostile_fake(seed)
    tenant = fake.tenants[str(TENANT)]
    transport = RecordingTransport(fake.transport())
    async with httpx2.AsyncClient(transport=transport, base_url=GRAPH) as client:
        for number in range(12):
            body = new_group(f"g{number}") | {"owners@odata.bind": [reference(ADA)]}
            await until_done(client, fake, clock, f"/groups(uniqueName='g{number}')", body)

    assert sorted(each.key or "" for each in tenant.created("group")) == sorted(f"g{number}" for number in range(12))


async def until_done(
    client: httpx2.AsyncClient, fake: FakeMicrosoft365, clock: Clock, path: str, body: dict[str, object]
) -> None:
    for _ in range(50):
        try:
            answer = await client.patch(path, json=body, headers=UPSERT, auth=FakeToken(fake))
        except httpx2.TransportError:
            continue
        if answer.status_code in {201, 204} or "already exist" in answer.text:
            return
        assert answer.status_code in {401, 429, 503, 504}, answer.text
        clock.wait(timedelta(seconds=30))
    raise AssertionError(path)
