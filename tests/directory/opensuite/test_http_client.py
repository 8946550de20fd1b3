# SPDX-License-Identifier: Apache-2.0
import asyncio

import httpx2

from chamberlain.directory.opensuite.http_client import open_http_client
from tests.resetting_server import resetting_server

# A reset meets the moment after the connection in about one of seven attempts.
ATTEMPTS = 200


async def test_a_reset_connection_is_a_failed_call() -> None:
    with resetting_server(ATTEMPTS) as port:
        async with open_http_client(timeout=30) as client:
            calls = [client.get(f"http://127.0.0.1:{port}/") for _ in range(ATTEMPTS)]
            answers = await asyncio.gather(*calls, return_exceptions=True)

    assert [each for each in answers if not isinstance(each, httpx2.TransportError)] == []
