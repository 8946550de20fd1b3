# SPDX-License-Identifier: Apache-2.0
"""Do two API processes on one database take more than one?

The same 64 connections for one process, and 32 for each of two. No worker runs. bench/README.md says what the columns
mean.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from bench.measuring.arguments import read_arguments
from bench.measuring.beside import run_beside
from bench.measuring.database import Measured, database_of
from bench.measuring.processor import seconds_used
from bench.measuring.report import Row, report
from bench.measuring.run import check_number, run_number
from bench.measuring.services import folder_on_disk, running_service
from bench.submit_group import QUESTION
from tests.services import Service, start_service

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f", "cpu": ".0f"}
CONNECTIONS = 64
ACCEPTED = "SELECT count(*) FROM chamberlain.request"

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "seconds": 1}, rounds=3, seconds=2)
    rounds: Rounds = defaultdict(list)
    with running_service(options=("--no-worker",)) as first, _second_process(first) as second:
        database = database_of(first)
        _measure(database, [first, second], 2)
        for _ in range(asked.rounds):
            one = _measure(database, [first], asked.seconds)
            two = _measure(database, [first, second], asked.seconds)
            rounds["one process"].append({**one, "ratio": 1.0})
            rounds["two processes"].append({**two, "ratio": two["rate"] / one["rate"]})
    report("processes", [Row(*each) for each in rounds.items()], columns=COLUMNS)


@contextlib.contextmanager
def _second_process(first: Service) -> Iterator[Service]:
    """Another process of the service on the database of the first one. The keys have to be the same."""
    database = database_of(first)
    environment = {
        "CHAMBERLAIN_DATABASE_URL": database.application,
        "CHAMBERLAIN_DATABASE_WORKER_URL": database.worker,
        "CHAMBERLAIN_KEYS_FILE": str(first.data_dir / "keys"),
    }
    with folder_on_disk() as folder:
        service = start_service(folder, options=("--no-worker",), environment=environment)
        try:
            service.wait_until_ready()
            yield service
        finally:
            service.stop()


def _measure(database: Measured, services: Sequence[Service], seconds: int) -> dict[str, float]:
    """Measure the processes together; PostgreSQL is a child of the first."""
    processes = [each.process.pid for each in services]
    loads = [(QUESTION.load(each, each.url, next(run_number)), CONNECTIONS // len(services)) for each in services]
    accepted_before, used_before = database.count(ACCEPTED), seconds_used(processes)
    answered = run_beside(loads, seconds=seconds)
    requests = sum(each.requests for each in answered)
    figures = {
        "rate": sum(each.rate for each in answered),
        "p50": max(each.p50 for each in answered),
        "p99": max(each.p99 for each in answered),
        "cpu": 1e6 * (seconds_used(processes) - used_before) / requests,
    }
    check_number(requests, database.count(ACCEPTED) - accepted_before, CONNECTIONS)
    return figures


if __name__ == "__main__":
    main()
