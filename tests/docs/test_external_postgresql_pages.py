# SPDX-License-Identifier: Apache-2.0
"""The pages about an external PostgreSQL and upgrades work, on a server that is reached by TCP with passwords."""

import asyncio
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncpg
import pytest

from chamberlain.embedded import postgres
from tests.docs.homes import as_user, home
from tests.docs.pages import ROOT, fences, shell_blocks
from tests.folders import data_folder
from tests.postgres import named_programs
from tests.service.pooler import free_loopback_host
from tests.services import WORKER_RUNNING, Process, Service, free_port, wait_until

pytestmark = pytest.mark.heavy

HOW_TO = ROOT / "docs" / "how-to"
PAGE = HOW_TO / "outside-postgresql.md"
ROLES = ("chamberlain_owner", "chamberlain_application", "chamberlain_worker")


@contextmanager
def external_server() -> Iterator[str]:
    """A PostgreSQL in which an administrator has run the SQL of the page. Yields its host."""
    (sql,) = [fence.text for fence in fences(PAGE) if fence.language == "sql"]
    host = free_loopback_host()
    with data_folder() as folder:
        access = folder / "pg_hba.conf"
        access.write_text("local all all peer map=chamberlain\nhost all all 127.0.0.0/8 scram-sha-256\n")
        access.chmod(0o644)
        settings = {"listen_addresses": host, "hba_file": str(access)}
        server = asyncio.run(
            postgres.start(folder / "postgres", programs=named_programs(), run_as=None, extra_settings=settings)
        )
        try:
            # An embedded server begins with them; an external one does not.
            begin = ["DROP DATABASE IF EXISTS chamberlain", *(f"DROP ROLE {role}" for role in ROLES)]
            asyncio.run(execute(server.set_up_address, [*begin, *sql.strip().splitlines()]))
            yield host
        finally:
            asyncio.run(server.stop())


async def execute(address: str, statements: list[str]) -> None:
    connection = await asyncpg.connect(address)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def replaced(text: str, places: Mapping[str, str]) -> str:
    for place, other in places.items():
        text = text.replace(place, other)
    return text


def start(script: str, folder: Path, name: str) -> Process:
    """Start a script of the ordinary user, whose last command runs until it is ended."""
    *before, last = script.strip().splitlines()
    log = folder / f"{name}.log"
    command = [*as_user(), "bash", "-euc", "\n".join([*before, f"exec {last}"])]
    with log.open("ab") as stream:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(folder), stdout=stream, stderr=stream)
    return Process(process, log)


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder)}


def run(script: str, folder: Path) -> None:
    """Run a script of the ordinary user to its end."""
    command = [*as_user(), "bash", "-euc", script]
    done = subprocess.run(command, cwd=ROOT, env=environment(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_works() -> None:
    addresses, migrate, keys, serve, worker, *_ = shell_blocks(PAGE)
    before, after = shell_blocks(HOW_TO / "upgrade.md")
    port = free_port()
    with external_server() as host, home() as folder, ExitStack() as started:
        places = {
            "db.example.org": host,
            "--port 8365": f"--port {port}",
            "/var/lib/chamberlain": str(folder),
            "/etc/chamberlain": str(folder),
        }
        shell = replaced(addresses + keys, places)

        run(f"{shell}\n{migrate}", folder)
        api = start(replaced(f"{shell}\n{serve}", places), folder, "api")
        started.callback(api.stop)
        service = Service(api.process, api.log, port, folder / "api", {})
        service.wait_until_ready()
        jobs = start(replaced(f"{shell}\n{worker}", places), folder, "worker")
        started.callback(jobs.stop)
        wait_until(lambda: WORKER_RUNNING in jobs.said(), 60, jobs.said)
        run(f"{shell}\n{before}\n{after}", folder)

        assert service.answers("/health/ready") == 200
        assert re.search(r"^k\w+ ", (folder / "keys").read_text(encoding="utf-8"))
