# SPDX-License-Identifier: Apache-2.0
"""Kill servers of a suite, or the worker, while requests create mailboxes and teams, and look at the result."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2

from deploy.suite.connection import connect, environment_of
from deploy.suite.folder import Suite
from deploy.suite.processes import kill
from deploy.suite.servers import Starter
from tests.services import ADA_MAIL, BEN, CLEO, TEAM_TEMPLATE, TLS, Outside, Service, outside_database
from tests.suite.matrix_client import MatrixClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import ADMINISTER, MAIL, SHARED

WORKER = "worker"
# Requests for each kill. Teams take seconds, mailboxes fractions of one.
MAILBOXES, TEAMS = 4, 1
CHANNELS = frozenset({"General", "Planning"})
# Seconds until a kill, at random, so that it meets each step of a creation.
_LATEST = 1.5
# Retries wait a minute at most after a server was away.
_DONE_WITHIN = 600.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Created objects, and ids of requests whose objects are lost, double or incomplete."""

    kills: int
    mailboxes: int
    teams: int
    lost: list[str] = field(default_factory=list)
    double: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Return whether nothing is lost, double or incomplete."""
        return not (self.lost or self.double or self.incomplete)


@dataclass(slots=True)
class Killing:
    """A service with a worker of its own, on a suite."""

    suite: Suite
    starter: Starter
    outside: Outside
    service: Service
    worker: Any
    dice: random.Random

    def kill(self, part: str) -> None:
        """Kill a part at a random moment, and start it again."""
        threading.Event().wait(self.dice.uniform(0, _LATEST))
        if part == WORKER:
            self.worker.kill()
            self.worker = self.outside.start_worker()
        else:
            kill(self.suite, part)
            self.starter.one(part)


def kill_while_creating(
    suite: Suite, starter: Starter, part: str, kills: int, *, seed: int = 1, say: Callable[[str], None] = print
) -> Outcome:
    """Create objects, kill a part as often, and return what became of the objects. Reports progress by `say`."""
    mailboxes: list[str] = []
    teams: list[str] = []
    with _killing(suite, starter, seed) as killing, ThreadPoolExecutor(max_workers=1) as beside:
        for number in range(kills):
            # Dovecot and slapd are killed among mailboxes, Synapse among teams, the worker among both.
            wanted_mailboxes = 0 if part == "synapse" else MAILBOXES
            wanted_teams = TEAMS if part in {"synapse", WORKER} else 0
            sent = beside.submit(_send, killing.service, wanted_mailboxes, wanted_teams)
            killing.kill(part)
            found = sent.result()
            mailboxes += found[0]
            teams += found[1]
            if (number + 1) % 10 == 0:
                say(f"{number + 1} kills of {part}, {len(mailboxes)} mailboxes, {len(teams)} teams")
        for request_id in (*mailboxes, *teams):
            killing.service.wait_for_end(request_id, _DONE_WITHIN)
    return _looked_at(suite, kills, mailboxes, teams)


@contextmanager
def _killing(suite: Suite, starter: Starter, seed: int) -> Iterator[Killing]:
    with outside_database() as outside:
        outside.environment = {**outside.environment, **environment_of(suite)}
        service = outside.ready_service("--no-worker")
        found = connect(suite, service.url, service.token(ADA_MAIL, ADMINISTER))
        assert found["state"] == "ready", found
        yield Killing(suite, starter, outside, service, outside.start_worker(), random.Random(seed))  # noqa: S311  Not for secrets.


def _send(service: Service, mailboxes: int, teams: int) -> tuple[list[str], list[str]]:
    made = [_post(service, "/mail/v1/mailboxes/", MAIL, _mailbox()) for _ in range(mailboxes)]
    grown = [service.post_group(_team()).json()["requestId"] for _ in range(teams)]
    return made, [str(each) for each in grown]


def _post(service: Service, path: str, scope: str, body: dict[str, object]) -> str:
    answer = httpx2.post(
        f"{service.url}{path}", json=body, headers=service.headers(ADA_MAIL, scope), timeout=60, verify=TLS
    )
    assert answer.is_success, answer.text
    return str(answer.json()["requestId"])


def _mailbox() -> dict[str, object]:
    name = f"Killed {uuid4().hex[:12]}"
    permissions = {BEN: "FullAccess", CLEO: "SendAs"}
    return {
        "name": name,
        "displayName": name,
        "templateId": SHARED,
        "permissions": permissions,
        "autoMapping": True,
        "automaticReply": "Thank you.",
    }


def _team() -> dict[str, object]:
    return {"displayName": f"Killed {uuid4().hex[:12]}", "templateId": TEAM_TEMPLATE, "members": [BEN]}


def _looked_at(suite: Suite, kills: int, mailboxes: list[str], teams: list[str]) -> Outcome:
    outcome = Outcome(kills, len(mailboxes), len(teams))
    ben = MatrixClient.sign_in(suite, "ben") if teams else None
    with SuiteDirectory(suite) as directory:
        entries = directory.find(
            "(chamberlainRequestId=*)", "chamberlainRequestId", "chamberlainFullAccess", "chamberlainRoom"
        )
    by_request = {entry["chamberlainRequestId"][0]: entry for entry in entries}
    counts = Counter(entry["chamberlainRequestId"][0] for entry in entries)
    for request_id in (*mailboxes, *teams):
        if not counts[request_id]:
            outcome.lost.append(request_id)
        elif counts[request_id] > 1:
            outcome.double.append(request_id)
    for request_id in mailboxes:
        if request_id in by_request and "chamberlainFullAccess" not in by_request[request_id]:
            outcome.incomplete.append(request_id)
    for request_id in teams:
        if request_id in by_request and not _is_whole(ben, by_request[request_id].get("chamberlainRoom", [""])[0]):
            outcome.incomplete.append(request_id)
    return outcome


def _is_whole(member: MatrixClient | None, space: str) -> bool:
    """Return whether a team has its space and channels, and its member is in all of them."""
    if member is None or not space or space not in member.rooms():
        return False
    rooms = member.hierarchy(space)
    channels = [name for room, name in rooms.items() if room != space]
    return sorted(channels) == sorted(CHANNELS) and set(rooms) <= member.rooms()
