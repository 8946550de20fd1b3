# SPDX-License-Identifier: Apache-2.0
import asyncio
import socket
import struct
from collections.abc import Iterator
from threading import Thread

import httpx2
import pytest

from chamberlain.directory.opensuite.http_client import open_http_client

# A reset meets the moment after the connection in about one of seven attempts.
ATTEMPTS = 200
# Resets the connection instead of closing it (socket(7), SO_LINGER).
AT_ONCE = struct.pack("ii", 1, 0)


@pytest.fixture
def resetting_port() -> Iterator[int]:
    """Port of a server that resets each connection at once, as a killed one does."""
    with socket.create_server(("127.0.0.1", 0), backlog=ATTEMPTS) as server:

        def reset_all() -> None:
            for _ in range(ATTEMPTS):
                accepted, _ = server.accept()
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                accepted.close()

        thread = Thread(target=reset_all, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(timeout=30)


async def test_a_reset_connection_is_a_failed_call(resetting_port: int) -> None:
    async with open_http_client(timeout=30) as client:
        calls = [client.get(f"http://127.0.0.1:{resetting_port}/") for _ in range(ATTEMPTS)]
        answers = await asyncio.gather(*calls, return_exceptions=True)

    assert [each for each in answers if not isinstance(each, httpx2.TransportError)] == []
