"""How many groups can be asked for each second, and how many come about beside that?

In each round, at 1, 16 and 64 connections, in turn: pgbench with one transaction a request and the same rows, the
service without a worker, the service with the worker in its process, and with a worker in a process of its own. The
cores are shared by the load, the API, the worker and PostgreSQL. bench/README.md says what the columns mean.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from bench.measuring.database import Measured, database_of
from bench.measuring.limit import Limit, prepare_limit, run_limit
from bench.measuring.load import Load, run_load
from bench.measuring.processor import seconds_used
from bench.measuring.report import Row, report
from bench.measuring.worker import worker_of
from tests.services import GROUP_TEMPLATE, Service, running_service

HERE = Path(__file__).resolve().parent
CONNECTIONS = (1, 16, 64)
LIMIT = Limit(HERE / "submit_group.tables.sql", HERE / "submit_group.limit.sql")

# Groups that can be found by their request, and requests whose group cannot be found yet.
SHOWN = "SELECT count(*) FROM directory.extension_values WHERE member = 'requestId'"
UNFINISHED = "SELECT count(*) FROM chamberlain.job WHERE kind = 'groupProvision'"
LAST = """
SELECT array_agg(request_id::text)
FROM (SELECT request_id FROM chamberlain.request ORDER BY created_at DESC LIMIT 20) AS last
"""
# A queue that is not empty after this time is a fault, not a backlog.
DRAINED_WITHIN = 300.0

run_number = count(1)


@dataclass(frozen=True, slots=True)
class Contestant:
    """A running service and how its worker runs. `processes` are ours; PostgreSQL is a child of the first."""

    name: str
    service: Service
    database: Measured
    processes: Sequence[int]
    has_worker: bool = True

    def load(self) -> Load:
        """Groups with names that no other run uses."""
        token = self.service.headers()["authorization"].removeprefix("Bearer ")
        environment = {"BENCH_TOKEN": token, "BENCH_TEMPLATE": GROUP_TEMPLATE, "BENCH_RUN": str(next(run_number))}
        return Load(HERE / "submit_group.lua", self.service.url, environment)


def main() -> None:
    """Measure and report."""
    asked = _arguments()
    rounds: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    with contestants() as all_of_them:
        limit_database = all_of_them[0].database
        prepare_limit(LIMIT, limit_database)
        _warm_up(all_of_them, limit_database)
        for _ in range(asked.rounds):
            for connections in asked.connections:
                limit = measure_limit(all_of_them[0], connections=connections, seconds=asked.seconds)
                rounds[f"pgbench, {connections}"].append(limit)
                for contestant in all_of_them:
                    figures = measure(contestant, connections=connections, seconds=asked.seconds)
                    figures["ratio"] = figures["rate"] / limit["rate"]
                    if "made" in figures:
                        figures["made ratio"] = figures["made"] / limit["rate"]
                    rounds[f"{contestant.name}, {connections}"].append(figures)
    rows = [Row(name, figures) for name, figures in sorted(rounds.items(), key=_by_connections)]
    columns = {"ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f"}
    report("submit_group", rows, columns=columns | {"cpu": ".0f", "made": ",.0f", "made ratio": ".2f", "drain": ".1f"})


def measure_limit(contestant: Contestant, *, connections: int, seconds: int) -> dict[str, float]:
    """One run of pgbench on the database of this contestant."""
    used_before = seconds_used(contestant.processes)
    reached = run_limit(LIMIT, contestant.database, connections=connections, seconds=seconds)
    used = seconds_used(contestant.processes) - used_before
    return {"rate": reached.rate, "ratio": 1.0, "cpu": 1e6 * used / (reached.rate * seconds)}


def measure(contestant: Contestant, *, connections: int, seconds: int) -> dict[str, float]:
    """One run: submissions, and what the directory shows meanwhile and when the queue is empty."""
    shown_before = contestant.database.count(SHOWN)
    used_before = seconds_used(contestant.processes)
    began = time.monotonic()
    answered = run_load(contestant.load(), connections=connections, seconds=seconds)
    ended = time.monotonic()
    figures = {"rate": answered.rate, "p50": answered.p50, "p99": answered.p99}
    if contestant.has_worker:
        shown = contestant.database.count(SHOWN) - shown_before
        figures["made"] = shown / (ended - began)
        _wait_until_drained(contestant.database)
        figures["drain"] = time.monotonic() - ended
        made = contestant.database.count(SHOWN) - shown_before
        # A request that was under way when wrk left is made all the same.
        assert answered.requests <= made <= answered.requests + connections, (answered.requests, made)
    figures["cpu"] = 1e6 * (seconds_used(contestant.processes) - used_before) / answered.requests
    return figures


@contextmanager
def contestants() -> Iterator[Sequence[Contestant]]:
    """Three services with the example estate, each with its own embedded database; who is not measured is idle."""
    with ExitStack() as stack:
        together = stack.enter_context(running_service())
        apart = stack.enter_context(running_service(options=("--no-worker",)))
        worker = stack.enter_context(worker_of(apart))
        alone = stack.enter_context(running_service(options=("--no-worker",)))
        yield (
            Contestant("no worker", alone, database_of(alone), [alone.process.pid], has_worker=False),
            Contestant("worker within", together, database_of(together), [together.process.pid]),
            Contestant("worker apart", apart, database_of(apart), [apart.process.pid, worker]),
        )


def _warm_up(all_of_them: Sequence[Contestant], limit_database: Measured) -> None:
    run_limit(LIMIT, limit_database, connections=64, seconds=1)
    for contestant in all_of_them:
        measure(contestant, connections=64, seconds=1)
        if contestant.has_worker:
            _check_retrievable(contestant)


def _check_retrievable(contestant: Contestant) -> None:
    """What is counted by SQL can be found over HTTP: the last few requests of a run, by their ids."""
    for request_id in contestant.database.texts(LAST):
        assert len(contestant.service.find_group(request_id)) == 1, request_id


def _wait_until_drained(database: Measured) -> None:
    end = time.monotonic() + DRAINED_WITHIN
    while database.count(UNFINISHED):
        if time.monotonic() > end:
            raise SystemExit(f"The queue is not empty after {DRAINED_WITHIN} s.")
        time.sleep(0.05)


def _by_connections(entry: tuple[str, object]) -> int:
    return int(entry[0].rpartition(" ")[2])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of two seconds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4, help="of each run")
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.seconds = 1, 2
    return asked


if __name__ == "__main__":
    main()
