# SPDX-License-Identifier: Apache-2.0
"""A PgBouncer in transaction mode between the service and a PostgreSQL that is reached by TCP with passwords."""

import asyncio
import os
import re
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import Addresses, roles
from tests.docs.pages import ROOT
from tests.postgres import named_programs
from tests.services import free_port, wait_until

PASSWORD = secrets.token_hex(8)
# Few, so that several processes have to share them all the time.
SERVER_CONNECTIONS = 4

PAGE = ROOT / "docs" / "how-to" / "pooler.md"


@dataclass(frozen=True, slots=True)
class Pooled:
    """Where the roles find the database: through the pooler and past it."""

    pooled: Addresses
    direct: Addresses


@contextmanager
def pooled_database(folder: Path) -> Iterator[Pooled]:
    """A PostgreSQL with its pooler for as long as the block runs."""
    host = free_loopback_host()
    access = folder / "pg_hba.conf"
    access.write_text("local all all peer map=chamberlain\nhost all all 127.0.0.0/8 scram-sha-256\n")
    access.chmod(0o644)
    settings = {"listen_addresses": host, "hba_file": str(access)}
    server = asyncio.run(
        postgres.start(folder / "postgres", programs=named_programs(), run_as=None, extra_settings=settings)
    )
    try:
        asyncio.run(_give_passwords(server))
        with _running_pooler(folder, host) as port:
            yield Pooled(_addresses(f"127.0.0.1:{port}"), _addresses(f"{host}:5432"))
    finally:
        asyncio.run(server.stop())


def free_loopback_host() -> str:
    """A loopback address with a free PostgreSQL port, which the embedded one does not let choose."""
    while True:
        host = f"127.{1 + secrets.randbelow(250)}.{secrets.randbelow(250)}.{1 + secrets.randbelow(250)}"
        with socket.socket() as tried:
            try:
                tried.bind((host, 5432))
            except OSError:
                continue
        return host


async def _give_passwords(server: postgres.Server) -> None:
    connection = await asyncpg.connect(server.set_up_address)
    try:
        for role in (roles.OWNER, roles.APPLICATION, roles.WORKER):
            await connection.execute(f"ALTER ROLE {role} PASSWORD '{PASSWORD}'")
    finally:
        await connection.close()


@contextmanager
def _running_pooler(folder: Path, host: str) -> Iterator[int]:
    port, users, configuration = free_port(), folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text("".join(f'"{role}" "{PASSWORD}"\n' for role in (roles.OWNER, roles.APPLICATION, roles.WORKER)))
    configuration.write_text(_configuration(host, port, users))
    # It refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    with (folder / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen(["/usr/sbin/pgbouncer", str(configuration)], stdout=log, stderr=log, user=user)
    try:
        wait_until(lambda: _listens(port) or process.poll() is not None, 10)
        assert process.poll() is None, (folder / "pgbouncer.log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait(timeout=10)


def _configuration(host: str, port: int, users: Path) -> str:
    """The configuration of the page, with our addresses."""
    (text,) = re.findall(r"^```ini\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for shown, ours in (
        ("host=db.example.org", f"host={host}"),
        ("listen_port = 6432", f"listen_port = {port}\nunix_socket_dir ="),
        ("/etc/pgbouncer/users.txt", str(users)),
        ("default_pool_size = 20", f"default_pool_size = {SERVER_CONNECTIONS}"),
    ):
        assert shown in text
        text = text.replace(shown, ours)
    return str(text)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _addresses(place: str) -> Addresses:
    owner, application, worker = (
        f"postgresql://{role}:{PASSWORD}@{place}/chamberlain" for role in (roles.OWNER, roles.APPLICATION, roles.WORKER)
    )
    return Addresses(owner=owner, application=application, worker=worker)
