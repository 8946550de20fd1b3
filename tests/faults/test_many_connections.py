# SPDX-License-Identifier: Apache-2.0
"""Very many silent or slow connections: all other callers get their responses."""

import asyncio
import resource
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bench.proofs.sockets import KINDS, MEMORY_MIB, measure
from chamberlain.http.connections import ConnectionLimits
from tests.faults.load import Load
from tests.services import Service, restarted_service, wait_until

pytestmark = pytest.mark.heavy

# The files of the test process beside its connections.
SPARE = 500
SLOW = 200
CAP = ConnectionLimits().most
CALL = (
    "POST /collab/v1/groups/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: {authorization}\r\n"
    "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
)


@pytest.mark.parametrize(
    "number",
    [pytest.param(500, id="500"), pytest.param(10_000, id="10,000", marks=[pytest.mark.heavy, pytest.mark.alone])],
)
def test_it_works_beside_idle_ones(number: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = min(number, hard - SPARE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, number + SPARE)), hard))
    with restarted_service() as service:
        load = Load([service])
        service.headers()
        # A process has fewer than the larger number at the same time.
        with idle_connections(service, number):
            wait_until(lambda: open_files(service) >= min(number, CAP), within=60)
            load.run(200)

            assert service.answers("/health/ready") == 200
            assert (len(load.accepted), load.refused, load.unanswered) == (200, [], 0)
        wait_until(lambda: open_files(service) < number // 2 + SPARE // 5, within=30)
        load.run(50)
        assert len(load.accepted) == 250


def test_it_answers_when_it_may_have_few_files() -> None:
    with restarted_service() as service, ExitStack() as opened:
        service.headers()
        load = Load([service])
        most = open_files(service) + 200
        # The process looks at its limit once a second, and keeps half of so few for everything else.
        cap = most - most // 2
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (most, most))
        # The cap is in force when the process has closed connections for it.
        idle = opened.enter_context(idle_connections(service, cap + 10))
        wait_until(lambda: ended(idle) >= 10, within=20)
        idle += opened.enter_context(idle_connections(service, cap))
        wait_until(lambda: len(idle) - ended(idle) <= cap, within=20)

        load.run(100)
        wait_until(lambda: service.answers("/health/ready") == 200, within=20)
        assert (len(load.accepted), load.refused, load.unanswered) == (100, [], 0)
        assert service.stop() == 0


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        pytest.param(200, 12, id="200", marks=pytest.mark.heavy),
        pytest.param(5_000, 30, id="5,000", marks=[pytest.mark.heavy, pytest.mark.alone]),
    ],
)
def test_others_are_answered_beside_clients_that_do_not_read(number: int, seconds: float) -> None:
    figures = measure(number, seconds, KINDS, {})

    assert figures.opened == number
    assert figures.left_open == 0
    # The proof compares the seconds, on a quiet machine. Here no caller may give up.
    assert (len(figures.answers) > 0, figures.lost) == (True, 0)
    assert max(figures.memory_mib) < MEMORY_MIB
    # One for each kind of refusal and minute; a busy machine takes some minutes.
    assert 0 < figures.log_lines < 20


def test_it_ends_bodies_that_do_not_come() -> None:
    with restarted_service() as service:
        load = Load([service])
        answers = asyncio.run(slow_bodies(service, load))

        assert (len(load.accepted), load.refused, load.unanswered) == (200, [], 0)
        assert len(answers) == SLOW
        assert all(answer.startswith(b"HTTP/1.1 400 ") and b'"notJson"' in answer for answer in answers)


async def slow_bodies(service: Service, load: Load) -> list[bytes]:
    """Send bodies that stop after their beginning, while others request groups. Return the answers until the end."""
    call = CALL.format(port=service.port, authorization=service.headers()["authorization"]).encode()

    async def heard() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(call)
        async with asyncio.timeout(60):
            told = await reader.read()
        writer.close()
        return told

    slow = [asyncio.create_task(heard()) for _ in range(SLOW)]
    await asyncio.to_thread(load.run, 200)
    assert not any(each.done() for each in slow), "They were ended before the others were through."
    return list(await asyncio.gather(*slow))


@contextmanager
def idle_connections(service: Service, number: int) -> Iterator[list[socket.socket]]:
    """Open this many connections that send nothing."""
    with ExitStack() as opened:
        address = ("127.0.0.1", service.port)
        yield [opened.enter_context(socket.create_connection(address, timeout=30)) for _ in range(number)]


def ended(connections: Sequence[socket.socket]) -> int:
    """How many of these connections the service has closed."""
    # TCP_INFO begins with the state; 1 is ESTABLISHED.
    return sum(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1 for each in connections)


def open_files(service: Service) -> int:
    """How many the process has, connections among them."""
    return sum(1 for _ in Path(f"/proc/{service.process.pid}/fd").iterdir())
