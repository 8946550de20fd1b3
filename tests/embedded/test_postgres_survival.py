# SPDX-License-Identifier: Apache-2.0
"""Recovery after PostgreSQL, or the service that runs it, was killed."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from chamberlain.embedded import postgres
from tests.postgres import connected, named_programs, short_folder, started

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a server that its service has died"),
]

_SOURCE = Path(postgres.__file__).parents[3]
_SERVICE = """
import asyncio, sys
from pathlib import Path
from chamberlain.embedded import postgres

async def serve():
    programs = Path(sys.argv[2]) if sys.argv[2] else None
    server = await postgres.start(Path(sys.argv[1]), programs=programs, run_as=None)
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


async def test_it_restarts_a_killed_server() -> None:
    with short_folder() as folder:
        async with started(folder) as server:
            async with connected(server.addresses.owner) as owner:
                await owner.execute("CREATE TABLE guest AS SELECT 'Ophelia' AS name")
            killed = server.pid
            os.kill(killed, signal.SIGKILL)

            assert await _first_answer(server.addresses.owner, "SELECT name FROM guest") == "Ophelia"
            assert server.pid != killed


async def test_it_handles_a_killed_server_whose_connection_is_busy() -> None:
    """The busy process would run for a minute, and block a new server."""
    with short_folder() as folder:
        async with started(folder) as server, connected(server.addresses.owner) as owner:
            busy = await owner.fetchval("SELECT pg_backend_pid()")
            waiting = asyncio.create_task(owner.execute("SELECT pg_sleep(60)"))
            await _first_answer(
                server.addresses_of("postgres").owner.replace(*_AS_SET_UP),
                "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
            )
            os.kill(server.pid, signal.SIGKILL)

            assert await _first_answer(server.addresses.owner, "SELECT 1") == 1
            assert _wait_for_end(busy, seconds=0)
            with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError)):
                await waiting


async def test_it_restarts_a_server_killed_repeatedly() -> None:
    with short_folder() as folder:
        async with started(folder) as server:
            for _ in range(3):
                os.kill(server.pid, signal.SIGKILL)

                assert await _first_answer(server.addresses.owner, "SELECT 1") == 1


async def test_it_restarts_a_server_stopped_from_outside() -> None:
    with short_folder() as folder:
        async with started(folder) as server:
            stopped = server.pid
            os.kill(stopped, signal.SIGTERM)
            assert _wait_for_end(stopped)

            assert await _first_answer(server.addresses.owner, "SELECT 1") == 1


async def test_the_server_stops_with_a_killed_service() -> None:
    with short_folder() as folder:
        async with _service(folder) as service:
            server_pid = await _read_pid(service)
            async with connected(_owner_address(folder)) as owner:
                await owner.execute("CREATE TABLE guest AS SELECT 'Ophelia' AS name")
            service.kill()

            assert _wait_for_end(server_pid)

        async with started(folder) as server:
            assert await _first_answer(server.addresses.owner, "SELECT name FROM guest") == "Ophelia"


async def test_a_new_service_starts_at_once_after_a_killed_one() -> None:
    with short_folder() as folder:
        async with _service(folder) as service:
            server_pid = await _read_pid(service)
            service.kill()
            await service.wait()

            async with started(folder) as server:
                assert await _first_answer(server.addresses.owner, "SELECT 1") == 1
                assert _wait_for_end(server_pid, seconds=0)


async def test_it_ignores_lock_files_with_the_id_of_another_process() -> None:
    """After the restart of a container this is common; the id of a zombie counts too.

    The other process has the server's user: the server itself ignores processes of other users.
    """
    with short_folder() as folder:
        async with started(folder) as server, connected(server.addresses.owner) as owner:
            await owner.execute("CREATE TABLE guest AS SELECT 'Ophelia' AS name")
        data = folder / "data"
        other = await asyncio.create_subprocess_exec("sleep", "60", preexec_fn=partial(os.setuid, data.stat().st_uid))
        (data / "postmaster.pid").write_text(f"{other.pid}\n{data}\n0\n5432\n\n\n\nready\n")
        (data / ".s.PGSQL.5432.lock").write_text(f"{other.pid}\n{data}\n0\n5432\n{data}\n")

        async with started(folder) as server:
            assert await _first_answer(server.addresses.owner, "SELECT name FROM guest") == "Ophelia"
        assert other.returncode is None
        other.kill()
        await other.wait()


async def test_it_handles_a_start_that_is_cancelled() -> None:
    with short_folder() as folder:
        starting = asyncio.create_task(postgres.start(folder, programs=named_programs(), run_as=None))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

        async with started(folder) as server:
            assert await _first_answer(server.addresses.owner, "SELECT 1") == 1


_AS_SET_UP = ("chamberlain_owner", "chamberlain_set_up")


def _owner_address(folder: Path) -> str:
    return f"postgresql://chamberlain_owner@/chamberlain?host={folder}/data"


@asynccontextmanager
async def _service(folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a process that only supervises a server."""
    service = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _SERVICE, folder, named_programs() or ""),
        env={"PYTHONPATH": os.pathsep.join([str(_SOURCE), *sys.path])},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield service
    finally:
        if service.returncode is None:
            service.kill()
            await service.wait()


async def _read_pid(service: asyncio.subprocess.Process) -> int:
    assert service.stdout is not None
    return int(await asyncio.wait_for(service.stdout.readline(), 20))


async def _first_answer(address: str, statement: str) -> object:
    """Retry until the server runs again."""
    async with asyncio.timeout(20):
        while True:
            try:
                async with connected(address) as connection:
                    answer = await connection.fetchval(statement)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                answer = None
            if answer is not None:
                return answer
            await asyncio.sleep(0.01)


def _wait_for_end(pid: int, *, seconds: float = 10) -> bool:
    """Wait until a process that is no child ends or becomes a zombie."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([process], [], [], seconds)
    os.close(process)
    return bool(ended)
