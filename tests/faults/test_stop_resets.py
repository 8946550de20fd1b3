# SPDX-License-Identifier: Apache-2.0
"""A process that is stopped while clients call it: each call has an answer or a clean end, never a reset."""

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.services import Service, outside_database, wait_until

pytestmark = pytest.mark.heavy

CLIENTS = 16
CALL = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"
BEFORE_THE_STOP = 500
# Calls on one connection that is kept.
MOST = 1_000_000


@pytest.mark.parametrize(
    "calls", [pytest.param(BEFORE_THE_STOP, id="under load"), pytest.param(1, id="in the first second")]
)
def test_a_stop_resets_no_connection(calls: int) -> None:
    with outside_database() as outside:
        service = outside.start_service("--no-worker")
        with calling(service) as outcomes:
            wait_until(lambda: outcomes["answered"] >= calls, within=30)

            code = service.stop()

    assert code == 0
    assert outcomes["reset"] == 0
    # Every client met the end of the process, in one of the two clean ways.
    assert outcomes["closed"] + outcomes["refused"] >= CLIENTS


@contextmanager
def calling(service: Service) -> Iterator[Counter[str]]:
    """Clients that call again and again until the process is gone. Half of them keep their connection."""
    outcomes: Counter[str] = Counter()

    def call_until_gone(most_calls: int) -> None:
        while service.process.poll() is None:
            outcome = call_on_one_connection(service.port, most_calls, outcomes)
            # Before the start, nothing listens either.
            if outcome != "refused" or outcomes["answered"]:
                outcomes[outcome] += 1

    clients = [threading.Thread(target=call_until_gone, args=(MOST if each % 2 else 1,)) for each in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield outcomes
    finally:
        service.stop()
        for client in clients:
            client.join()


def call_on_one_connection(port: int, most_calls: int, outcomes: Counter[str]) -> str:
    """Call until the connection ends or the calls are used up. Answer how the last call ended."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            for _ in range(most_calls):
                if not call(client, port):
                    return "closed"
                outcomes["answered"] += 1
    except ConnectionRefusedError:
        return "refused"
    except (ConnectionResetError, BrokenPipeError):
        return "reset"
    return "done"


def call(client: socket.socket, port: int) -> bool:
    """Send one call and read its answer. Answer whether one came before the end of the connection."""
    client.sendall(CALL % port)
    received = b""
    while not received.endswith(b"}"):
        part = client.recv(4096)
        if not part:
            assert received == b"", "The answer was cut."
            return False
        received += part
    return True
