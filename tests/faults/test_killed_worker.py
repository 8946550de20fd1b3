# SPDX-License-Identifier: Apache-2.0
"""Workers are killed in the middle of their work: each group comes about exactly once, and none is lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import cast

import pytest

from tests.faults.load import Load
from tests.services import Outside, Process, outside_database, wait_until

# A killed worker's leases last for ten seconds; a full machine takes its time for the rest.
DONE_WITHIN = 90.0
LEASES = """
SELECT array_agg(DISTINCT lease_id) FROM chamberlain.job WHERE lease_until > now() AND kind = 'groupProvision'
"""
# The database's work for workers, except waits.
AT_WORK = """
SELECT count(*) FROM pg_stat_activity
WHERE application_name = 'chamberlain worker' AND state = 'active'
    AND coalesce(wait_event_type, '') NOT IN ('Client', 'Lock')
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("queued", "kills"),
    [
        pytest.param(200, 1, id="200 groups and more, one kill", marks=pytest.mark.heavy),
        pytest.param(5_000, 5, id="5,000 groups and more, five kills", marks=pytest.mark.heavy),
    ],
)
def test_it_works_through_the_queue(queued: int, kills: int) -> None:
    with outside_database() as outside, ThreadPoolExecutor(max_workers=1) as beside:
        service = outside.ready_service("--no-worker")
        load = Load([service])
        load.run(queued)
        # A worker that always finds more to do is always in the middle of something.
        killed = Event()
        queueing = beside.submit(load.run, 20 * queued, killed.is_set)
        try:
            for kill in range(1, kills + 1):
                worker = outside.start_worker()
                reach(outside, kill * queued // (kills + 1))
                kill_with_a_lease(outside, worker)
        finally:
            killed.set()
            queueing.result(timeout=60)
        outside.start_worker()
        reach(outside, len(load.accepted))

        assert (load.refused, load.unanswered) == ([], 0)
        assert service.provisioned() == Counter(load.accepted)
        assert load.violations(outside.addresses.worker) == []
        assert outside.value("SELECT count(*) FROM chamberlain.job WHERE kind = 'groupProvision'") == 0


def kill_with_a_lease(outside: Outside, worker: Process) -> None:
    """Kill a worker while it has jobs: it is held still again and again until it has some."""
    others = leases(outside)

    def has_jobs() -> bool:
        worker.pause()
        # The database finishes its statements, and they change nothing any more.
        wait_until(lambda: outside.value(AT_WORK) == 0, DONE_WITHIN)
        if leases(outside) - others:
            return True
        worker.resume()
        return False

    wait_until(has_jobs, DONE_WITHIN, worker.said)
    worker.kill()


def leases(outside: Outside) -> set[object]:
    """Those of workers that are at work, and of those that are killed."""
    return set(cast("list[object] | None", outside.value(LEASES)) or [])


def succeeded(outside: Outside) -> int:
    """How many requests are through."""
    return int(str(outside.value("SELECT count(*) FROM chamberlain.request WHERE state = 'succeeded'")))


def reach(outside: Outside, number: int) -> None:
    """Wait until so many requests are through."""
    wait_until(lambda: succeeded(outside) >= number, DONE_WITHIN, lambda: f"{succeeded(outside)} are through.")
