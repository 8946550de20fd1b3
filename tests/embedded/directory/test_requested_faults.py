# SPDX-License-Identifier: Apache-2.0
"""Faults that a test run sets over HTTP, for calls of Graph and of the service."""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from chamberlain.app.listeners import Listener, make_server
from chamberlain.embedded.directory.errors import Forbidden, Unauthorized
from chamberlain.embedded.directory.faults_server import FaultsServer
from chamberlain.embedded.directory.requested_faults import MOST_FAULTS, Hit, Kind, Operation, RequestedFaults
from chamberlain.http.connections import Connections
from tests.databases import Databases
from tests.embedded.directory.sample_data import HOUSE, OTHER_HOUSE

pytestmark = pytest.mark.heavy

AWAY = {"operation": "groups.read", "kind": "away", "seconds": 60}


@dataclass(frozen=True, slots=True)
class Surface:
    """The surface, and the faults as calls of the directory take them."""

    http: httpx2.AsyncClient
    faults: RequestedFaults
    databases: Databases

    async def send(self, method: str, path: str = "", body: object = None, whose: str = "house") -> httpx2.Response:
        return await self.http.request(
            method, f"/emulator/faults{path}", json=body, headers={"Authorization": f"Bearer {whose}"}
        )

    async def hits(self, operation: Operation, calls: int = 1, tenant_id: UUID = HOUSE) -> list[Kind | None]:
        """Make calls, and return the fault of each."""
        found = [await self.faults.take(operation, [tenant_id, HOUSE]) for _ in range(calls)]
        return [None if (hit := one.get(tenant_id)) is None else hit.kind for one in found]


async def authenticate(header: str | None) -> UUID:
    match header:
        case "Bearer house":
            return HOUSE
        case "Bearer other":
            return OTHER_HOUSE
        case "Bearer reader":
            raise Forbidden("The token lacks a permission.")
        case _:
            raise Unauthorized("The token is missing.", had_token=False)


@pytest.fixture
async def surface(databases: Databases) -> AsyncIterator[Surface]:
    numbers = itertools.count(1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = FaultsServer(RequestedFaults(databases.worker.pool), authenticate, lambda: UUID(int=next(numbers)))
        application = Starlette(routes=[Mount("/emulator", app=server)])
        uvicorn = make_server(Listener(listener, None, application), Connections())
        running = asyncio.create_task(uvicorn.serve(sockets=[listener]))
        root = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            async with httpx2.AsyncClient(base_url=root, trust_env=False) as http:
                # The role of the application takes faults too.
                yield Surface(http, RequestedFaults(databases.application.pool), databases)
        finally:
            uvicorn.should_exit = True
            await running


async def test_it_works(surface: Surface) -> None:
    made = await surface.send("POST", body={**AWAY, "retryAfter": 7})

    assert made.status_code == 201
    assert await surface.faults.take(Operation.GROUPS_READ, [HOUSE]) == {HOUSE: Hit(Kind.AWAY, timedelta(seconds=7))}
    assert await surface.hits(Operation.GROUPS_WRITE) == [None]
    assert await surface.hits(Operation.GROUPS_READ, tenant_id=OTHER_HOUSE) == [None]
    [listed] = (await surface.send("GET")).json()["faults"]
    assert listed == {**made.json(), "calls": 2}
    assert (await surface.send("GET", whose="other")).json() == {"faults": []}


async def test_a_fault_hits_the_named_calls_only(surface: Surface) -> None:
    await surface.send("POST", body={**AWAY, "kind": "throttled", "afterCalls": 2, "times": 2})

    assert await surface.hits(Operation.GROUPS_READ, 6) == [None, None, Kind.THROTTLED, Kind.THROTTLED, None, None]


async def test_the_oldest_fault_counts(surface: Surface) -> None:
    await surface.send("POST", body={**AWAY, "kind": "throttled", "times": 1})
    await surface.send("POST", body=AWAY)

    assert await surface.hits(Operation.GROUPS_READ, 2) == [Kind.THROTTLED, Kind.AWAY]


async def test_a_fault_ends(surface: Surface) -> None:
    made = (await surface.send("POST", body=AWAY)).json()
    await surface.databases.worker.pool.execute("UPDATE directory.requested_faults SET ends_at = now()")

    assert await surface.hits(Operation.GROUPS_READ) == [None]
    assert (await surface.send("GET")).json() == {"faults": []}
    await surface.send("POST", body=AWAY)
    left = await surface.databases.worker.pool.fetch("SELECT id FROM directory.requested_faults")
    assert [str(row["id"]) for row in left] != [made["id"]]
    assert len(left) == 1


async def test_faults_are_cleared(surface: Surface) -> None:
    first = (await surface.send("POST", body=AWAY)).json()["id"]
    await surface.send("POST", body={**AWAY, "operation": "people.read"})

    assert (await surface.send("DELETE", f"/{first}", whose="other")).status_code == 404
    assert (await surface.send("DELETE", f"/{first}")).status_code == 204
    assert (await surface.send("DELETE", f"/{first}")).status_code == 404
    assert await surface.hits(Operation.PEOPLE_READ) == [Kind.AWAY]
    assert (await surface.send("DELETE")).status_code == 204
    assert await surface.hits(Operation.PEOPLE_READ) == [None]


@pytest.mark.parametrize(
    ("method", "path", "body", "whose", "expected"),
    [
        ("POST", "", {**AWAY, "operation": "hats.read"}, "house", (400, "bodyInvalid")),
        ("POST", "", {**AWAY, "seconds": 3601}, "house", (400, "bodyInvalid")),
        ("POST", "", {**AWAY, "until": "now"}, "house", (400, "bodyInvalid")),
        ("POST", "", {**AWAY, "kind": "lostResponse"}, "house", (400, "bodyInvalid")),
        ("POST", "", {**AWAY, "operation": "x" * 5000}, "house", (413, "bodyTooLarge")),
        ("PUT", "", None, "house", (405, "methodNotAllowed")),
        ("GET", "/1", None, "house", (404, "notFound")),
        ("GET", "", None, "reader", (403, "insufficientScope")),
        ("GET", "", None, "stranger", (401, "tokenMissing")),
    ],
)
async def test_a_call_that_is_not_possible_is_refused(
    surface: Surface, method: str, path: str, *, body: object, whose: str, expected: tuple[int, str]
) -> None:
    answer = await surface.send(method, path, body, whose)

    assert (answer.status_code, answer.json()["code"]) == expected


async def test_an_unknown_operation_is_refused_with_the_known_ones(surface: Surface) -> None:
    answer = await surface.send("POST", "", {**AWAY, "operation": "hats.read"})

    assert all(each in answer.json()["detail"] for each in (*Operation, *Kind))


async def test_a_tenant_has_a_limited_number_of_faults(surface: Surface) -> None:
    for _ in range(MOST_FAULTS):
        assert (await surface.send("POST", body=AWAY)).status_code == 201

    refused = await surface.send("POST", body=AWAY)

    assert (refused.status_code, refused.json()["code"]) == (409, "tooManyFaults")
