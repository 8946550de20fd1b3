# SPDX-License-Identifier: Apache-2.0
"""The service on the cluster: roles and database as an operator makes them, and the processes on it."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chamberlain.embedded.postgres import Addresses
from deploy.failover.cluster import Cluster
from deploy.failover.programs import CannotTry
from tests.services import Outside, Process, Service, filled, wait_until

MAKE_ROLES = Path(__file__).parents[1] / "compose" / "make-roles"
ROLES = ("chamberlain_owner", "chamberlain_application", "chamberlain_worker")


@dataclass(frozen=True, slots=True)
class Installation:
    """The processes on the cluster: API processes and workers."""

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
    _make_database(cluster, folder, passwords)
    owner, application, worker = (cluster.address(role, passwords[role], "chamberlain") for role in ROLES)
    with filled(Addresses(owner=owner, application=application, worker=worker), folder) as outside:
        services = tuple(outside.ready_service("--no-worker") for _ in range(number))
        workers = tuple(outside.start_worker() for _ in range(number))
        for each in workers:
            wait_until(lambda each=each: "The worker is running." in each.said(), 60, each.said)  # type: ignore[misc]
        yield Installation(outside, services, workers)


def _make_database(cluster: Cluster, folder: Path, passwords: dict[str, str]) -> None:
    """Roles and database, by the script that makes them everywhere (deploy/compose)."""
    leader = cluster.leader()
    if leader is None:
        raise CannotTry("No node leads.")
    secrets_folder = folder / "secrets"
    secrets_folder.mkdir(mode=0o700)
    for role, password in passwords.items():
        (secrets_folder / f"{role.removeprefix('chamberlain_')}-password").write_text(password)
    place = {"PGHOST": "127.0.0.1", "PGPORT": str(leader.port), "PGPASSWORD": cluster.password}
    subprocess.run(
        [MAKE_ROLES], check=True, env={**os.environ, **place, "SECRETS": str(secrets_folder)}, stdout=sys.stderr
    )
