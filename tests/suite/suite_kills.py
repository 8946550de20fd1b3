# SPDX-License-Identifier: Apache-2.0
"""Kill servers of a suite, or the worker, while requests create mailboxes and teams, and look at the result."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

import httpx2

from deploy.suite.connection import connect, environment_of
from deploy.suite.folder import Suite
from deploy.suite.processes import kill
from deploy.suite.servers import Starter
from tests.services import (
    ADA_MAIL,
    BEN,
    CLEO,
    COLLAB,
    TEAM_TEMPLATE,
    TLS,
    Outside,
    Process,
    Service,
    outside_database,
    wait_until,
)
from tests.suite.suite_inspection import REPLY, Findings, Wanted, inspect, read_rooms
from tests.suite.suite_requests import ADMINISTER, MAIL, SHARED

WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Load:
    """Requests for each kill, and the latest moment of the kill after their first job has begun, in seconds.

    A kill waits until `most_open` requests are open at most. A worker that is killed soon after its start would fall
    behind otherwise, and a job that is cut short 20 times is held.
    """

    mailboxes: int
    teams: int
    latest: float
    most_open: int = 1_000


# A mailbox takes about 0.1 s, a team 1 to 5 s.
_LOADS = {
    WORKER: Load(4, 1, 2.0, most_open=10),
    "slapd": Load(4, 0, 0.3),
    "dovecot": Load(4, 0, 0.3),
    "synapse": Load(0, 1, 3.0),
}
# A look costs processor time that the servers need.
_LOOK_SECONDS = 0.05
# Retries wait up to a minute, and a lock of Dovecot up to two.
_DONE_WITHIN = 600.0
_BEGUN_WITHIN = 180.0
_FINAL = frozenset({"succeeded", "failed", "rejected", "cancelled", "expired"})
_LEASES = """
SELECT array_agg(DISTINCT lease_id) FROM chamberlain.job
WHERE lease_until > now() AND kind IN ('mailboxProvision', 'groupProvision')
"""
_OPEN = "SELECT count(*) FROM chamberlain.job WHERE kind IN ('mailboxProvision', 'groupProvision')"
_HELD = """
SELECT array_agg(held_reason) FROM chamberlain.job
WHERE held_reason IS NOT NULL AND kind IN ('mailboxProvision', 'groupProvision')
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Created objects, and what is wrong with them.

    `amid` counts the kills while a worker had a job. `not_done` has the state of each request that has not succeeded.
    """

    kills: Mapping[str, int]
    amid: Mapping[str, int]
    mailboxes: int
    teams: int
    not_done: list[str]
    findings: Findings

    @property
    def is_good(self) -> bool:
        """Return whether each request has succeeded, and nothing is lost, double or incomplete."""
        found = self.findings
        return not (self.not_done or found.lost or found.double or found.incomplete)


def kill_while_creating(
    suite: Suite, starter: Starter, kills: Mapping[str, int], *, seed: int = 1, say: Callable[[str], None] = print
) -> Outcome:
    """Create objects, kill each part as often, and return what became of the objects. Reports progress by `say`."""
    with running_suite(suite, starter, seed) as running:
        for part, count in kills.items():
            for _ in range(count):
                running.kill_amid(part)
            say(f"{count} kills of {part}, {running.amid[part]} of them while the worker had a job")
        not_done = running.wait_for_ends()
        say(f"{len(running.wanted) - len(not_done)} of {len(running.wanted)} requests have succeeded")
        for reason in running.held():
            say(f"A job is held: {reason}")
        teams = sum(each.is_team for each in running.wanted)
        return Outcome(kills, running.amid, len(running.wanted) - teams, teams, not_done, running.inspect())


@contextmanager
def running_suite(suite: Suite, starter: Starter, seed: int = 1) -> Iterator["RunningSuite"]:
    """A service with a worker of its own, on a suite."""
    rooms_before = frozenset(room.id for room in read_rooms(suite))
    with outside_database() as outside:
        outside.environment = {**outside.environment, **environment_of(suite)}
        service = outside.ready_service("--no-worker")
        found = connect(suite, service.url, service.token(ADA_MAIL, ADMINISTER))
        assert found["state"] == "ready", found
        dice = random.Random(seed)  # noqa: S311  Not for secrets.
        yield RunningSuite(suite, starter, outside, service, outside.start_worker(), dice, rooms_before)


@dataclass(slots=True)
class RunningSuite:
    """A service with a worker of its own, on a suite."""

    suite: Suite
    starter: Starter
    outside: Outside
    service: Service
    worker: Process
    dice: random.Random
    rooms_before: frozenset[str]
    wanted: list[Wanted] = field(default_factory=list)
    amid: Counter[str] = field(default_factory=Counter)

    def kill_amid(self, part: str) -> None:
        """Send requests, kill a part at a random moment of their creation, and start it again."""
        load = _LOADS[part]
        _wait_until(lambda: cast("int", self.outside.value(_OPEN)) <= load.most_open, _DONE_WITHIN, self.worker)
        before = self._leases()
        with ThreadPoolExecutor(max_workers=1) as beside:
            sent = beside.submit(self.send, load.mailboxes, load.teams)
            _wait_until(lambda: bool(self._leases() - before), _BEGUN_WITHIN, self.worker)
            threading.Event().wait(self.dice.uniform(0, load.latest))
            self.amid[part] += bool(self._leases() - before)
            if part == WORKER:
                self.worker.kill()
                self.worker = self.outside.start_worker()
            else:
                kill(self.suite, part)
                self.starter.one(part)
            sent.result()

    def wait_for_ends(self) -> list[str]:
        """Wait until each request has ended. Return those that have not succeeded, with their states."""
        left = {each.request_id: "queued" for each in self.wanted}

        def are_ended() -> bool:
            for request_id in [each for each, state in left.items() if state not in _FINAL]:
                left[request_id] = str(self.service.request(request_id)["state"])
                if left[request_id] not in _FINAL:
                    # A held job ends by hand only.
                    return bool(self.held())
            return True

        _wait_until(are_ended, _DONE_WITHIN, self.worker)
        return [f"{request_id}: {state}" for request_id, state in left.items() if state != "succeeded"]

    def held(self) -> list[str]:
        """Return why jobs are held."""
        return cast("list[str] | None", self.outside.value(_HELD)) or []

    def send(self, mailboxes: int, teams: int) -> None:
        """Send requests for mailboxes and teams."""
        for _ in range(mailboxes):
            self._post("/mail/v1/mailboxes/", MAIL, _mailbox())
        for _ in range(teams):
            self._post("/collab/v1/groups/", COLLAB, _team())

    def inspect(self) -> Findings:
        """Inspect all requested objects."""
        return inspect(self.suite, self.wanted, self.rooms_before)

    def _post(self, path: str, scope: str, body: dict[str, object]) -> None:
        url, headers = f"{self.service.url}{path}", self.service.headers(ADA_MAIL, scope)
        answer = httpx2.post(url, json=body, headers=headers, timeout=60, verify=TLS)
        assert answer.is_success, answer.text
        request_id, name = str(answer.json()["requestId"]), str(body["displayName"])
        self.wanted.append(Wanted(request_id, name, is_team=scope == COLLAB))

    def _leases(self) -> set[object]:
        """Leases of workers that are at work, and of those that are killed."""
        return set(cast("list[object] | None", self.outside.value(_LEASES)) or [])


def _wait_until(met: Callable[[], bool], within: float, worker: Process) -> None:
    def look() -> bool:
        found = met()
        if not found:
            threading.Event().wait(_LOOK_SECONDS)
        return found

    wait_until(look, within, worker.said)


def _mailbox() -> dict[str, object]:
    name = _new_name()
    return {
        "name": name,
        "displayName": name,
        "templateId": SHARED,
        "permissions": {BEN: "FullAccess", CLEO: "SendAs"},
        "autoMapping": True,
        "automaticReply": REPLY,
    }


def _team() -> dict[str, object]:
    return {"displayName": _new_name(), "templateId": TEAM_TEMPLATE, "members": [BEN]}


def _new_name() -> str:
    return f"Killed {uuid4().hex[:12]}"
