# SPDX-License-Identifier: Apache-2.0
import asyncio
import socket

import httpx2
import pytest

from chamberlain.http_client import open_http_client
from tests.resetting_server import resetting_server

# A reset meets the moment after the connection in about one of seven attempts.
ATTEMPTS = 200


async def test_a_reset_connection_is_a_failed_call() -> None:
    with resetting_server(ATTEMPTS) as port:
        async with open_http_client(timeout=30, most_connections=64) as client:
            calls = [client.get(f"http://127.0.0.1:{port}/") for _ in range(ATTEMPTS)]
            answers = await asyncio.gather(*calls, return_exceptions=True)

    assert [each for each in answers if not isinstance(each, httpx2.TransportError)] == []


async def test_a_call_after_the_end_is_a_failed_call() -> None:
    client = open_http_client(timeout=30, most_connections=64)
    await client.aclose()

    with pytest.raises(httpx2.TransportError):
        await client.get("http://127.0.0.1:9/")


async def test_a_running_call_at_the_end_is_a_failed_call() -> None:
    client = open_http_client(timeout=30, most_connections=64)
    with socket.create_server(("127.0.0.1", 0)) as server:
        call = asyncio.create_task(client.get(f"http://127.0.0.1:{server.getsockname()[1]}/"))
        connection, _ = await asyncio.to_thread(server.accept)
        with connection:
            await asyncio.to_thread(connection.recv, 1)
            await client.aclose()

            with pytest.raises(httpx2.TransportError):
                await call
