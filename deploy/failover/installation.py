"""The service on the cluster: roles and database as an operator makes them, and the processes on it."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from chamberlain.embedded.postgres import Addresses
from deploy.failover.cluster import Cluster
from tests.services import Outside, Process, Service, filled, wait_until

ROLES = ("chamberlain_owner", "chamberlain_application", "chamberlain_worker")


@dataclass(frozen=True, slots=True)
class Installation:
    """What runs on the cluster: those who answer and those who work."""

    outside: Outside
    services: tuple[Service, ...]
    workers: tuple[Process, ...] = field(default=())

    def ended(self) -> list[int]:
        """The exit codes of processes that have ended, which none should."""
        processes = [each.process for each in (*self.services, *self.workers)]
        return [process.returncode for process in processes if process.poll() is not None]


@contextmanager
def installed(cluster: Cluster, folder: Path, number: int = 2) -> Iterator[Installation]:
    """So many processes of each kind for as long as the block runs."""
    passwords = {role: secrets.token_hex(16) for role in ROLES}
    asyncio.run(_make_database(cluster, passwords))
    owner, application, worker = (cluster.address(role, passwords[role], "chamberlain") for role in ROLES)
    with filled(Addresses(owner=owner, application=application, worker=worker), folder) as outside:
        services = tuple(outside.ready_service("--no-worker") for _ in range(number))
        workers = tuple(outside.start_worker() for _ in range(number))
        for each in workers:
            wait_until(lambda each=each: "The worker is at work." in each.said(), 60, each.said)  # type: ignore[misc]
        yield Installation(outside, services, workers)


async def _make_database(cluster: Cluster, passwords: dict[str, str]) -> None:
    connection = await asyncpg.connect(cluster.address("postgres", cluster.password, "postgres"))
    try:
        for role, password in passwords.items():
            await connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{password}'")
        await connection.execute("CREATE DATABASE chamberlain OWNER chamberlain_owner TEMPLATE template0")
    finally:
        await connection.close()
