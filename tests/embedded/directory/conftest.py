# SPDX-License-Identifier: Apache-2.0
"""A directory server with the sample data of two tenants, over HTTP on a free port.

The read-only tests of a file share one server. Tests that change data use `own_server`.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID, uuid4

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
from chamberlain.embedded.directory.graph.calls import Writer
from chamberlain.embedded.directory.graph.server import Access, GraphServer
from chamberlain.embedded.directory.load import load
from chamberlain.http.connections import Connections
from tests.databases import Databases, filled_database
from tests.embedded.directory.sample_data import ADA, HOUSE, OTHER_HOUSE, SECTION
from tests.microsoft365.recorder import record

REQUEST_ID = UUID("99999999-0000-4000-8000-000000000001")
ACCESS = {
    "Bearer house": Access(HOUSE, frozenset({"Group.Read.All"})),
    "Bearer house-directory": Access(HOUSE, frozenset({"Directory.Read.All"})),
    "Bearer house-writer": Access(HOUSE, frozenset({"Group.ReadWrite.All"})),
    "Bearer house-users": Access(HOUSE, frozenset({"User.Read.All"})),
    "Bearer house-settings": Access(HOUSE, frozenset({"MailboxSettings.Read"})),
    "Bearer house-sites": Access(HOUSE, frozenset({"Sites.Read.All"})),
    "Bearer house-places": Access(HOUSE, frozenset({"Place.Read.All"})),
    "Bearer house-domains": Access(HOUSE, frozenset({"Domain.Read.All"})),
    "Bearer house-labels": Access(HOUSE, frozenset({"SensitivityLabel.Read"})),
    "Bearer house-contacts": Access(HOUSE, frozenset({"OrgContact.Read.All"})),
    "Bearer house-group-settings": Access(HOUSE, frozenset({"GroupSettings.Read.All"})),
    "Bearer ada": Access(HOUSE, frozenset({"User.Read"}), ADA),
    "Bearer ada-elsewhere": Access(HOUSE, frozenset(), ADA),
    "Bearer ada-writer": Access(HOUSE, frozenset({"Group.ReadWrite.All"}), ADA),
    "Bearer other-directory": Access(OTHER_HOUSE, frozenset({"Directory.Read.All"})),
    "Bearer other": Access(OTHER_HOUSE, frozenset({"Group.Read.All"})),
    "Bearer nothing": Access(HOUSE, frozenset({"User.Read.All", "group.read.all"})),
}
# The token of an application with the permissions behind it, separated by a plus.
_ONLY = "Bearer only:"


@dataclass(frozen=True, slots=True)
class Served:
    """A server and its public address."""

    http: httpx2.AsyncClient
    graph_url: str

    async def get(self, path: str, *, whose: str = "house") -> httpx2.Response:
        """Send a GET request with an unchanged query string."""
        return await self.http.get(f"/graph{path}", headers={"Authorization": f"Bearer {whose}"})

    async def post(self, path: str, body: object, *, whose: str = "house") -> httpx2.Response:
        """Send a POST request with a JSON body."""
        return await self.http.post(f"/graph{path}", json=body, headers={"Authorization": f"Bearer {whose}"})


async def record_answer(answer: httpx2.Response, *, is_strict: bool) -> None:
    """Validate an answer against Microsoft's published description."""
    await answer.aread()
    access = access_of(answer.request.headers.get("Authorization", ""))
    record(answer, None if access is None else access.permissions, is_strict=is_strict)


def access_of(header: str) -> Access | None:
    if header.startswith(_ONLY):
        return Access(HOUSE, frozenset(header.removeprefix(_ONLY).split("+")))
    return ACCESS.get(header)


async def authenticate(header: str | None) -> Access:
    if header is None:
        raise Unauthorized("Access token is empty.", had_token=False)
    access = access_of(header)
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
async def open_server(
    server: postgres.Server, *, is_strict: bool = False, is_writable: bool = False
) -> AsyncIterator[OwnServer]:
    """Serve the sample data from its own database."""
    async with filled_database(server, "sample_data", load_sample_data) as databases:
        writer = Writer(databases.worker.pool, uuid4) if is_writable else None
        async with serving(databases.application.pool, is_strict=is_strict, writer=writer) as served:
            yield OwnServer(served, databases)


async def load_sample_data(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)


@asynccontextmanager
async def serving(
    pool: Pool,
    injection: Injection | None = None,
    *,
    is_strict: bool = False,
    writer: Writer | None = None,
    now: Callable[[], datetime] = lambda: datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
) -> AsyncIterator[Served]:
    """Serve the directory. The client validates every answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        graph_url = f"http://127.0.0.1:{listener.getsockname()[1]}/graph"
        graph = GraphServer(
            pool,
            find_groups=found_together(pool),
            graph_url=graph_url,
            authenticate=authenticate,
            now=now,
            new_request_id=lambda: REQUEST_ID,
            send_whole=send_whole,
            injection=injection,
            is_strict=is_strict,
            writer=writer,
        )
        application = Starlette(routes=[Mount("/graph", app=graph)])
        server = make_server(Listener(listener, None, application), Connections())
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with httpx2.AsyncClient(
                base_url=graph_url.removesuffix("/graph"),
                trust_env=False,
                event_hooks={"response": [partial(record_answer, is_strict=is_strict)]},
            ) as http:
                yield Served(http, graph_url)
        finally:
            server.should_exit = True
            await running
