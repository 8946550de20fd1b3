"""Workers are killed in the middle of their work: each group comes about exactly once, and none is lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.load import Load
from tests.services import Outside, outside_database, wait_until

# A killed worker's leases last for ten seconds; a full machine takes its time for the rest.
DONE_WITHIN = 90.0
LEASED = "SELECT count(*) FROM chamberlain.job WHERE lease_until > now() AND kind = 'groupProvision'"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("groups", "kills"),
    [
        pytest.param(1_000, 2, id="1,000 groups, two kills"),
        pytest.param(10_000, 5, id="10,000 groups, five kills", marks=pytest.mark.heavy),
    ],
)
def test_it_works_through_the_queue(groups: int, kills: int) -> None:
    with outside_database() as outside, ThreadPoolExecutor(max_workers=1) as beside:
        service = outside.ready_service("--no-worker")
        load = Load([service])
        # A worker that always finds more to do is always in the middle of something.
        load.run(groups // 2)
        queueing = beside.submit(load.run, groups - groups // 2)

        cut_short = 0
        for kill in range(1, kills + 1):
            worker = outside.start_worker()
            reach(outside, kill * groups // (2 * kills + 1))
            worker.kill()
            cut_short += int(str(outside.value(LEASED)))
        queueing.result()
        outside.start_worker()
        reach(outside, groups)

        assert cut_short > 0, "The kills hit nothing, and prove nothing."
        assert (len(load.accepted), load.refused, load.unanswered) == (groups, [], 0)
        assert service.provisioned() == Counter(load.accepted)
        assert outside.value("SELECT count(*) FROM chamberlain.job WHERE kind = 'groupProvision'") == 0


def succeeded(outside: Outside) -> int:
    """How many requests are through."""
    return int(str(outside.value("SELECT count(*) FROM chamberlain.request WHERE state = 'succeeded'")))


def reach(outside: Outside, number: int) -> None:
    """Wait until so many requests are through."""
    wait_until(lambda: succeeded(outside) >= number, DONE_WITHIN, lambda: f"{succeeded(outside)} are through.")
