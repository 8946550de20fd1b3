# SPDX-License-Identifier: Apache-2.0
"""Workers stop while their jobs cannot go on: they release all of them, and end in time."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.load import Load
from tests.postgres import connected
from tests.services import WORKER_RUNNING, Outside, outside_database, wait_until

pytestmark = pytest.mark.heavy

LEASED = "SELECT count(*) FROM chamberlain.job WHERE lease_id IS NOT NULL AND kind = 'groupProvision'"
FREE = """
SELECT count(*) FROM chamberlain.job WHERE run_at <= now() AND attempts = 0 AND kind = 'groupProvision'
"""


@pytest.mark.parametrize(
    ("jobs", "workers"),
    [pytest.param(50, 1, id="50 jobs"), pytest.param(300, 2, id="300 jobs", marks=pytest.mark.heavy)],
)
def test_it_gives_back_what_is_running(jobs: int, workers: int) -> None:
    with outside_database() as outside:
        service = outside.ready_service("--no-worker")
        load = Load([service])
        load.run(jobs)
        with held_directory(outside):
            started = [outside.start_worker() for _ in range(workers)]
            # One of them may lease all jobs before the other one handles signals.
            for worker in started:
                wait_until(lambda each=worker: WORKER_RUNNING in each.said(), 20, worker.said)  # type: ignore[misc]
            wait_until(lambda: outside.value(LEASED) == jobs, within=20)

            begin = time.monotonic()
            for worker in started:
                worker.process.terminate()
            codes = [worker.stop() for worker in started]

            assert time.monotonic() - begin < 10
            assert codes == [0] * workers
            assert outside.value(LEASED) == 0
            assert outside.value(FREE) == jobs

        outside.start_worker()
        wait_until(lambda: service.provisioned() == Counter(load.accepted), within=20)


@contextmanager
def held_directory(outside: Outside) -> Iterator[None]:
    """Keep everybody from writing groups for as long as the block runs."""
    runner = asyncio.Runner()
    with runner:
        holding = connected(outside.addresses.owner)
        connection = runner.run(holding.__aenter__())
        try:
            runner.run(connection.execute("BEGIN; LOCK TABLE directory.groups IN SHARE MODE"))
            yield
        finally:
            runner.run(holding.__aexit__(None, None, None))
