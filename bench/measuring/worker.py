"""A worker in a process of its own, on the embedded database of a service that runs without one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.measuring.database import database_of
from tests.services import Service, data_folder


@contextmanager
def worker_of(service: Service) -> Iterator[int]:
    """Work on the service's queue for as long as the block runs; gives the number of the process."""
    database = database_of(service)
    environment = {
        "CHAMBERLAIN_DATABASE_URL": database.application,
        "CHAMBERLAIN_DATABASE_WORKER_URL": database.worker,
    }
    with data_folder() as folder:
        command = [sys.executable, "-m", "chamberlain", "worker", "--data-dir", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment}) as process:
            try:
                yield process.pid
            finally:
                process.terminate()
