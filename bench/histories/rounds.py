# SPDX-License-Identifier: Apache-2.0
"""One round: clients call, a fault happens, all work ends, and the checker judges the history."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bench.histories.checker import check
from bench.histories.clients import PAUSE, PEOPLE, Clients, open_http, sign_in
from bench.histories.faults import FAULTS, Rig
from bench.histories.final import is_ended, list_requests, newest_request, newest_row, read_feed, read_final
from bench.histories.records import Assignment, Decision, History, Outcome, Submission, Verb, Violation
from bench.histories.subjects import SUBJECTS, Prepared
from tests.services import ADA_MAIL

# Clients of each kind that call at the same time; writers for each group or site.
SUBMITTERS, WRITERS = 4, 2
# Page sizes of the readers, so that their pages end at different events.
READERS = {"reader of three": 3, "reader of 17": 17, "reader of 200": 200}
# Acknowledged submissions before the fault, and after it.
BEFORE, AFTER = 20, 20
# Seconds until the fault happens after those: it may hit any moment.
LONGEST_MOMENT = 1.0
# Seconds for the recovery and the rest of the work: leases last for 10 s, and the machine may be busy.
DONE_WITHIN = 90.0


@dataclass(frozen=True, slots=True)
class Result:
    """Figures of a round, and the promises that it broke."""

    seed: int
    fault: str
    seconds: float
    history: History
    refusals: Counter[str]
    violations: Sequence[Violation]

    def __str__(self) -> str:
        history = self.history
        events = sum(len(page.events) for page in history.pages)
        return (
            f"seed {self.seed}, {self.fault}: {_told('submissions', history.submissions)}, "
            f"{_told('decisions', history.decisions)}, {_told('assignments', history.assignments)}, "
            f"{len(history.readings)} readings, {events} events in {len(history.pages)} pages, "
            f"{self.seconds:.1f} s: {len(self.violations)} violations"
        )


@dataclass(slots=True)
class Rounds:
    """Rounds one after the other on one installation. `cursor` is where the feed ended after the last one."""

    rig: Rig
    prepared: Prepared
    cursor: str | None = None

    def run(self, seed: int, fault: str) -> Result:
        """Run one round. Its seed decides what clients do, which process the fault hits, and for how long."""
        return asyncio.run(self._run(seed, fault))

    async def _run(self, seed: int, fault: str) -> Result:
        begin = time.monotonic()
        self.rig.random.seed(seed)
        site = await asyncio.to_thread(sign_in, self.rig.services, self.prepared.approved_template)
        async with open_http() as http:
            chance = Random(seed)  # noqa: S311 - a round is to be repeated, not to be secret.
            clients = Clients(site, http, chance, f"History {seed}", SUBJECTS, self.cursor)
            if clients.cursor is None:
                _, clients.cursor = await read_feed(clients)
            since_request, since_row = await newest_request(clients), await newest_row(clients)
            for subject in SUBJECTS:
                value, _ = await clients.read_subject(subject)
                clients.history.assigned[subject.name] = str(value)
            await self._call_during(clients, fault)
            final, self.cursor = await read_final(clients, since_request, since_row)
        violations = check(clients.history, final)
        return Result(seed, fault, time.monotonic() - begin, clients.history, clients.refusals, violations)

    async def _call_during(self, clients: Clients, fault: str) -> None:
        """Let clients call before, during and after the fault, and wait for the end of all work."""
        since = await newest_request(clients)
        async with asyncio.TaskGroup() as tasks:
            calling = [tasks.create_task(clients.submit()) for _ in range(SUBMITTERS)]
            calling += [tasks.create_task(clients.approve(person)) for person in PEOPLE[1:]]
            for subject in SUBJECTS:
                current = clients.history.assigned[subject.name]
                values = [each for each in self.prepared.values if ".".join(each) != current]
                clients.random.shuffle(values)
                for writer in range(WRITERS):
                    calling.append(tasks.create_task(clients.assign(subject, values[writer::WRITERS])))
            for reader, limit in READERS.items():
                tasks.create_task(clients.follow(reader, limit))
            await _wait_for_more(clients, BEFORE)
            await asyncio.sleep(clients.random.uniform(0, LONGEST_MOMENT))
            await asyncio.to_thread(FAULTS[fault], self.rig)
            await _wait_for_more(clients, AFTER)
            clients.stopping = True
            await asyncio.wait(calling)
            await _end_all(clients, since)
            clients.is_quiet = True


async def _wait_for_more(clients: Clients, number: int) -> None:
    enough = _acknowledged(clients.history) + number
    async with asyncio.timeout(DONE_WITHIN):
        while _acknowledged(clients.history) < enough:  # noqa: ASYNC110 (the clients have no event for it)
            await asyncio.sleep(PAUSE)


async def _end_all(clients: Clients, since: str | None) -> None:
    """Cancel all requests that wait for approval, and wait for the end of the others; the checker finds the rest."""
    end = time.monotonic() + DONE_WITHIN
    while time.monotonic() < end:
        left = [each for each in await list_requests(clients, since) if not is_ended(each["state"])]
        if not left:
            return
        for each in left:
            if each["state"] == "pendingApproval":
                await clients.decide(each["requestId"], ADA_MAIL, Verb.CANCEL)
        await asyncio.sleep(4 * PAUSE)


def _acknowledged(history: History) -> int:
    return sum(each.call.outcome is Outcome.OK for each in history.submissions)


def _told(kind: str, made: Sequence[Submission] | Sequence[Decision] | Sequence[Assignment]) -> str:
    outcomes = Counter(each.call.outcome for each in made)
    return f"{len(made)} {kind} ({outcomes[Outcome.OK]} ok, {outcomes[Outcome.UNKNOWN]} unknown)"
