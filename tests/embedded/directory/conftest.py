"""A directory server with the sample data of two tenants, over HTTP on a free port.

The read-only tests of a file share one server. Tests that change data use `own_server`.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from chamberlain.app.directory import found_together, send_whole
from chamberlain.app.listeners import Listener, make_server
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Unauthorized
from chamberlain.embedded.directory.faults import Injection
from chamberlain.embedded.directory.graph.server import Access, GraphServer
from chamberlain.embedded.directory.load import load
from chamberlain.http.connections import Connections
from tests.databases import Databases, filled_database
from tests.embedded.directory.sample_data import ADA, HOUSE, OTHER_HOUSE, SECTION

REQUEST_ID = UUID("99999999-0000-4000-8000-000000000001")
ACCESS = {
    "Bearer house": Access(HOUSE, frozenset({"Group.Read.All"})),
    "Bearer house-directory": Access(HOUSE, frozenset({"Directory.Read.All"})),
    "Bearer house-writer": Access(HOUSE, frozenset({"Group.ReadWrite.All"})),
    "Bearer house-users": Access(HOUSE, frozenset({"User.Read.All"})),
    "Bearer house-settings": Access(HOUSE, frozenset({"MailboxSettings.Read"})),
    "Bearer house-sites": Access(HOUSE, frozenset({"Sites.Read.All"})),
    "Bearer house-places": Access(HOUSE, frozenset({"Place.Read.All"})),
    "Bearer ada": Access(HOUSE, frozenset({"User.Read"}), ADA),
    "Bearer ada-elsewhere": Access(HOUSE, frozenset(), ADA),
    "Bearer other-directory": Access(OTHER_HOUSE, frozenset({"Directory.Read.All"})),
    "Bearer other": Access(OTHER_HOUSE, frozenset({"Group.Read.All"})),
    "Bearer nothing": Access(HOUSE, frozenset({"User.Read.All", "group.read.all"})),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A server and its public address."""

    http: httpx2.AsyncClient
    graph_url: str

    async def get(self, path: str, *, whose: str = "house") -> httpx2.Response:
        """Send a GET request with an unchanged query string."""
        return await self.http.get(f"/graph{path}", headers={"Authorization": f"Bearer {whose}"})


async def authenticate(header: str | None) -> Access:
    if header is None:
        raise Unauthorized("Access token is empty.", had_token=False)
    access = ACCESS.get(header)
    if access is None:
        raise Unauthorized("Access token validation failure.", had_token=True)
    return access


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A server and its database."""

    served: Served
    databases: Databases


@pytest.fixture(scope="module")
async def shared_served(postgres_server: postgres.Server) -> AsyncIterator[Served]:
    async with open_server(postgres_server) as own_server:
        yield own_server.served


@pytest.fixture
def served(shared_served: Served) -> Served:
    """Return the shared server, for tests that change nothing."""
    return shared_served


@pytest.fixture
async def own_server(postgres_server: postgres.Server) -> AsyncIterator[OwnServer]:
    """Start a server for one test."""
    async with open_server(postgres_server) as own_server:
        yield own_server


@asynccontextmanager
async def open_server(server: postgres.Server) -> AsyncIterator[OwnServer]:
    """Serve the sample data from its own database."""
    async with (
        filled_database(server, "sample_data", load_sample_data) as databases,
        serving(databases.application.pool) as served,
    ):
        yield OwnServer(served, databases)


async def load_sample_data(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)


@asynccontextmanager
async def serving(pool: Pool, injection: Injection | None = None) -> AsyncIterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        graph_url = f"http://127.0.0.1:{listener.getsockname()[1]}/graph"
        graph = GraphServer(
            pool,
            find_groups=found_together(pool),
            graph_url=graph_url,
            authenticate=authenticate,
            now=lambda: datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
            new_request_id=lambda: REQUEST_ID,
            send_whole=send_whole,
            injection=injection,
        )
        application = Starlette(routes=[Mount("/graph", app=graph)])
        server = make_server(Listener(listener, None, application), Connections())
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with httpx2.AsyncClient(base_url=graph_url.removesuffix("/graph"), trust_env=False) as http:
                yield Served(http, graph_url)
        finally:
            server.should_exit = True
            await running
