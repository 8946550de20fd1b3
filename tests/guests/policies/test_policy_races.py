# SPDX-License-Identifier: Apache-2.0
"""A policy run against other transactions, at every statement of both.

There is no deadlock, and of an action and an answer one wins.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.audit.erasure import UserEraser
from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.errors import Conflict, Unavailable
from chamberlain.core.ids import PolicyId, UserId
from chamberlain.database.transactions import Database
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.guests.assignments.store import Assigner
from chamberlain.guests.findings.jobs import FindingJobs
from chamberlain.guests.findings.rules import AcceptanceRequest
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.models import FindingState
from chamberlain.guests.policies import store as policy_store
from chamberlain.guests.policies.jobs import PolicyJobs
from chamberlain.queue.models import Claim, JobKind
from tests.database.pause_injection import PausePoint, PausingDatabase, run_concurrently
from tests.estates import ADA, ESTATE, TRACE, Estate
from tests.guests.assignments.guest_fixture import YEARLY_REVIEW, FaultyGuests, GuestFixture, guest_fixture, make_due
from tests.guests.findings.finding_fixture import rendered
from tests.guests.policies.policy_runs import Runs, make_guests, new_group
from tests.requests.request_services import act, administrator

pytestmark = pytest.mark.heavy

POLICY = PolicyId(UUID("90110000-0000-4000-8000-0000000000f1"))
REVIEW = {"everyDays": 30, "answerDays": 10, "confirmedBy": "owners", "reminderDays": [3], "action": "disable"}
OPERATOR = Actor(ActorType.SYSTEM, None, "operator")
FINDING = "SELECT finding_id, state FROM chamberlain.finding WHERE subject_id = $1"
CLOCKS = "SELECT round, acted_at IS NOT NULL FROM chamberlain.policy_clock WHERE subject_id = $1"
AUDITED = """
SELECT CASE WHEN action = 'policy.act' THEN 'action' WHEN action LIKE 'finding.%' THEN 'answer' ELSE action END
FROM chamberlain.audit WHERE sequence > $1 ORDER BY sequence
"""
# None of them has more statements than that.
LATEST = 120

# Something that happens by this database.
Verb = Callable[[Database], Awaitable[object]]


@dataclass
class StaleGuests(FaultyGuests):
    """A directory that shows what it has shown before, as if nothing had happened since."""

    shown: ObservedSubject | None = None

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return [self.shown for _ in references]


@dataclass
class OpenReview:
    """A group of its own with one guest, whose review has opened on day 30; now it is another day."""

    runs: Runs
    guest: UserId
    finding_id: UUID
    claim: Claim
    shown: ObservedSubject
    # Long enough for the answer to come after the run on a busy machine.
    lock_timeout: timedelta = timedelta(minutes=1)

    @property
    def estate(self) -> Estate:
        return self.runs.guest_rules.estate

    def findings(self, database: Database) -> FindingService:
        return FindingService(
            database, self.estate.people, self.estate.authorization(), self.estate.now, self.lock_timeout
        )

    async def evaluate(self, database: Database) -> None:
        guest_rules = self.runs.guest_rules
        guests = StaleGuests(guest_rules.guests.guests, shown=self.shown)
        await PolicyJobs(database, guests, guest_rules.evaluate.new_id, self.estate.read_time).evaluate(self.claim)

    async def erase(self, database: Database) -> None:
        await UserEraser(database).erase(self.guest, ESTATE, actor=OPERATOR, trace_id=TRACE)

    async def accept(self, database: Database) -> object:
        wanted = AcceptanceRequest("They may stay.", None)
        service = self.findings(database)
        return await service.accept(administrator(ADA), self.finding_id, wanted, act(), render=rendered)

    async def confirm(self, database: Database) -> object:
        return await self.findings(database).confirm(administrator(ADA), self.finding_id, act(), rendered)

    async def reopen(self, database: Database) -> None:
        await make_due(self.estate)
        jobs = FindingJobs(database, self.estate.read_time)
        await jobs.reopen(await self.estate.claim(kinds=[JobKind.FINDING_REOPEN]))

    async def discover(self, database: Database) -> None:
        guest_rules = self.runs.guest_rules
        await make_due(self.estate)
        claim = await self.estate.claim(kinds=[JobKind.SUBJECT_DISCOVER])
        await replace(guest_rules.subject_jobs, database=database).discover(claim)

    async def reassign(self, database: Database) -> object:
        guest_rules = self.runs.guest_rules
        assignments = replace(guest_rules.assignments, assigner=Assigner(database))
        return await replace(guest_rules, assignments=assignments).assign(
            self.runs.group_id, policyId=str(YEARLY_REVIEW)
        )

    async def run_again(self) -> None:
        """As the next worker does."""
        await self.runs.guest_rules.evaluate.evaluate(await self.runs.claim())


async def open_review(guest_rules: GuestFixture, day: float, *, ran_on: Sequence[float] = (0, 30)) -> OpenReview:
    runs = await new_group(guest_rules)
    [guest] = await make_guests(runs, 1)
    await runs.join([guest])
    await guest_rules.assign(runs.group_id, policyId=str(POLICY))
    for each in ran_on:
        await runs.run(each)
    [[finding_id, _]] = await guest_rules.estate.rows(FINDING, runs.group_id)
    assert isinstance(finding_id, UUID)
    runs.set_day(day)
    return OpenReview(runs, guest, finding_id, await runs.claim(), await guest_rules.shown(runs.group_id))


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    guest_rules = guest_fixture(estate)
    await guest_rules.discover()
    await Runs(guest_rules).put_policy(POLICY, review=REVIEW)
    return guest_rules


async def run_with_pause(
    reviewed: OpenReview, pause_point: PausePoint, first: tuple[Database, Verb], second: tuple[Database, Verb]
) -> list[object]:
    """Run both; the first pauses at the pause point."""
    return await run_concurrently(
        reviewed.estate,
        pause_point,
        lambda: first[1](PausingDatabase(first[0], pause_point)),
        lambda: second[1](second[0]),
    )


# A run meets each of these; and each of these, stopped in the middle, meets a run.
Case = Callable[[OpenReview], Verb]
WORKERS: Sequence[tuple[str, Case]] = [
    ("erase", lambda reviewed: reviewed.erase),
    ("reopen", lambda reviewed: reviewed.reopen),
    ("discover", lambda reviewed: reviewed.discover),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_stopped", [False, True], ids=["the run is stopped", "the other is stopped"])
@pytest.mark.parametrize("other", [case for _, case in WORKERS], ids=[name for name, _ in WORKERS])
async def test_there_is_no_deadlock(guest_rules: GuestFixture, other: Case, *, is_stopped: bool) -> None:
    worker = guest_rules.estate.databases.worker
    for place in range(LATEST):
        # The reminder is due: the run writes the clock, the finding and an event.
        reviewed = await open_review(guest_rules, 37)
        verb = other(reviewed)
        await prepare(reviewed, verb)
        pause_point = PausePoint(place)
        pair = (
            [(worker, verb), (worker, reviewed.evaluate)]
            if is_stopped
            else [(worker, reviewed.evaluate), (worker, verb)]
        )

        came = await run_with_pause(reviewed, pause_point, *pair)

        assert came == [None, None], place
        if not pause_point.reached.is_set():
            return
    pytest.fail("It has more statements than that.")


async def prepare(reviewed: OpenReview, verb: Verb) -> None:
    """Let there be something to do for the other one."""
    if verb == reviewed.reopen:
        await reviewed.accept(reviewed.estate.databases.application)
        ends = "UPDATE chamberlain.finding SET accepted_until = $2 WHERE finding_id = $1"
        await reviewed.runs.execute(ends, reviewed.finding_id, reviewed.estate.moment - timedelta(hours=1))
        job = "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) VALUES ($1, 'findingReopen', $2, 'x')"
        await reviewed.runs.execute(job, ESTATE, reviewed.finding_id)
    if verb == reviewed.discover:
        await reviewed.runs.execute("DELETE FROM directory.groups WHERE id = $1", reviewed.runs.group_id)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_stopped", [False, True], ids=["the run is stopped", "the answer is stopped"])
@pytest.mark.parametrize("accepts", [False, True], ids=["confirm", "accept"])
async def test_an_answer_and_an_action_come_one_behind_the_other(
    guest_rules: GuestFixture, *, accepts: bool, is_stopped: bool
) -> None:
    databases = guest_rules.estate.databases
    ends: set[tuple[str, ...]] = set()
    for place in range(LATEST):
        # The time to answer is over: the account is disabled, unless an answer comes first.
        reviewed = await open_review(guest_rules, 41, ran_on=(0, 30, 37))
        [[last]] = await reviewed.estate.rows("SELECT max(sequence) FROM chamberlain.audit")
        pause_point = PausePoint(place)
        run: tuple[Database, Verb] = (databases.worker, reviewed.evaluate)
        answer: tuple[Database, Verb] = (databases.application, reviewed.accept if accepts else reviewed.confirm)

        came = await run_with_pause(reviewed, pause_point, *((answer, run) if is_stopped else (run, answer)))
        ran, answered = reversed(came) if is_stopped else came
        await reviewed.run_again()

        assert ran is None, place
        audited = await reviewed.estate.rows(AUDITED, last)
        happened = tuple([str(action) for [action] in audited])
        # Refused while the action is being taken; behind it an answer is late, and before it in time.
        assert ("answer" in happened) is not isinstance(answered, BaseException), (place, answered)
        assert isinstance(answered, Conflict) or "answer" in happened, (place, answered)
        assert (reviewed.guest in await reviewed.runs.disabled()) is ("action" in happened), place
        assert await shown(reviewed) == expected(happened, accepts=accepts), place
        ends.add(happened)
        if not pause_point.reached.is_set():
            break
    # Never an action behind an answer.
    assert {("answer",), ("action", "answer")} <= ends <= {("answer",), ("action", "answer"), ("action",)}


@pytest.mark.parametrize("accepts", [False, True], ids=["confirm", "accept"])
async def test_an_answer_does_not_wait_for_a_group_that_is_held_for_long(
    guest_rules: GuestFixture, *, accepts: bool
) -> None:
    """It has one of the few connections of all calls."""
    reviewed = replace(await open_review(guest_rules, 32), lock_timeout=timedelta(milliseconds=20))
    databases = reviewed.estate.databases
    async with databases.worker.across_tenants() as tx:
        await policy_store.lock(tx, [(ESTATE, reviewed.runs.group_id)])

        with pytest.raises(Unavailable) as refused:
            await (reviewed.accept if accepts else reviewed.confirm)(databases.application)

    assert refused.value.code == "overloaded"
    await (reviewed.accept if accepts else reviewed.confirm)(databases.application)


@pytest.mark.timeout(300)
async def test_a_policy_that_is_assigned_while_a_run_starts_is_run_from_then_on(guest_rules: GuestFixture) -> None:
    """The run waits for the group's row behind the assignment, and has to read the new state."""
    databases = guest_rules.estate.databases
    timers = "SELECT rule, policy_id FROM chamberlain.policy_clock WHERE subject_id = $1"
    for place in range(LATEST):
        reviewed = await open_review(guest_rules, 37)
        pause_point = PausePoint(place)

        came = await run_with_pause(
            reviewed, pause_point, (databases.application, reviewed.reassign), (databases.worker, reviewed.evaluate)
        )
        await reviewed.run_again()

        assert not [each for each in came if isinstance(each, BaseException)], (place, came)
        assert len(await reviewed.runs.jobs()) == 1, place
        assert await reviewed.estate.rows(timers, reviewed.runs.group_id) == [("review", YEARLY_REVIEW)], place
        if not pause_point.reached.is_set():
            return
    pytest.fail("It has more statements than that.")


async def shown(reviewed: OpenReview) -> tuple[object, ...]:
    """The state of the finding, the round of the clock, and whether it has acted."""
    [[_, state]] = await reviewed.estate.rows(FINDING, reviewed.runs.group_id)
    [[round_, has_acted]] = await reviewed.estate.rows(CLOCKS, reviewed.runs.group_id)
    return state, round_, has_acted


def expected(happened: Sequence[str], *, accepts: bool) -> tuple[object, ...]:
    if "answer" not in happened:
        return FindingState.OPEN, 1, True
    return (FindingState.ACCEPTED, 1, "action" in happened) if accepts else (FindingState.GONE, 2, False)
