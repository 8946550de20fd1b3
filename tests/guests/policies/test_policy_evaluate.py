# SPDX-License-Identifier: Apache-2.0
"""Runs of assigned policies: clocks go on, reminders and actions are reported, and due actions are taken."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import uuid4

import pytest

from chamberlain.audit.erasure import UserEraser
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.directory.port import ActOutcome, DisableGuest, GuestAct, RemoveGuest, Stayed
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests import finding_records
from chamberlain.guests.models import Finding, FindingFilter, FindingKind, FindingSource, FindingSubject
from chamberlain.queue.models import JobKind
from tests.estates import ADA, ESTATE, OPERATOR, TRACE, Estate
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    GIL,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    YEARLY_REVIEW,
    ZERO,
    FaultyGuests,
    guest_fixture,
    make_due,
)
from tests.guests.policies.policy_runs import Runs, make_guests, new_group

DAY = timedelta(days=1)


@pytest.fixture
async def runs(estate: Estate) -> Runs:
    return Runs(guest_fixture(estate))


async def assign(runs: Runs, **sent: object) -> None:
    await runs.guest_rules.ask(sent, runs.group_id)


def gil(*told: tuple[float, str]) -> list[tuple[float, str, object]]:
    return [(day, what, GIL) for day, what in told]


async def test_it_works(runs: Runs) -> None:
    """ "90 days" on "All staff": Gil is removed after 90 days, and who follows the events has heard of it before."""
    await assign(runs, policyId=str(NINETY_DAYS))

    await runs.run_daily(95)

    assert await runs.told() == gil((76, "reminder"), (83, "reminder"), (89, "reminder"), (90, "remove"))
    assert await runs.members() == []
    first, *_, last = await runs.events()
    assert first == {
        "type": "policy.reminder",
        "at": runs.began_at + 76 * DAY,
        "subject": {"type": "group", "id": str(ALL_STAFF), "displayName": "All staff"},
        "guest": {"id": str(GIL), "mail": "gil@partner.example"},
        "policyId": str(NINETY_DAYS),
        "rule": "expiry",
        "actionAt": "2027-02-18T09:30:00.000Z",
        "action": "remove",
    }
    assert last == first | {"type": "policy.actionTaken", "at": runs.began_at + 90 * DAY}
    (finding,) = await runs.guest_rules.found()
    assert (finding.kind, finding.state, finding.policy_id) == ("guestExpired", "repaired", NINETY_DAYS)
    assert (finding.action, finding.action_at) == ("remove", runs.began_at + 90 * DAY)
    assert await runs.guest_rules.estate.rows(
        "SELECT payload #>> '{actor,displayName}', payload #>> '{actor,type}', payload #>> '{subject,displayName}', "
        "payload -> 'after' ->> 'action', payload #>> '{after,guest,displayName}', trace_id "
        "FROM chamberlain.audit WHERE action = 'policy.act'"
    ) == [("Policy", "system", "All staff", "remove", "Gil Hartmann", TRACE)]
    assert await runs.guest_rules.estate.rows("SELECT count(*) FROM chamberlain.policy_clock") == [(0,)]


async def test_a_review_that_nobody_answers_disables_the_account(runs: Runs) -> None:
    await assign(runs, policyId=str(YEARLY_REVIEW))
    for day in (0, 364, 365):
        await runs.run(day)
    (opened,) = await runs.guest_rules.found(FindingFilter(kind=FindingKind.REVIEW_DUE))
    for day in (372, 378, 379, 380):
        await runs.run(day)

    assert (opened.state, opened.action, opened.action_at) == ("open", "disable", runs.began_at + 379 * DAY)
    assert await runs.told() == gil((365, "reminder"), (372, "reminder"), (378, "reminder"), (379, "disable"))
    assert (await runs.members(), await runs.disabled()) == ([GIL], {GIL})
    (finding,) = await runs.guest_rules.found()
    assert (finding.id, finding.state, finding.last_seen_at) == (opened.id, "open", runs.began_at + 380 * DAY)
    assert finding.detail == "Gil Hartmann was not confirmed in time. The account was disabled."
    assert runs.guest_rules.guests.acts == [DisableGuest(ESTATE, GIL)]


async def test_to_notify_asks_nothing_of_the_directory(runs: Runs) -> None:
    await runs.put_policy(NINETY_DAYS, inactivity={"afterDays": 5, "reminderDays": [2], "action": "notify"})
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run_daily(2)
    await runs.execute(
        "UPDATE directory.users SET last_seen_at = $2 WHERE id = $1", GIL, runs.began_at + timedelta(days=2, hours=1)
    )

    await runs.run_daily(9, since=3)

    # He was seen after two days and an hour; five days later he was not for long enough.
    assert await runs.told() == gil((6, "reminder"), (8, "notify"))
    assert (await runs.members(), await runs.disabled(), runs.guest_rules.guests.acts) == ([GIL], set(), [])
    assert [each.kind for each in await runs.guest_rules.found()] == ["guestInactive"]


async def test_too_few_owners_are_found_of_a_site_too(runs: Runs) -> None:
    site = Runs(runs.guest_rules, HANDBOOK)
    await site.put_policy(NINETY_DAYS, minimumOwners={"count": 2})
    await runs.guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(NINETY_DAYS))
    await site.run_daily(1)
    (found,) = await runs.guest_rules.found()
    await site.execute(
        "INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group) "
        "SELECT tenant_id, $1, id, true, true, false FROM directory.users WHERE tenant_id = $2 AND id <> $3 "
        "ON CONFLICT DO NOTHING",
        HANDBOOK,
        ESTATE,
        ADA,
    )
    await site.run(2)

    assert (found.kind, found.state, found.subject.type, found.wanted) == ("tooFewOwners", "open", "site", 2)
    assert [each.state for each in await runs.guest_rules.found()] == ["gone"]
    ((day, what, who),) = await site.told()
    assert (day, what, who) == (0, "reminder", None)
    ((subject, action_at),) = [(event["subject"], event["actionAt"]) for event in await site.events()]
    assert isinstance(subject, dict)
    assert (subject["type"], subject["id"], action_at) == ("site", str(HANDBOOK), None)


async def test_clocks_start_when_the_policy_is_assigned(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    # No worker was there for a day.
    await runs.run(1)
    # A change of only the template says nothing of the policy.
    runs.set_day(10)
    await assign(runs, templateId=str(NO_GUESTS))
    await runs.run(11)

    assert await timers(runs) == [(GIL, runs.began_at, runs.began_at + 90 * DAY)]
    assert len(await runs.jobs()) == 1


async def timers(runs: Runs) -> list[tuple[object, ...]]:
    return await runs.guest_rules.estate.rows(
        "SELECT guest_id, started_at, action_at FROM chamberlain.policy_clock ORDER BY guest_id"
    )


async def test_another_policy_starts_again_and_an_edited_one_does_by_rule(runs: Runs) -> None:
    await assign(runs, policyId=str(YEARLY_REVIEW))
    await runs.run_daily(3)
    runs.set_day(4)
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(5)
    another = await timers(runs)
    await runs.put_policy(NINETY_DAYS, expiry={"afterDays": 90, "reminderDays": [14, 7, 1], "action": "remove"})
    await runs.run(6)
    renamed = await timers(runs)
    await runs.put_policy(NINETY_DAYS, expiry={"afterDays": 60, "action": "remove"})
    await runs.run(7)

    assert another == renamed == [(GIL, runs.began_at + 4 * DAY, runs.began_at + 94 * DAY)]
    assert await timers(runs) == [(GIL, runs.began_at + 7 * DAY, runs.began_at + 67 * DAY)]


async def test_the_same_policy_once_more_starts_again(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    runs.set_day(4)
    await assign(runs, policyId=ZERO)
    runs.set_day(5)
    await assign(runs, policyId=str(NINETY_DAYS))

    await runs.run(6)

    assert await timers(runs) == [(GIL, runs.began_at + 5 * DAY, runs.began_at + 95 * DAY)]
    assert len(await runs.jobs()) == 1


async def test_what_is_assigned_no_more_ends(runs: Runs) -> None:
    await runs.put_policy(NINETY_DAYS, minimumOwners={"count": 9}, expiry={"afterDays": 9, "action": "disable"})
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run_daily(10)
    before = [each.state for each in await runs.guest_rules.found()]

    await assign(runs, policyId=ZERO)
    await runs.run(11)

    assert before == ["open", "open"]
    assert [each.state for each in await runs.guest_rules.found()] == ["gone", "gone"]
    assert await timers(runs) == []
    assert not await runs.jobs()


async def test_what_is_gone_from_the_directory_ends(runs: Runs) -> None:
    await runs.put_policy(NINETY_DAYS, minimumOwners={"count": 9}, expiry={"afterDays": 9, "action": "disable"})
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.guest_rules.discover()
    await runs.run(0)
    await runs.execute("DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)

    await runs.run(1)
    waiting = await timers(runs)
    await runs.guest_rules.discover()
    await runs.run(2)

    # A hidden group may be late. A reader of the changes finds out that it is gone.
    assert len(waiting) == 2
    assert await timers(runs) == []
    assert not await runs.jobs()
    assert [each.state for each in await runs.guest_rules.found()] == ["gone"]


async def test_it_runs_again_when_something_happens_and_every_day(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    daily = await wait_of(runs)
    await runs.run(75.75)
    reminder = await wait_of(runs)
    await runs.execute("DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)
    await runs.run(76)

    assert daily == pytest.approx(24 * 3600, abs=60)
    assert reminder == pytest.approx(6 * 3600, abs=60)
    assert await wait_of(runs) == pytest.approx(60, abs=60)


async def wait_of(runs: Runs) -> float:
    """In how many seconds the job runs."""
    (seconds,) = await waits_of(runs)
    return seconds


async def test_it_waits_while_the_directory_does_not_answer(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    runs.guest_rules.guests.error = TryAgain(timedelta(minutes=5), "The directory does not answer.")
    await runs.run(89)
    waits = await wait_of(runs)
    told = await runs.told()
    runs.guest_rules.guests.error = None

    await runs.run(89.1)

    assert waits == pytest.approx(300, abs=60)
    assert told == []
    assert await runs.told() == gil((89.1, "reminder"))


async def test_an_action_that_has_to_wait_is_reported_once_it_is_done(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run_daily(89)
    before = await runs.told()
    runs.guest_rules.guests.act_faults = {GIL: ActOutcome(None, TryAgain(timedelta(seconds=90), "Too many calls."))}
    await runs.run(90)
    waits, told = await wait_of(runs), await runs.told()
    (finding,) = await runs.guest_rules.found()
    runs.guest_rules.guests.act_faults = {}

    await runs.run(90.5)

    assert waits == pytest.approx(90, abs=60)
    assert (told, finding.state, finding.action) == (before, "open", "remove")
    assert await runs.told() == [*before, *gil((90.5, "remove"))]
    assert [each.state for each in await runs.guest_rules.found()] == ["repaired"]


@pytest.mark.parametrize("max_actions", [2, 3, 100])
async def test_many_actions_are_asked_for_in_portions(runs: Runs, max_actions: int) -> None:
    """In one call a directory would not be done with the twenty thousand guests of a group, and do none of them."""
    guests = [GIL, *await make_guests(runs, 4)]
    other = await new_group(runs.guest_rules)
    for each in (runs, other):
        await each.put_policy(NINETY_DAYS, expiry={"afterDays": 9, "action": "remove"})
        await each.join(guests)
        await runs.guest_rules.assign(each.group_id, policyId=str(NINETY_DAYS))
    asked: list[int] = []
    counting = CountingGuests(runs.guest_rules.guests.guests, calls=asked)
    counting.act_faults = {GIL: ActOutcome(None, TryAgain(timedelta(seconds=90), "Too many calls."))}
    evaluate = replace(runs.guest_rules.evaluate, guests=counting, max_actions=max_actions)
    for day in (0, 9):
        runs.set_day(day)
        await make_due(runs.guest_rules.estate)
        await evaluate.evaluate(await runs.guest_rules.estate.claim(kinds=[JobKind.POLICY_EVALUATE]))
    told, waits = [sorted(await each.told(), key=str) for each in (runs, other)], await waits_of(runs)
    counting.act_faults = {}

    await make_due(runs.guest_rules.estate)
    await evaluate.evaluate(await runs.guest_rules.estate.claim(kinds=[JobKind.POLICY_EVALUATE]))

    assert max(asked) == min(max_actions, 10)
    assert told == [sorted([(9, "remove", guest) for guest in guests[1:]], key=str)] * 2
    assert waits == [pytest.approx(90, abs=20)] * 2
    assert [await each.members() for each in (runs, other)] == [[], []]
    assert {each.state for each in await runs.guest_rules.found()} == {"repaired"}


@dataclass
class CountingGuests(FaultyGuests):
    """The port, and how much it was asked for at once."""

    calls: list[int] = field(default_factory=list)

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        self.calls.append(len(acts))
        return await super().act(acts)


@pytest.mark.parametrize("stopped_by", ["nothing assigned", "another policy", "an edited policy"])
async def test_it_handles_a_policy_that_is_taken_off_between_two_portions(runs: Runs, stopped_by: str) -> None:
    """Clearing the policy of a group after the first removals keeps its other guests."""
    await runs.put_policy(NINETY_DAYS, expiry={"afterDays": 9, "action": "remove"})
    await runs.join(await make_guests(runs, 4))
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)

    async def stop() -> None:
        match stopped_by:
            case "nothing assigned":
                await assign(runs, policyId=ZERO)
            case "another policy":
                await assign(runs, policyId=str(YEARLY_REVIEW))
            case _:
                await runs.put_policy(NINETY_DAYS, expiry={"afterDays": 60, "action": "remove"})

    stopping = CallbackGuests(runs.guest_rules.guests.guests, stop=stop)
    runs.set_day(9)
    await replace(runs.guest_rules.evaluate, guests=stopping, max_actions=2).evaluate(await runs.claim())
    waits = await waits_of(runs)
    await runs.run(9.1)

    assert len(stopping.acts) == 2
    assert len(await runs.members()) == 3
    assert [what for _, what, _ in await runs.told()] == ["remove"] * 2
    assert sorted([each.state for each in await runs.guest_rules.found()]) == ["gone"] * 3 + ["repaired"] * 2
    # The actions of the next policy do not wait for a day.
    assert max(waits) == pytest.approx(1, abs=5)
    assert len(await runs.jobs()) == (0 if stopped_by == "nothing assigned" else 1)


@dataclass
class CallbackGuests(FaultyGuests):
    """The port, with an action that runs while it works."""

    stop: Callable[[], Awaitable[None]] | None = None

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        if self.stop is not None:
            await self.stop()
        return await super().act(acts)


async def test_it_runs_again_when_something_happens_to_somebody_else(runs: Runs) -> None:
    (hana,) = await make_guests(runs, 1)
    await runs.put_policy(NINETY_DAYS, expiry={"afterDays": 9, "action": "remove"})
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    await runs.join([hana])
    await runs.run(0.25)

    await runs.run(9)

    assert await runs.members() == [hana]
    assert await wait_of(runs) == pytest.approx(6 * 3600, abs=60)


@pytest.mark.parametrize(
    ("answers", "calls", "seconds"),
    [
        # A directory that does nothing of a portion gets no other.
        ([(90, 90)], 1, 90),
        ([(1, 1)], 1, 10),
        ([(30, None), (1, 1)], 2, 30),
        # The longest wait counts, whatever was done behind it.
        ([(90, None), (20, None), (None, None)], 3, 90),
    ],
)
async def test_a_directory_that_slows_down_is_left_alone(
    runs: Runs, answers: list[tuple[float | None, ...]], calls: int, seconds: float
) -> None:
    await runs.put_policy(NINETY_DAYS, expiry={"afterDays": 9, "action": "remove"})
    await runs.join(await make_guests(runs, 5))
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    slow = SlowGuests(runs.guest_rules.guests.guests, answers=answers)
    runs.set_day(9)

    await replace(runs.guest_rules.evaluate, guests=slow, max_actions=2).evaluate(await runs.claim())

    assert slow.calls == calls
    assert await wait_of(runs) == pytest.approx(seconds, abs=5)
    assert len(await runs.members()) == 6 - sum(each is None for answer in answers for each in answer)


@dataclass
class SlowGuests(FaultyGuests):
    """The port, which says of each action of a call how long to wait, or does it."""

    answers: Sequence[tuple[float | None, ...]] = ()
    calls: int = 0

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        waits = zip(acts, self.answers[self.calls], strict=True)
        self.calls += 1
        self.act_faults = {
            act.guest_id: ActOutcome(None, TryAgain(timedelta(seconds=wait), "Too many calls."))
            for act, wait in waits
            if wait is not None
        }
        return await super().act(acts)


async def waits_of(runs: Runs) -> list[float]:
    """In how many seconds the jobs of policies run."""
    rows = await runs.guest_rules.estate.rows(
        "SELECT extract(epoch FROM run_at - now()) FROM chamberlain.job WHERE kind = $1", JobKind.POLICY_EVALUATE
    )
    return [float(str(seconds)) for [seconds] in rows]


@pytest.mark.parametrize(("is_taken", "seconds"), [(True, 1), (False, 10)])
async def test_who_is_told_to_slow_down_goes_on_soon(runs: Runs, seconds: int, *, is_taken: bool) -> None:
    """A directory that takes some of three hundred removals is not left alone for a minute each time."""
    (hana,) = await make_guests(runs, 1)
    await runs.join([hana])
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run_daily(89)
    slow_down = ActOutcome(None, TryAgain(timedelta(seconds=1), "Too many calls."))
    runs.guest_rules.guests.act_faults = dict.fromkeys([GIL] if is_taken else [GIL, hana], slow_down)

    await runs.run(90)

    assert await wait_of(runs) == pytest.approx(seconds, abs=2)


async def test_a_directory_that_does_not_answer_is_asked_again_soon(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    runs.guest_rules.guests.error = TryAgain(timedelta(seconds=1), "Too many calls.")

    await runs.run(0)

    assert await wait_of(runs) == pytest.approx(10, abs=2)


@pytest.mark.parametrize(
    "outcome",
    [
        ActOutcome(Stayed(GIL, "lastOwner", "Gil Hartmann is the last owner."), None),
        ActOutcome(None, Rejected("groupUnknown", "Gil Hartmann is the last owner.")),
    ],
)
async def test_what_cannot_be_done_is_found_with_its_reason_and_tried_again(runs: Runs, outcome: ActOutcome) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run_daily(89)
    before = await runs.told()
    runs.guest_rules.guests.act_faults = {GIL: outcome}
    await runs.run(90)
    waits = await wait_of(runs)
    await runs.run(90.5)
    tried = len(runs.guest_rules.guests.acts)
    await runs.run(91)
    (finding,) = await runs.guest_rules.found()
    told = await runs.told()
    runs.guest_rules.guests.act_faults = {}
    await runs.run(92)

    assert waits == pytest.approx(24 * 3600, abs=60)
    assert (tried, len(runs.guest_rules.guests.acts)) == (1, 3)
    assert told == before
    assert finding.state == "open"
    assert finding.detail.endswith("may be a guest here are over. Gil Hartmann is the last owner.")
    assert await runs.told() == [*before, *gil((92, "remove"))]
    assert [each.state for each in await runs.guest_rules.found()] == ["repaired"]


async def test_two_workers_at_once_tell_it_once(runs: Runs) -> None:
    guests = await make_guests(runs, 20)
    await runs.join(guests)
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run_daily(89)
    runs.set_day(90)
    other = guest_fixture(runs.guest_rules.estate)
    first = await runs.claim()
    second = await runs.claim()

    await asyncio.gather(
        runs.guest_rules.evaluate.evaluate(first),
        other.evaluate.evaluate(second),
        runs.guest_rules.evaluate.evaluate(second),
    )

    told = [who for day, what, who in await runs.told() if what == "remove"]
    assert sorted(told, key=str) == sorted([*guests, GIL], key=str)
    assert await runs.members() == []
    assert {each.state for each in await runs.guest_rules.found()} == {"repaired"}


async def test_one_job_is_enough_for_a_group(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    await assign(runs, policyId=str(YEARLY_REVIEW))
    await assign(runs, policyId=str(NINETY_DAYS))
    several = await runs.claim()

    await runs.guest_rules.evaluate.evaluate(several)

    assert len(several.jobs) == 3
    assert len(await runs.jobs()) == 1


async def test_what_was_assigned_before_has_its_job_when_a_worker_starts(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.execute("DELETE FROM chamberlain.job")
    await runs.execute("UPDATE chamberlain.subject SET policy_assigned_at = NULL")

    await runs.guest_rules.evaluate.begin(TRACE)
    await runs.guest_rules.evaluate.begin(TRACE)

    assert len(await runs.jobs()) == 1
    await runs.run(3)
    assert await timers(runs) == [(GIL, runs.began_at + 3 * DAY, runs.began_at + 93 * DAY)]


async def test_a_guest_who_is_renamed_is_reported_by_the_new_name(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    await runs.execute("UPDATE directory.users SET mail = 'gil@new.example' WHERE id = $1", GIL)

    await runs.run(76)

    ((guest),) = [event["guest"] for event in await runs.events()]
    assert guest == {"id": str(GIL), "mail": "gil@new.example"}
    assert runs.guest_rules.guests.acts == []


async def test_what_is_accepted_rests(runs: Runs) -> None:
    await assign(runs, policyId=str(YEARLY_REVIEW))
    await runs.run(0)
    await runs.run(365)
    await runs.execute("UPDATE chamberlain.finding SET state = 'accepted'")

    await runs.run_daily(385, since=366)

    assert await runs.told() == gil((365, "reminder"))
    assert [each.state for each in await runs.guest_rules.found()] == ["accepted"]
    assert runs.guest_rules.guests.acts == []


@pytest.mark.parametrize("source", [FindingSource.DRIFT, FindingSource.ASSIGNMENT])
async def test_what_others_have_found_and_somebody_accepts_says_nothing_of_a_policy(
    runs: Runs, source: FindingSource
) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    kind = FindingKind.DRIFT if source is FindingSource.DRIFT else FindingKind.GUEST_AGAINST_RULE
    subject = FindingSubject(ESTATE, ALL_STAFF, SubjectType.GROUP, "All staff")
    other = Finding(subject, kind, source, str(GIL), "guests", None, None, "Somebody else has found it.")
    async with runs.guest_rules.estate.databases.worker.across_tenants() as tx:
        await finding_records.save(tx, [(uuid4(), other)], at=runs.guest_rules.estate.moment)
        await tx.execute("UPDATE chamberlain.finding SET state = 'accepted'")

    await runs.run_daily(90, since=76)

    assert await runs.told() == gil((76, "reminder"), (83, "reminder"), (89, "reminder"), (90, "remove"))
    assert sorted(each.state for each in await runs.guest_rules.found()) == ["accepted", "repaired"]


async def test_groups_and_sites_run_together(runs: Runs) -> None:
    site = Runs(runs.guest_rules, HANDBOOK)
    await site.join()
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(NINETY_DAYS))
    for day in (0, 80, 90):
        runs.set_day(day)
        await runs.guest_rules.run_policies()

    assert await runs.told() == await site.told() == gil((80, "reminder"), (90, "remove"))
    assert set(runs.guest_rules.guests.acts) == {RemoveGuest(ESTATE, group, GIL) for group in (ALL_STAFF, HANDBOOK)}


def test_it_is_named_as_the_database_names_it() -> None:
    # The function that assigns queues it by this name (database/sql/assignments.sql).
    assert JobKind.POLICY_EVALUATE.value == "policyEvaluate"


async def test_a_guest_who_is_forgotten_has_no_name_in_a_clock(runs: Runs) -> None:
    await assign(runs, policyId=str(NINETY_DAYS))
    await runs.run(0)
    eraser = UserEraser(runs.guest_rules.estate.databases.worker)

    await eraser.erase(GIL, ESTATE, actor=OPERATOR, trace_id=TRACE)
    erased = await names(runs)
    # A guest who is still there is found again.
    await runs.run(76)

    assert erased == [("", None)]
    assert await names(runs) == [("Gil Hartmann", "gil@partner.example")]


async def names(runs: Runs) -> list[tuple[object, ...]]:
    return await runs.guest_rules.estate.rows("SELECT guest_name, guest_mail FROM chamberlain.policy_clock")


@pytest.mark.parametrize(("max_guests", "transactions"), [(0, 2), (1, 2), (2, 1)])
async def test_many_guests_are_run_in_parts(runs: Runs, max_guests: int, transactions: int) -> None:
    guest_rules = runs.guest_rules
    for group_id in (ALL_STAFF, HANDBOOK):
        runs.group_id = group_id
        await runs.join()
        kind = SubjectType.SITE if group_id == HANDBOOK else SubjectType.GROUP
        await guest_rules.assign(group_id, kind=kind, policyId=str(NINETY_DAYS))
    evaluate = replace(guest_rules.evaluate, max_guests=max_guests)
    await make_due(guest_rules.estate)

    await evaluate.evaluate(await guest_rules.estate.claim(kinds=[JobKind.POLICY_EVALUATE]))

    written = "SELECT count(DISTINCT xmin::text), count(*) FROM chamberlain.policy_clock"
    assert await guest_rules.estate.rows(written) == [(transactions, 2)]
    jobs = "SELECT count(*), count(lease_id) FROM chamberlain.job WHERE kind = 'policyEvaluate'"
    assert await guest_rules.estate.rows(jobs) == [(2, 0)]
