# SPDX-License-Identifier: Apache-2.0
"""Looking ahead at a policy: what it would do to groups and sites, without doing it."""

import asyncio
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, NotFound, NotPossible, Rejected, TryAgain, Unavailable
from chamberlain.core.ids import GroupId, PolicyId, UserId
from chamberlain.directory.port import ActOutcome
from chamberlain.directory.subjects import Guest, ObservedSubject, SubjectReference
from chamberlain.guests.models import FindingKind
from chamberlain.guests.policies import simulation as policy_simulation
from chamberlain.guests.policies.service import PolicyService, Simulator
from chamberlain.guests.policies.simulation import OccurrenceType, Simulation, SimulationRequest
from tests.estates import ADA, BEN, ESTATE, OTHER_HOUSE, Estate, caller_of, until
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    HANDBOOK,
    NINETY_DAYS,
    SUPPLIERS,
    YEARLY_REVIEW,
    GuestFixture,
    guest_fixture,
    make_due,
)
from tests.guests.findings.finding_fixture import finding_fixture
from tests.guests.policies.policy_runs import MAKE_GUESTS, Runs, new_group
from tests.requests.request_services import administrator, application

EVERYTHING = SimulationRequest((), ())
# Every table that a run of a policy writes.
WRITTEN = ("finding", "policy_clock", "subject", "event", "audit", "job")
ACTIONS = st.sampled_from(["notify", "disable", "remove"])
# Rules of some days, as a policy has them in JSON.
TIMED = st.integers(2, 25).flatmap(
    lambda days: st.fixed_dictionaries(
        {
            "afterDays": st.just(days),
            "reminderDays": st.lists(st.integers(1, days), max_size=2, unique=True),
            "action": ACTIONS,
        }
    )
)
REVIEWS = st.integers(2, 20).flatmap(
    lambda answer: st.fixed_dictionaries(
        {
            "everyDays": st.integers(answer, 25),
            "answerDays": st.just(answer),
            "confirmedBy": st.just("owners"),
            "reminderDays": st.lists(st.integers(1, answer), max_size=2, unique=True),
            "action": ACTIONS,
        }
    )
)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "expiry": TIMED,
        "review": REVIEWS,
        "inactivity": TIMED,
        "minimumOwners": st.just({"count": 1, "reminderDays": [], "action": "notify"}),
    },
)
HAS_BEEN_SEEN = """
UPDATE directory.users SET last_seen_at = $2, properties = jsonb_build_object('department', $3::text) WHERE id = $1
"""
FOLLOWS_RULE = """
UPDATE directory.groups SET membership_rule = $2, group_types = '{Unified,DynamicMembership}' WHERE id = $1
"""
NOWHERE = GroupId(UUID(int=7))


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    guest_rules = guest_fixture(estate)
    await guest_rules.discover()
    return guest_rules


def simulator(guest_rules: GuestFixture) -> Simulator:
    estate = guest_rules.estate
    return Simulator(estate.databases.application, guest_rules.guests, estate.now)


def service(guest_rules: GuestFixture, simulator: Simulator) -> PolicyService:
    estate = guest_rules.estate
    return PolicyService(estate.databases.application, estate.authorization(), simulator, uuid4, lambda: estate.moment)


async def simulate(
    guest_rules: GuestFixture,
    order: SimulationRequest = EVERYTHING,
    policy_id: PolicyId = NINETY_DAYS,
    caller: Caller | None = None,
) -> Simulation:
    return await service(guest_rules, simulator(guest_rules)).simulate(caller or administrator(ADA), policy_id, order)


def in_days(simulation: Simulation) -> list[tuple[float, str]]:
    return [((each.at - simulation.since) / timedelta(days=1), str(each.type)) for each in simulation.occurrences]


async def test_it_works(guest_rules: GuestFixture) -> None:
    simulation = await simulate(guest_rules, SimulationRequest((ALL_STAFF,), ()))

    assert in_days(simulation) == [
        (76, "reminder"),
        (83, "reminder"),
        (89, "reminder"),
        (90, "finding"),
        (90, "action"),
    ]
    assert (simulation.since, simulation.until) == (
        guest_rules.estate.moment,
        guest_rules.estate.moment + timedelta(days=90),
    )
    assert (simulation.subjects, simulation.guests, simulation.reminders) == (1, 1, 3)
    assert (simulation.findings, simulation.actions) == ({"guestExpired": 1}, {"remove": 1})
    assert simulation.is_whole
    assert {each.guest and each.guest.mail for each in simulation.occurrences} == {"gil@partner.example"}


async def test_nothing_is_changed_and_nobody_is_reported(guest_rules: GuestFixture) -> None:
    runs = Runs(guest_rules)
    await guest_rules.assign(policyId=str(NINETY_DAYS))
    await runs.run_daily(80, since=79)
    runs.set_day(95)
    before = await written(guest_rules), await guest_rules.shown()

    simulation = await simulate(guest_rules)

    assert simulation.occurrences
    assert (await written(guest_rules), await guest_rules.shown()) == before


async def written(guest_rules: GuestFixture) -> list[list[tuple[object, ...]]]:
    """All rows of these tables as they are."""
    return [
        await guest_rules.estate.rows(f"SELECT t::text FROM chamberlain.{table} t ORDER BY 1")  # noqa: S608 - names of ours alone
        for table in WRITTEN
    ]


async def test_without_a_choice_it_is_about_everything(guest_rules: GuestFixture) -> None:
    simulation = await simulate(guest_rules)

    (known,) = await guest_rules.estate.rows("SELECT count(*) FROM chamberlain.subject WHERE tenant_id = $1", ESTATE)
    assert simulation.subjects == known[0]
    assert simulation.subjects >= 3
    assert simulation.guests == 1


async def test_a_site_is_named_by_its_security_group(guest_rules: GuestFixture) -> None:
    simulation = await simulate(guest_rules, SimulationRequest((), (HANDBOOK, SUPPLIERS)))

    assert (simulation.subjects, simulation.occurrences) == (2, ())


async def test_where_it_is_assigned_its_clocks_go_on(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(policyId=str(NINETY_DAYS))
    await guest_rules.run_policies()
    guest_rules.estate.moment += timedelta(days=80)

    assigned = await simulate(guest_rules, SimulationRequest((ALL_STAFF,), ()))
    other = await simulate(guest_rules, SimulationRequest((ALL_STAFF,), ()), YEARLY_REVIEW)

    # No run was since: of the overdue reminders the nearest to the action comes now.
    assert [each for each in in_days(assigned) if each[1] != OccurrenceType.REMINDER] == [
        (10, "finding"),
        (10, "action"),
    ]
    assert in_days(other)[0][0] == 365


async def test_a_policy_that_is_not_active_can_be_looked_at(guest_rules: GuestFixture) -> None:
    await guest_rules.estate.rows("UPDATE chamberlain.policy SET active = false")

    assert (await simulate(guest_rules)).reminders == 3


async def test_it_rejects_groups_and_sites_that_there_are_not(guest_rules: GuestFixture) -> None:
    with pytest.raises(NotPossible) as refused:
        await simulate(guest_rules, SimulationRequest((ALL_STAFF, HANDBOOK, NOWHERE), (ALL_STAFF,)))

    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [
        ("/groupIds/1", "groupUnknown"),
        ("/groupIds/2", "groupUnknown"),
        ("/siteIds/0", "groupUnknown"),
    ]


async def test_it_rejects_a_policy_of_another_tenant(guest_rules: GuestFixture) -> None:
    with pytest.raises(NotFound):
        await simulate(guest_rules, caller=application("Collab.Config.ReadWrite.All", OTHER_HOUSE))


async def test_it_rejects_whoever_does_not_administer_the_tenant(guest_rules: GuestFixture) -> None:
    for caller in (caller_of(ADA), administrator(BEN), application("Collab.Manage.ReadWrite.All")):
        with pytest.raises(Forbidden):
            await simulate(guest_rules, caller=caller)


async def test_it_says_so_while_the_directory_does_not_answer(guest_rules: GuestFixture) -> None:
    guest_rules.guests.error = TryAgain(timedelta(seconds=7), "Away.")

    with pytest.raises(Unavailable) as refused:
        await simulate(guest_rules)

    assert (refused.value.code, refused.value.after) == ("overloaded", timedelta(seconds=7))


async def test_what_others_have_found_and_somebody_accepts_says_nothing_of_a_policy(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(policyId=str(NINETY_DAYS))
    await guest_rules.run_policies()
    findings_fixture = finding_fixture(guest_rules.estate)
    for kind in (FindingKind.DRIFT, FindingKind.GUEST_AGAINST_RULE):
        await findings_fixture.accepted(await findings_fixture.find(kind))

    simulation = await simulate(guest_rules, SimulationRequest((ALL_STAFF,), ()))

    assert (simulation.reminders, simulation.actions) == (3, {"remove": 1})


async def test_it_says_so_when_it_takes_too_long(guest_rules: GuestFixture) -> None:
    impatient = service(guest_rules, replace(simulator(guest_rules), timeout=timedelta(0)))

    with pytest.raises(Unavailable) as refused:
        await impatient.simulate(administrator(ADA), NINETY_DAYS, EVERYTHING)

    assert (refused.value.code, "groupIds" in refused.value.detail) == ("overloaded", True)


async def test_what_nobody_waits_for_any_more_is_not_counted_on(guest_rules: GuestFixture) -> None:
    """A thread goes on after its caller is gone; and the process would not end before it."""
    guests = tuple([Guest(UserId(uuid4()), None, "") for _ in range(5_000)])
    many = replace(await guest_rules.shown(), guests=guests)

    class Endless:
        async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
            return [many for _ in references]

    async def is_over() -> bool:
        return not is_counting()

    endless = service(guest_rules, replace(simulator(guest_rules), subjects=Endless()))
    order = SimulationRequest((ALL_STAFF,) * 200, ())
    call = asyncio.create_task(endless.simulate(administrator(ADA), NINETY_DAYS, order))
    await until(begun_counting)
    call.cancel()
    await until(is_over)

    # Else it would count for minutes.
    assert call.cancelled()


async def begun_counting() -> bool:
    return is_counting()


def is_counting() -> bool:
    """Whether a thread of this process is at it."""
    return any(
        frame.f_code.co_filename == policy_simulation.__file__
        for first in sys._current_frames().values()  # noqa: SLF001 - documented, and the only way to look into a thread
        for frame, _ in traceback.walk_stack(first)
    )


@dataclass(frozen=True)
class Schedule:
    """The history of a generated group before its simulation.

    The directory has refused all calls until then. A finding stays `open`, or is accepted for good, or for so many
    days.
    """

    rules: dict[str, object]
    seen: list[int | None]
    before: int
    was_refused: bool
    follows_rule: bool
    acceptances: list[str | int]


COURSES = st.builds(
    Schedule,
    RULES,
    st.lists(st.none() | st.integers(-20, 0), max_size=3),
    st.integers(-1, 20),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["open", "for good", 1, 3, 10]), max_size=4),
)


@pytest.mark.heavy
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schedule=COURSES)
async def test_it_equals_what_then_happens(guest_rules: GuestFixture, schedule: Schedule) -> None:
    runs, policy_id = await start_run(guest_rules, schedule)
    since = max(schedule.before, 0)
    ends = await accepted(runs, schedule, since)

    ahead = await simulate(guest_rules, SimulationRequest((runs.group_id,), ()), policy_id)
    told_before, found_before = await runs.told(), await found(runs)
    for day in range(since, since + (ahead.until - ahead.since).days + 1):
        runs.set_day(day)
        if day in ends:
            await make_due(guest_rules.estate)
            await finding_fixture(guest_rules.estate).work()
        await runs.run(day)

    happened = sorted((await runs.told())[len(told_before) :], key=str)
    expected = [
        (
            (each.at - runs.began_at) / timedelta(days=1),
            str(each.type) if each.type is OccurrenceType.REMINDER else str(each.action),
            each.guest and each.guest.id,
        )
        for each in ahead.occurrences
        if each.type is not OccurrenceType.FINDING
    ]
    assert sorted(expected, key=str) == happened
    assert [
        (each.at, str(each.kind), "" if each.guest is None else str(each.guest.id))
        for each in sorted(ahead.occurrences, key=lambda each: (each.at, each.kind, str(each.guest and each.guest.id)))
        if each.type is OccurrenceType.FINDING
    ] == [each for each in await found(runs) if each not in found_before]


async def start_run(guest_rules: GuestFixture, schedule: Schedule) -> tuple[Runs, PolicyId]:
    """A group of its own with the policy, run every day until it is looked ahead."""
    runs = await new_group(guest_rules)
    guests = [UserId(uuid4()) for _ in schedule.seen]
    await runs.execute(MAKE_GUESTS, ESTATE, guests)
    for guest, day in zip(guests, schedule.seen, strict=True):
        at = None if day is None else runs.began_at + timedelta(days=day)
        await runs.execute(HAS_BEEN_SEEN, guest, at, str(runs.group_id))
    await runs.join(guests)
    if schedule.follows_rule:
        await runs.execute(FOLLOWS_RULE, runs.group_id, f'user.department -eq "{runs.group_id}"')
    policy_id = PolicyId(uuid4())
    await runs.put_policy(policy_id, **schedule.rules)
    await guest_rules.assign(runs.group_id, policyId=str(policy_id))
    if schedule.was_refused:
        guest_rules.guests.act_faults.update(dict.fromkeys(guests, ActOutcome(None, Rejected("accessDenied", "No."))))
    await runs.run_daily(schedule.before)
    runs.set_day(max(schedule.before, 0))
    guest_rules.guests.act_faults.clear()
    return runs, policy_id


async def accepted(runs: Runs, schedule: Schedule, since: int) -> set[int]:
    """Accept some open findings; return the days on which the acceptances end."""
    ends, findings_fixture = set(), finding_fixture(runs.guest_rules.estate)
    is_open = "SELECT finding_id FROM chamberlain.finding WHERE subject_id = $1 AND state = 'open' ORDER BY kind, about"
    rows = await runs.guest_rules.estate.rows(is_open, runs.group_id)
    for (finding_id,), lasts in zip(rows, schedule.acceptances, strict=False):
        if lasts == "open":
            continue
        end = since + lasts if isinstance(lasts, int) else None
        assert isinstance(finding_id, UUID)
        await findings_fixture.accepted(finding_id, None if end is None else runs.began_at + timedelta(days=end))
        ends |= {end} - {None}
    return {end for end in ends if end is not None}


async def found(runs: Runs) -> list[tuple[object, ...]]:
    """When what was found in a group first, whatever has become of it."""
    return sorted(
        await runs.guest_rules.estate.rows(
            "SELECT first_seen_at, kind, about FROM chamberlain.finding WHERE subject_id = $1", runs.group_id
        ),
        key=lambda row: (row[0], row[1], row[2] or "None"),
    )
