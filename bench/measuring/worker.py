# SPDX-License-Identifier: Apache-2.0
"""A worker in a process of its own, on the embedded database of a service that runs without one."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.measuring.database import database_of
from bench.measuring.services import folder_on_disk
from tests.services import Service, start_process


@contextmanager
def worker_of(service: Service) -> Iterator[int]:
    """Work on the service's queue for as long as the block runs; gives the number of the process."""
    database = database_of(service)
    environment = {
        "CHAMBERLAIN_DATABASE_URL": database.application,
        "CHAMBERLAIN_DATABASE_WORKER_URL": database.worker,
    }
    with folder_on_disk() as folder:
        log = folder / "log.txt"
        worker = start_process("worker", "--data-dir", str(folder), log=log, environment=environment)
        try:
            yield worker.process.pid
        finally:
            worker.stop()
