# SPDX-License-Identifier: Apache-2.0
"""The victims: an API process, two workers, and a PostgreSQL that its supervisor starts again."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.measuring.services import folder_on_disk
from chamberlain.embedded import postgres
from tests.postgres import connected
from tests.services import Outside, Process, Service, filled, running_server, start_service, wait_until

STARTED_WITHIN = 60.0


@dataclass(slots=True)
class Installation:
    """The processes as they are now: one that was killed is followed by another one."""

    outside: Outside
    server: postgres.Server
    service: Service
    workers: list[Process] = field(default_factory=list)

    def start_service_again(self) -> None:
        """Start another API process in place of one that ended; it may still be starting."""
        self.service = self.start_again(self.service)

    def start_again(self, gone: Service) -> Service:
        """Start an API process with the data folder and port of one that ended."""
        service = start_service(
            gone.data_dir, port=gone.port, options=("--no-worker",), environment=self.outside.environment
        )
        self.outside.started.callback(service.kill)
        return service

    def add_worker(self) -> None:
        """One more worker, at work already."""
        worker = self.outside.start_worker()
        wait_until(lambda: "The worker is running." in worker.said(), STARTED_WITHIN, worker.said)
        self.workers.append(worker)


@contextmanager
def installed(*, workers: int, loses: bool = False) -> Iterator[Installation]:
    """Everything on a database of its own, for as long as the block runs. A database that `loses` does not wait for
    the disk when it commits."""
    with (
        folder_on_disk() as folder,
        running_server(folder / "postgres", None) as server,
        filled(server.addresses, folder) as outside,
    ):
        if loses:
            asyncio.run(_wait_for_no_disk(server))
        installation = Installation(outside, server, outside.ready_service("--no-worker"))
        for _ in range(workers):
            installation.add_worker()
        yield installation


async def _wait_for_no_disk(server: postgres.Server) -> None:
    async with connected(server.set_up_address) as connection:
        await connection.execute("ALTER DATABASE chamberlain SET synchronous_commit = off")
