# SPDX-License-Identifier: Apache-2.0
"""A SCIM server with the sample data of two tenants, over HTTP on a free port."""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from chamberlain.app.listeners import Listener, make_server
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.errors import Forbidden, Unauthorized
from chamberlain.embedded.directory.scim.patch import PATCH_SCHEMA
from chamberlain.embedded.directory.scim.schemas import GROUP, USER, Json
from chamberlain.embedded.directory.scim.server import ScimServer
from chamberlain.http.connections import Connections
from tests.databases import Databases, filled_database
from tests.embedded.directory.conftest import load_sample_data
from tests.embedded.directory.sample_data import HOUSE, OTHER_HOUSE

# The JSON of a response; its types are under test.
Said: TypeAlias = dict[str, Any]

TENANTS = {"Bearer house": HOUSE, "Bearer other": OTHER_HOUSE}


@dataclass(frozen=True, slots=True)
class Scim:
    """The server with its address and its database."""

    http: httpx2.AsyncClient
    root: str
    databases: Databases

    async def send(
        self, method: str, path: str, body: object = None, *, whose: str = "house", **headers: str
    ) -> httpx2.Response:
        """Send a call. Underscores in the names of headers are hyphens."""
        sent = {"Authorization": f"Bearer {whose}", **{name.replace("_", "-"): text for name, text in headers.items()}}
        return await self.http.request(method, f"/scim/v2{path}", json=body, headers=sent)

    async def create_user(self, user_name: str, **more: object) -> Said:
        """Create a user, and return the resource."""
        return await self._create("/Users", {"schemas": [USER], "userName": user_name, **more})

    async def create_group(self, name: str, *members: object) -> Said:
        """Create a group with members, and return the resource."""
        values = [{"value": str(one)} for one in members]
        return await self._create("/Groups", {"schemas": [GROUP], "displayName": name, "members": values})

    async def _create(self, path: str, body: Json) -> Said:
        answer = await self.send("POST", path, body)
        assert answer.status_code == 201, answer.text
        created: Said = answer.json()
        return created

    async def patch(self, path: str, *operations: Json) -> httpx2.Response:
        """Send a PATCH request with these operations."""
        return await self.send("PATCH", path, {"schemas": [PATCH_SCHEMA], "Operations": list(operations)})

    async def find(self, path: str, **parameters: str) -> Said:
        """Send a GET request, and return the body."""
        answer = await self.http.get(f"/scim/v2{path}", params=parameters, headers={"Authorization": "Bearer house"})
        assert answer.status_code == 200, answer.text
        found: Said = answer.json()
        return found


async def authenticate(header: str | None) -> UUID:
    if header is None:
        raise Unauthorized("The token is missing.", had_token=False)
    if header == "Bearer reader":
        raise Forbidden("The token lacks a permission.")
    if header not in TENANTS:
        raise Unauthorized("The token is not valid.", had_token=True)
    return TENANTS[header]


@pytest.fixture(scope="module")
async def shared_server(postgres_server: postgres.Server) -> AsyncIterator[Scim]:
    async with (
        filled_database(postgres_server, "sample_data", load_sample_data) as databases,
        serving(databases) as served,
    ):
        yield served


@pytest.fixture
def shared_scim(shared_server: Scim) -> Scim:
    """Return the shared server, for tests that change nothing."""
    return shared_server


@pytest.fixture
async def scim(postgres_server: postgres.Server) -> AsyncIterator[Scim]:
    """Start a server for one test."""
    async with (
        filled_database(postgres_server, "sample_data", load_sample_data) as databases,
        serving(databases) as served,
    ):
        yield served


@asynccontextmanager
async def serving(databases: Databases) -> AsyncIterator[Scim]:
    numbers = itertools.count(1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        root = f"http://127.0.0.1:{listener.getsockname()[1]}"
        application = ScimServer(
            reader=databases.application.pool,
            writer=databases.worker.pool,
            url=f"{root}/scim/v2",
            authenticate=authenticate,
            new_id=lambda: UUID(int=next(numbers)),
        )
        mounted = Starlette(routes=[Mount("/scim/v2", app=application)])
        server = make_server(Listener(listener, None, mounted), Connections())
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with httpx2.AsyncClient(base_url=root, trust_env=False) as http:
                yield Scim(http, f"{root}/scim/v2", databases)
        finally:
            server.should_exit = True
            await running
