# SPDX-License-Identifier: Apache-2.0
"""The figures that /metrics shows, with the database and without it."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx2

from chamberlain.app.listeners import PATIENCE, metrics_application
from chamberlain.database.transactions import open_database
from chamberlain.observability.metrics import call_answered
from tests.databases import Databases
from tests.services import free_port

COUNTED = 'chamberlain_http_request_duration_seconds_count{endpoint="/outage",method="GET",status="503"}'


async def test_it_works(databases: Databases) -> None:
    async with asked(databases.addresses.worker) as client:
        answer = await client.get("/metrics")

    assert answer.status_code == 200
    assert figures(answer, "chamberlain_database_up") == [1]
    assert figures(answer, "chamberlain_jobs_queued") == [0]


async def test_it_goes_on_counting_while_the_database_is_away() -> None:
    call_answered("/outage", "GET", 503, 0.1)

    async with asked(f"postgresql://chamberlain_worker@127.0.0.1:{free_port()}/chamberlain") as client:
        answer = await client.get("/metrics")

    assert answer.status_code == 200
    assert figures(answer, "chamberlain_database_up") == [0]
    assert figures(answer, COUNTED) == [1]
    assert len(figures(answer, "process_start_time_seconds")) == 1
    # Unknown values are left out.
    assert figures(answer, "chamberlain_jobs_queued") == []


async def test_it_does_not_wait_long_for_a_database_that_hangs() -> None:
    async with hanging() as port:
        address = f"postgresql://chamberlain_worker@127.0.0.1:{port}/chamberlain"
        async with asked(address, patience=timedelta(seconds=0.2)) as client:
            answer = await client.get("/metrics")

    assert figures(answer, "chamberlain_database_up") == [0]


@asynccontextmanager
async def asked(address: str, *, patience: timedelta = PATIENCE) -> AsyncIterator[httpx2.AsyncClient]:
    database = await open_database(address, most=1, name="test figures")
    application = metrics_application(database, patience=patience)
    try:
        transport = httpx2.ASGITransport(application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://figures") as client:
            yield client
    finally:
        await database.close()


@asynccontextmanager
async def hanging() -> AsyncIterator[int]:
    """A port whose listener never answers."""
    over = asyncio.Event()

    async def listen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        over.set()
        server.close()
        await server.wait_closed()


def figures(answer: httpx2.Response, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf"^{re.escape(name)} (\S+)$", answer.text, re.MULTILINE)]
