# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL cuts connections in the middle of transactions, under load: who is hit hears it, and nothing is lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.faults.load import Load
from tests.services import WORKER_RUNNING, look_up, outside_database, wait_until

# Connections inside a transaction; idle ones have nothing to lose.
CUT = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE application_name = $1 AND (state <> 'idle' OR wait_event IS DISTINCT FROM 'ClientRead')
"""
# Of each kind of connection.
CUTS = 10
APPLICATION, WORKER = "chamberlain application", "chamberlain worker"


@pytest.mark.heavy
@pytest.mark.timeout(400)
def test_it_works() -> None:
    with outside_database() as outside, ThreadPoolExecutor(max_workers=1) as beside:
        service, worker = outside.ready_service("--no-worker"), outside.start_worker()
        wait_until(lambda: WORKER_RUNNING in worker.said(), within=20)
        load = Load([service])
        service.headers()
        finished = Event()
        loading = beside.submit(load.run, 1_000_000, finished.is_set)
        try:
            wait_until(lambda: len(load.accepted) >= 50, within=30)
            # A role may end its own connections.
            for name, address in ((APPLICATION, outside.addresses.application), (WORKER, outside.addresses.worker)):
                cut_connections(address, name, CUTS)
            since = len(load.accepted)
            wait_until(lambda: len(load.accepted) >= since + 50, within=30)
        finally:
            finished.set()
        loading.result(timeout=60)

        acknowledged = Counter(load.accepted)
        # The same worker retries jobs whose lease a cut has left, when the lease ends.
        wait_until(lambda: acknowledged <= service.provisioned(), within=40, otherwise=worker.said)
        assert set(service.provisioned().values()) == {1}
        address = outside.addresses.worker
        wait_until(lambda: not load.violations(address), 40, lambda: f"{load.violations(address)[:10]}")
        assert load.refused, "The cuts hit nobody who was waiting, and prove nothing."
        assert {refusal[:2] for refusal in load.refused} == {(503, "databaseUnavailable")}
        assert all(retry_after is not None and int(retry_after) >= 1 for _, _, retry_after in load.refused)
        assert load.unanswered == 0
        assert (worker.process.poll(), service.process.poll()) == (None, None)


def cut_connections(address: str, name: str, number: int) -> None:
    """Cut so many connections of one kind, each in the middle of something."""
    cut = 0

    def enough() -> bool:
        nonlocal cut
        cut += int(str(look_up(address, CUT, name)))
        return cut >= number

    # Each look is a connection of its own, which takes a second on a busy machine.
    wait_until(enough, within=120, otherwise=lambda: f"{cut} were cut.")
