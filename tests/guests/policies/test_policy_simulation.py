# SPDX-License-Identifier: Apache-2.0
"""A simulation of a policy equals what then happens, run day by day."""

import time
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamberlain.core.ids import UserId
from chamberlain.directory.subjects import Guest
from chamberlain.guests.policies.evaluation import AppliedPolicy
from chamberlain.guests.policies.events import finding_kind
from chamberlain.guests.policies.models import (
    ConfirmedBy,
    Expiry,
    Inactivity,
    MinimumOwners,
    PolicyAction,
    PolicyRules,
    Review,
)
from chamberlain.guests.policies.simulation import (
    Occurrence,
    OccurrenceType,
    SimulatedSubject,
    simulate,
    simulation_period,
)
from chamberlain.guests.policies.timers import PolicyRule, Timer, TimerKey
from tests.garbage_collection import frozen_objects
from tests.guests.policies.policy_timeline import (
    GIL,
    HANA,
    INACTIVE,
    NINETY_DAYS,
    NOTHING,
    SUBJECT,
    TWO_OWNERS,
    YEARLY,
    Group,
    days_of,
    moment,
)

pytestmark = pytest.mark.pure

# The day, what would happen, of which kind and to whom.
Ahead = tuple[float, str, str, str]


def situation_of(
    group: Group, accepted: dict[TimerKey, float | None] | None = None, *, by_rule: bool = False
) -> SimulatedSubject:
    policy = AppliedPolicy(group.policy_id, group.rules, group.assigned_at, group.is_begun)
    ends = {place: None if day is None else moment(day) for place, day in (accepted or {}).items()}
    return SimulatedSubject(SUBJECT, policy, group.present, group.timers, ends, by_rule)


def ahead(
    group: Group,
    *,
    since: float = 0,
    days: float | None = None,
    accepted: dict[TimerKey, float | None] | None = None,
    by_rule: bool = False,
) -> list[Ahead]:
    """The result of a simulation, in days."""
    until = moment(since) + (simulation_period(group.rules) if days is None else timedelta(days=days))
    found = simulate(situation_of(group, accepted, by_rule=by_rule), now=moment(since), until=until)
    return sorted(map(told, found))


def told(each: Occurrence) -> Ahead:
    what = each.action if each.type is OccurrenceType.ACTION else each.type
    return days_of(each.at), str(what), str(each.kind), "" if each.guest is None else each.guest.display_name


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            NINETY_DAYS,
            [
                (76, "reminder", "guestExpired", "Gil Hartmann"),
                (83, "reminder", "guestExpired", "Gil Hartmann"),
                (89, "reminder", "guestExpired", "Gil Hartmann"),
                (90, "finding", "guestExpired", "Gil Hartmann"),
                (90, "remove", "guestExpired", "Gil Hartmann"),
            ],
        ),
        (
            YEARLY,
            [
                (365, "finding", "reviewDue", "Gil Hartmann"),
                (365, "reminder", "reviewDue", "Gil Hartmann"),
                (372, "reminder", "reviewDue", "Gil Hartmann"),
                (378, "reminder", "reviewDue", "Gil Hartmann"),
                (379, "disable", "reviewDue", "Gil Hartmann"),
            ],
        ),
        (
            INACTIVE,
            [
                (113, "reminder", "guestInactive", "Gil Hartmann"),
                (120, "finding", "guestInactive", "Gil Hartmann"),
                (120, "notify", "guestInactive", "Gil Hartmann"),
            ],
        ),
        (NOTHING, []),
    ],
)
def test_it_works(rules: PolicyRules, expected: list[Ahead]) -> None:
    assert ahead(Group(rules)) == expected


def test_too_few_owners_are_found_at_once() -> None:
    assert ahead(Group(TWO_OWNERS, owners=1)) == [
        (0, "finding", "tooFewOwners", ""),
        (0, "reminder", "tooFewOwners", ""),
    ]
    assert ahead(Group(TWO_OWNERS, owners=2)) == []


def test_a_guest_who_is_removed_is_reviewed_no_more() -> None:
    both = replace(NINETY_DAYS, review=Review(80, 20, ConfirmedBy.OWNERS, (), PolicyAction.NOTIFY))

    assert [each[1:3] for each in ahead(Group(both)) if each[0] >= 80] == [
        ("finding", "reviewDue"),
        ("reminder", "guestExpired"),
        ("reminder", "guestExpired"),
        ("finding", "guestExpired"),
        ("remove", "guestExpired"),
    ]


def test_clocks_that_run_already_go_on() -> None:
    group = Group(NINETY_DAYS)
    group.run_daily(80)

    assert [each[0] for each in ahead(group, since=80)] == [83, 89, 90, 90]


def test_what_is_found_already_is_not_found_again() -> None:
    group = Group(replace(NINETY_DAYS, expiry=Expiry(90, (), PolicyAction.NOTIFY)), owners=1)
    group.rules = replace(group.rules, minimum_owners=TWO_OWNERS.minimum_owners)
    group.run_daily(100)

    assert ahead(group, since=100) == []


def test_what_is_tried_in_vain_every_day_is_passed_by() -> None:
    guests = tuple([replace(GIL, id=UserId(UUID(int=1000 + number))) for number in range(200)])
    began = time.perf_counter()

    occurrences = ahead(Group(NINETY_DAYS, guests), days=3650, by_rule=True)

    # Day by day it would take minutes.
    assert len(occurrences) == 4 * len(guests)
    assert time.perf_counter() - began < 20


def test_members_of_a_rule_are_not_removed() -> None:
    occurrences = ahead(Group(NINETY_DAYS), days=120, by_rule=True)

    assert [each[1] for each in occurrences] == ["reminder"] * 3 + ["finding"]


@pytest.mark.parametrize(("until", "days"), [(None, []), (200, [200])])
def test_what_is_accepted_rests_until_its_end(until: float | None, days: list[float]) -> None:
    group = Group(replace(NINETY_DAYS, expiry=Expiry(90, (), PolicyAction.REMOVE)), answer=lambda _timer: "No.")
    group.run_daily(100)

    occurrences = ahead(group, since=100, days=150, accepted={(PolicyRule.EXPIRY, GIL.id): until})

    assert [each[0] for each in occurrences] == days


def test_what_was_refused_before_is_tried_again() -> None:
    rules = replace(NINETY_DAYS, expiry=Expiry(90, (), PolicyAction.REMOVE))
    refusing = Group(rules, answer=lambda _timer: "They own it alone.")
    refusing.run_daily(100)

    assert [(each[0], each[1]) for each in ahead(refusing, since=100, days=30)] == [(101, "remove")]
    # In a group by its rule they are refused again, which is nothing to look at.
    assert ahead(refusing, since=100, days=30, by_rule=True) == []


GUESTS = st.lists(
    st.builds(
        lambda number, seen: Guest(
            UserId(UUID(int=100 + number)), None, f"Guest {number}", None if seen is None else moment(seen)
        ),
        st.integers(0, 5),
        st.none() | st.integers(-60, 0),
    ),
    max_size=4,
    unique_by=lambda guest: guest.id,
)
ACTIONS = st.sampled_from(PolicyAction)


def reminders(most: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(1, most), max_size=3, unique=True).map(tuple)


EXPIRIES = st.integers(1, 60).flatmap(lambda days: st.builds(Expiry, st.just(days), reminders(days), ACTIONS))
INACTIVITIES = st.integers(1, 60).flatmap(lambda days: st.builds(Inactivity, st.just(days), reminders(days), ACTIONS))
REVIEWS = st.integers(1, 60).flatmap(
    lambda every: st.integers(1, every).flatmap(
        lambda answer: st.builds(
            Review, st.just(every), st.just(answer), st.sampled_from(ConfirmedBy), reminders(answer), ACTIONS
        )
    )
)
OWNERS = st.builds(MinimumOwners, st.integers(1, 3), st.just(()), st.just(PolicyAction.NOTIFY))
RULES = st.builds(PolicyRules, st.none() | EXPIRIES, st.none() | REVIEWS, st.none() | INACTIVITIES, st.none() | OWNERS)


@pytest.mark.heavy
@settings(deadline=None)
@given(
    rules=RULES,
    guests=GUESTS,
    owners=st.integers(0, 3),
    before=st.integers(-1, 90),
    refuses=st.booleans(),
    by_rule=st.booleans(),
    acceptances=st.lists(st.sampled_from(["open", "for good", 1, 7, 40]), max_size=6),
)
def test_it_equals_what_then_happens_day_by_day(
    *,
    rules: PolicyRules,
    guests: list[Guest],
    owners: int,
    before: int,
    refuses: bool,
    by_rule: bool,
    acceptances: list[str | int],
) -> None:
    def answer(timer: Timer) -> str | None:
        return "They follow a rule." if by_rule and timer.action is PolicyAction.REMOVE else None

    # The directory may have refused everything until now.
    group = Group(rules, tuple(guests), owners, answer=(lambda _timer: "No.") if refuses else answer)
    # Some have had the policy for a while, and have been looked at every day of it.
    group.run_daily(before)
    since = max(before, 0)
    days = simulation_period(rules).days
    standing_clocks = [timer.place for timer in group.timers if timer.has_finding]
    accepted: dict[TimerKey, float | None] = {
        place: since + until if isinstance(until, int) else None
        for place, until in zip(standing_clocks, acceptances, strict=False)
        if until != "open"
    }
    expected = ahead(group, since=since, accepted=accepted, by_rule=by_rule)

    group.answer = answer
    group.told.clear()
    found: list[Ahead] = []
    for day in range(since, since + days + 1):
        group.accepted = [place for place, end in accepted.items() if end is None or end > day]
        standing = set(group.findings)
        evaluation = group.look(day)
        found += [
            (day, "finding", str(each.kind), name_of(guests, each.about))
            for each in evaluation.found
            if (each.kind, each.about) not in standing
        ]
        group.run(day)

    happened = [(day, what, str(finding_kind(PolicyRule(rule))), who) for day, what, rule, who in group.told]
    assert expected == sorted(happened + found)


def name_of(guests: list[Guest], about: str) -> str:
    return next((each.display_name for each in guests if str(each.id) == about), "")


@pytest.mark.heavy
@pytest.mark.parametrize("accepts", [False, True])
def test_a_group_of_thousands_takes_as_long_as_that_many_groups_where_it_is_assigned(*, accepts: bool) -> None:
    def took(number: int) -> float:
        group = Group(NINETY_DAYS, tuple([replace(GIL, id=UserId(UUID(int=each))) for each in range(number)]))
        group.run(80)
        accepted: dict[TimerKey, float | None] = {timer.place: None for timer in group.timers if accepts}
        with frozen_objects():
            began = time.process_time()
            ahead(group, since=80, days=5, accepted=accepted)
            return time.process_time() - began

    took(100)
    shorter, longer = (min(took(number) for _ in range(3)) for number in (2_000, 8_000))

    # Sixteen times as long where each is compared with all others.
    assert longer < 8 * shorter


def test_it_ends_where_that_is_asked_for() -> None:
    def end() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        list(simulate(situation_of(Group(NINETY_DAYS)), now=moment(0), until=moment(0), before_each=end))


def test_one_guest_does_not_matter_to_another() -> None:
    alone = [*ahead(Group(NINETY_DAYS, (GIL,))), *ahead(Group(NINETY_DAYS, (HANA,)))]

    assert ahead(Group(NINETY_DAYS, (GIL, HANA))) == sorted(alone)
