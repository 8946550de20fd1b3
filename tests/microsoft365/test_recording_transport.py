# SPDX-License-Identifier: Apache-2.0
"""The recorder under httpx2: it refuses what is not published, collects operations, and stops a caller."""

from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import ADA, PARTNERS
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.tenant import Tenant
from tests.microsoft365.graph_client import GRAPH, FakeToken, batch, new_group, reference
from tests.microsoft365.permissions import sufficient
from tests.microsoft365.recording_transport import DifferentFromPublished, Killed, RecordingTransport

pytestmark = pytest.mark.pure

CREATE = {"method": "POST", "url": "/groups", "headers": {"Content-Type": "application/json"}}


def client(fake: FakeMicrosoft365, recorder: RecordingTransport) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=recorder, base_url=GRAPH, auth=FakeToken(fake))


async def test_it_works(fake: FakeMicrosoft365) -> None:
    recorder = RecordingTransport(fake.transport())
    async with client(fake, recorder) as graph:
        await graph.get(f"/users/{ADA}")
        await graph.post(
            "/$batch", json=batch({"method": "GET", "url": f"/users/{ADA}"}, {**CREATE, "body": new_group()})
        )

    assert dict(recorder.operations) == {"GET /users/{user-id}": 2, "POST /groups": 1}
    assert (recorder.sent, len(recorder.exchanges)) == (2, 3)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(new_group() | {"memberz": []}, id="an unknown property"),
        pytest.param(new_group() | {"mailEnabled": "yes"}, id="a wrong type"),
        pytest.param(new_group() | {"owners@odata.bind": [reference(ADA)] * 21}, id="21 owners"),
    ],
)
async def test_a_wrong_request_is_not_sent(fake: FakeMicrosoft365, tenant: Tenant, body: dict[str, Any]) -> None:
    recorder = RecordingTransport(fake.transport())
    async with client(fake, recorder) as graph:
        with pytest.raises(DifferentFromPublished):
            await graph.post("/groups", json=body)
        with pytest.raises(DifferentFromPublished):
            await graph.post("/$batch", json=batch({**CREATE, "body": body}))

    assert (recorder.sent, tenant.ledger) == (0, [])


@pytest.mark.parametrize("path", ["/groups/1/colour", "/me/messages", "/users?$elect=id"])
async def test_an_unknown_operation_is_refused(fake: FakeMicrosoft365, path: str) -> None:
    async with client(fake, RecordingTransport(fake.transport())) as graph:
        with pytest.raises(DifferentFromPublished):
            await graph.get(path)


async def test_an_operation_of_another_list_is_refused(fake: FakeMicrosoft365) -> None:
    async with client(fake, RecordingTransport(fake.transport())) as graph:
        with pytest.raises(DifferentFromPublished, match=r"operations\.txt"):
            await graph.delete(f"/users/{ADA}")


@pytest.mark.parametrize(
    "answer",
    [
        {"id": "1", "memberz": []},
        {"id": 1},
        {"id": "1", "uniqueName": "x"},
        {"id": "1", "contoso_group": {}},
    ],
)
async def test_a_wrong_answer_is_refused(answer: dict[str, Any]) -> None:
    class Wrong(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, json=answer, request=request)

    async with httpx2.AsyncClient(transport=RecordingTransport(Wrong()), base_url=GRAPH) as graph:
        with pytest.raises(DifferentFromPublished):
            await graph.get("/groups/1")


async def test_it_stops_after_an_exchange(fake: FakeMicrosoft365, tenant: Tenant) -> None:
    recorder = RecordingTransport(fake.transport(), stop_after=2)
    async with client(fake, recorder) as graph:
        await graph.get(f"/users/{ADA}")
        with pytest.raises(Killed):
            await graph.post("/groups", json=new_group())
        with pytest.raises(Killed):
            await graph.post("/groups", json=new_group("other"))

    # The last one is done, and no later one is sent.
    assert len(tenant.created("group")) == 1
    assert recorder.sent == 2


async def test_it_stops_after_the_answer(fake: FakeMicrosoft365) -> None:
    recorder = RecordingTransport(fake.transport(), stop_after=1, is_last_answered=True)
    async with client(fake, recorder) as graph:
        answer = await graph.post("/groups", json=new_group())
        with pytest.raises(Killed):
            await graph.get("/groups")

    assert answer.status_code == 201


async def test_it_stops_after_a_lost_answer(fake: FakeMicrosoft365, tenant: Tenant) -> None:
    tenant.faults.plan(Fault.LOST_ANSWER)
    async with client(fake, RecordingTransport(fake.transport(), stop_after=1)) as graph:
        with pytest.raises(Killed):
            await graph.post("/groups", json=new_group())

    assert len(tenant.created("group")) == 1


async def test_permissions_in_use(fake: FakeMicrosoft365) -> None:
    recorder = RecordingTransport(fake.transport())
    async with client(fake, recorder) as graph:
        await graph.get(f"/users/{ADA}")
        await graph.get(f"/groups/{PARTNERS}/members")
        await graph.patch(f"/groups/{PARTNERS}", json={"description": "x"})

    enough = frozenset({"User.Read.All", "Group.ReadWrite.All"})
    assert recorder.needs(enough) == frozenset()
    assert recorder.in_use(enough) == enough
    assert recorder.needs(enough - {"Group.ReadWrite.All"}) == {
        "GET /groups/{group-id}/members",
        "PATCH /groups/{group-id}",
    }
    assert recorder.in_use(enough | {"Sites.Read.All"}) == enough
    # Both allow reading a user.
    assert recorder.in_use(enough | {"Directory.Read.All"}) == {"Group.ReadWrite.All"}


def test_permissions_of_operations() -> None:
    assert "Group.ManageProtection.All" not in sufficient("PATCH /groups/{group-id}")
    assert sufficient("PUT /groups/{group-id}/team") == {"Group.ReadWrite.All", "Directory.ReadWrite.All"}
    assert "Channel.Create" in sufficient("POST /teams/{team-id}/channels")
