# SPDX-License-Identifier: Apache-2.0
"""One round: calls before, during and after a clock fault, and what became of them.

Each call has an idempotency key and is repeated with it during the fault and after it. Retention runs each time.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from bench.clock_faults.fake_clock import FakeClock
from chamberlain.embedded.postgres.programs import find_programs
from tests.folders import data_folder
from tests.postgres import named_programs
from tests.services import GROUP_TEMPLATE, Outside, Process, Service, outside_database, run_command, wait_until

if TYPE_CHECKING:
    from pathlib import Path

MINUTE, HOUR, DAY = 60, 3_600, 86_400
OFFSETS: Mapping[str, int] = {
    f"{name} {direction}": sign * seconds
    for name, seconds in {"1 minute": MINUTE, "1 hour": HOUR, "8 days": 8 * DAY, "500 days": 500 * DAY}.items()
    for direction, sign in (("ahead", 1), ("behind", -1))
}
CALLS = 10
# Reports of a process about its clock, in the log or on standard error.
REPORT = "clock differs from the"
TABLES = ("request", "event", "idempotency_key")
SWEEP_NOW = """
UPDATE chamberlain.job SET run_at = now(), lease_until = NULL WHERE kind = 'retentionSweep' RETURNING job_id
"""
HAS_SWEPT = "SELECT run_at > now() FROM chamberlain.job WHERE kind = 'retentionSweep'"
WORKS_WITHIN = 40.0
# A worker without a clock check sweeps within its poll of two seconds.
SWEEPS_WITHIN = 6.0


class Target(StrEnum):
    """The process whose clock is wrong."""

    API = "api"
    WORKER = "worker"
    COMMAND = "command line"
    POSTGRESQL = "postgresql"


@dataclass(slots=True)
class Result:
    """The outcome of a round."""

    target: Target
    seconds: int
    is_reported: bool = False
    refused_during: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    duplicated: int = 0
    repeated: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether the process has reported the fault, and nothing was lost, removed or made twice."""
        return self.is_reported and not (self.removed.total() or self.lost or self.duplicated)


@dataclass(slots=True)
class Calls:
    """Calls with keys, and the requests that they were answered with."""

    result: Result

    # Every request that was ever acknowledged, by key: more than one for a key is a duplicate.
    acknowledged: dict[str, set[str]] = field(default_factory=dict)

    def send(self, service: Service, key: str) -> None:
        """Send a call; a key that was used is sent with the same body."""
        body = {"displayName": f"Clock {key}", "templateId": GROUP_TEMPLATE}
        answer = service.post_group(body, **{"Idempotency-Key": key})
        if answer.status_code != 202:
            self.result.refused_during += 1
            return
        known = self.acknowledged.setdefault(key, set())
        self.result.repeated += bool(known)
        known.add(answer.json()["requestId"])

    def send_all(self, service: Service, name: str) -> None:
        """Send new calls, and all that were sent before once more."""
        for key in [*self.acknowledged, *(f"{name}-{number}" for number in range(CALLS))]:
            self.send(service, key)

    def settle(self, made: Counter[str]) -> None:
        """Count what was lost and what was made twice."""
        self.result.duplicated = sum(len(each) - 1 for each in self.acknowledged.values())
        self.result.duplicated += sum(count - 1 for count in made.values())
        self.result.lost = sum(not any(each in made for each in known) for known in self.acknowledged.values())


@dataclass(slots=True)
class Estate:
    """The processes of a round. `right` has a right clock unless all of PostgreSQL's is wrong."""

    outside: Outside
    clock: FakeClock
    right: Service
    other: Service
    worker: Process
    target: Target

    def rows(self) -> Counter[str]:
        """Count the rows that retention could remove."""
        return Counter({table: self._count(table) for table in TABLES})

    def sweep(self, *, within: float) -> bool:
        """Have retention run; False when it did not in this time."""
        self.outside.value(SWEEP_NOW)
        try:
            wait_until(lambda: self.outside.value(HAS_SWEPT), within)
        except AssertionError:
            return False
        return True

    def reports(self) -> bool:
        """Whether the process with the wrong clock has reported it."""
        match self.target:
            case Target.API:
                return REPORT in self.other.said() and self.other.answers("/health/ready") == 503
            case Target.WORKER:
                return REPORT in self.worker.said()
            case Target.POSTGRESQL:
                return all(REPORT in each.said() for each in (self.right, self.worker))
            case Target.COMMAND:
                return self._command_reports()

    def _command_reports(self) -> bool:
        environment = {**os.environ, **self.outside.environment, **self.clock.environment}
        jobs = run_command("jobs", "list", environment=environment)
        return jobs.returncode == 0 and REPORT in jobs.stderr

    def _count(self, table: str) -> int:
        return int(str(self.outside.value(f"SELECT count(*) FROM chamberlain.{table}")))


@contextmanager
def estate_of(target: Target) -> Iterator[Estate]:
    """Start PostgreSQL, two API processes and a worker; one of them sees a clock that can be set."""
    with data_folder() as folder:
        clock = FakeClock.make(folder / "clock")
        programs: Path | None = None
        if target is Target.POSTGRESQL:
            programs = clock.wrap(find_programs(named_programs()), folder / "programs")
        with outside_database(programs) as outside:
            right = outside.ready_service("--no-worker")
            real = outside.environment
            faked = {**real, **clock.environment}
            outside.environment = faked if target is Target.API else real
            other = outside.ready_service("--no-worker")
            outside.environment = faked if target is Target.WORKER else real
            worker = outside.start_worker()
            outside.environment = real
            wait_until(lambda: "The worker is running." in worker.said(), 30, worker.said)
            yield Estate(outside, clock, right, other, worker, target)
            assert (worker.stop(), other.stop(), right.stop()) == (0, 0, 0)


def run_round(target: Target, seconds: int) -> Result:
    """Run one round with a clock that is wrong by so many seconds."""
    result = Result(target, seconds)
    with estate_of(target) as estate:
        calls = Calls(result)
        calls.send_all(estate.right, "before")
        wait_until(lambda: len(estate.right.provisioned()) >= CALLS, WORKS_WITHIN, estate.worker.said)
        before = estate.rows()

        estate.clock.set(seconds)
        result.is_reported = _waited(estate.reports)
        estate.sweep(within=SWEEPS_WITHIN)
        during = estate.rows()
        # A table that grows by the calls of the round does not hide what was removed before them.
        result.removed = before - during
        calls.send_all(estate.other, "during")
        if target is Target.API:
            # Its tokens end by its own clock: others take the same calls.
            calls.send_all(estate.right, "during")

        estate.clock.set(0)
        wait_until(lambda: estate.right.answers("/health/ready") == 200, WORKS_WITHIN)
        grown = estate.rows()
        assert estate.sweep(within=WORKS_WITHIN), estate.worker.said()
        result.removed += grown - estate.rows()
        calls.send_all(estate.right, "after")
        wanted = {each for known in calls.acknowledged.values() for each in known}
        _waited(lambda: wanted <= set(estate.right.provisioned()))
        calls.settle(estate.right.provisioned())
    return result


def _waited(met: Callable[[], bool]) -> bool:
    try:
        return wait_until(met, WORKS_WITHIN)
    except AssertionError:
        return False
