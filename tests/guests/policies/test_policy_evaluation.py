# SPDX-License-Identifier: Apache-2.0
"""The effects of a policy on the guests and owners of a group: tables of cases, and properties of all policies."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamberlain.core.ids import PolicyId
from chamberlain.guests.models import FindingClosure, FindingKind, FindingState
from chamberlain.guests.policies.evaluation import apply_outcomes, evaluate
from chamberlain.guests.policies.models import (
    ConfirmedBy,
    Expiry,
    Inactivity,
    MinimumOwners,
    PolicyAction,
    PolicyRules,
    Review,
)
from chamberlain.guests.policies.timers import PolicyRule, confirm
from tests.guests.policies.policy_timeline import (
    GIL,
    HANA,
    INACTIVE,
    NINETY_DAYS,
    NOTHING,
    POLICY,
    SUBJECT,
    TWO_OWNERS,
    YEARLY,
    Group,
    Told,
    days_of,
    kinds,
    moment,
    only,
    well,
)

pytestmark = pytest.mark.pure

REMINDER, REMOVE, DISABLE, NOTIFY = "reminder", "remove", "disable", "notify"
EXPIRY, REVIEW, INACTIVITY, OWNERS = "expiry", "review", "inactivity", "minimumOwners"
GONE, REPAIRED = "gone", "repaired"
WHO = "Gil Hartmann"


def of_gil(rule: str, *happened: tuple[float, str]) -> list[Told]:
    return [(day, what, rule, WHO) for day, what in happened]


def test_it_works() -> None:
    """ "90 days" reminds 14, 7 and 1 days before, and removes the guest then."""
    group = Group(NINETY_DAYS)

    group.run_daily(200)

    assert group.told == of_gil(EXPIRY, (76, REMINDER), (83, REMINDER), (89, REMINDER), (90, REMOVE))
    assert group.guests == ()
    assert group.timers == ()
    assert group.ended == [(90, "guestExpired", REPAIRED)]


@pytest.mark.parametrize(
    ("rules", "told", "left"),
    [
        (NOTHING, [], []),
        (
            YEARLY,
            of_gil(REVIEW, (365, REMINDER), (372, REMINDER), (378, REMINDER), (379, DISABLE)),
            ["reviewDue"],
        ),
        (INACTIVE, of_gil(INACTIVITY, (113, REMINDER), (120, NOTIFY)), ["guestInactive"]),
        (
            replace(NINETY_DAYS, expiry=Expiry(90, (), PolicyAction.DISABLE)),
            of_gil(EXPIRY, (90, DISABLE)),
            ["guestExpired"],
        ),
        # No reminder is sent before the clock has started.
        (
            replace(NOTHING, expiry=Expiry(3, (3, 1), PolicyAction.NOTIFY)),
            of_gil(EXPIRY, (0, REMINDER), (2, REMINDER), (3, NOTIFY)),
            ["guestExpired"],
        ),
        (
            replace(NOTHING, review=Review(2, 2, ConfirmedBy.ADMINISTRATORS, (), PolicyAction.NOTIFY)),
            of_gil(REVIEW, (4, NOTIFY)),
            ["reviewDue"],
        ),
    ],
)
def test_each_rule_takes_its_course(rules: PolicyRules, told: list[Told], left: list[str]) -> None:
    group = Group(rules)

    group.run_daily(800)

    assert group.told == told
    assert kinds(group.findings) == left
    assert group.ended == []


@pytest.mark.parametrize(
    ("days", "told"),
    [
        # Of the reminders that are overdue only the one that is nearest to the action is given.
        ((0, 80, 90), ((80, REMINDER), (90, REMOVE))),
        ((0, 84, 89, 90), ((84, REMINDER), (89, REMINDER), (90, REMOVE))),
        ((0, 89.5, 90), ((89.5, REMINDER), (90, REMOVE))),
        # A guest with a reminder gets no other at the last moment.
        ((0, 76, 100), ((76, REMINDER), (100, REMOVE))),
        # A guest without one is not surprised by the action: it comes as long after the nearest reminder as it had to.
        ((0, 100, 100.5, 101), ((100, REMINDER), (101, REMOVE))),
        ((0, 90, 91), ((90, REMINDER), (91, REMOVE))),
        # The first run may be late by a day. From a later one on a whole period counts, since no run was before.
        ((1, 76, 90), ((76, REMINDER), (90, REMOVE))),
        ((1.5, 77, 77.5, 91.5), ((77.5, REMINDER), (91.5, REMOVE))),
        ((100, 101, 176, 190), ((176, REMINDER), (190, REMOVE))),
        # Running it twice at one moment is boring.
        ((0, 0, 76, 76, 83, 83, 89, 89, 90, 90), ((76, REMINDER), (83, REMINDER), (89, REMINDER), (90, REMOVE))),
    ],
)
def test_after_a_silence_nothing_comes_all_at_once(
    days: tuple[float, ...], told: tuple[tuple[float, str], ...]
) -> None:
    group = Group(NINETY_DAYS)

    for day in days:
        group.run(day)

    assert group.told == of_gil(EXPIRY, *told)


@pytest.mark.parametrize(
    ("days", "told"),
    [
        # A reviewer has the whole time to answer, also when the review opens late.
        ((0, 370, 383.5, 384), ((370, REMINDER), (383.5, REMINDER), (384, DISABLE))),
        ((0, 365, 380), ((365, REMINDER), (380, DISABLE))),
    ],
)
def test_a_review_that_opens_late_is_answered_as_long_as_any(
    days: tuple[float, ...], told: tuple[tuple[float, str], ...]
) -> None:
    group = Group(YEARLY)

    for day in days:
        group.run(day)

    assert group.told == of_gil(REVIEW, *told)


def test_a_review_is_found_from_its_opening_on() -> None:
    group = Group(YEARLY)
    group.run(0)
    assert group.findings == {}

    evaluation = group.look(365)

    (found,) = evaluation.found
    assert (found.kind, found.about, found.policy_id) == (FindingKind.REVIEW_DUE, str(GIL.id), POLICY)
    assert (found.action, found.action_at) == (DISABLE, moment(379))
    assert found.detail == "Gil Hartmann stays only if an owner confirms it by 2027-12-04."
    assert found.observed == {"id": str(GIL.id), "displayName": "Gil Hartmann", "mail": "gil@partner.example"}


@pytest.mark.parametrize("day", [365, 370, 378.9, 379, 500])
def test_a_review_that_is_confirmed_begins_again(day: float) -> None:
    group = Group(YEARLY)
    group.run_daily(int(day))
    confirmed = confirm_gil(group, day)

    assert (confirmed, only(group.timers).round) == (True, 2)
    told = group.told.copy()
    group.run_daily(int(day) + 364, since=int(day) + 1)
    assert group.told == told
    assert kinds(group.findings) == []
    group.run(day + 365)
    assert group.told == [*told, *of_gil(REVIEW, (day + 365, REMINDER))]


def confirm_gil(group: Group, day: float) -> bool:
    """Confirm that Gil stays."""
    assert group.rules.review is not None
    timer = only(group.timers)
    confirmed = confirm(timer, group.rules.review, now=moment(day))
    if confirmed is None:
        return False
    group.timers = (confirmed,)
    group.findings.pop((FindingKind.REVIEW_DUE, str(GIL.id)))
    return True


def test_it_rejects_a_confirmation_of_what_is_not_open_or_just_being_acted_upon() -> None:
    early, late, other = Group(YEARLY), Group(YEARLY), Group(NINETY_DAYS)
    early.run_daily(364)
    late.run_daily(378)
    late.keep(379, late.look(379))
    other.run_daily(89)

    assert not confirm_gil(early, 364)
    assert only(late.timers).is_in_progress
    assert not confirm_gil(late, 379)
    assert YEARLY.review is not None
    assert confirm(only(other.timers), YEARLY.review, now=moment(89)) is None


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        # With old activity it counts from the assignment, so that every guest has the whole time before an action.
        ({0: -200}, ((113, REMINDER), (120, NOTIFY))),
        ({0: -200, 50: 49}, ((162, REMINDER), (169, NOTIFY))),
        ({0: -200, 115: 114}, ((113, REMINDER), (227, REMINDER), (234, NOTIFY))),
        # A clock that goes ahead of ours is not believed.
        ({0: 3000}, ()),
        ({0: 3000, 10: 5}, ((122, REMINDER), (129, NOTIFY))),
    ],
)
def test_a_sign_of_a_guest_starts_the_clock_of_inactivity_again(
    seen: dict[int, int], told: tuple[tuple[float, str], ...]
) -> None:
    group = Group(INACTIVE)

    for day in range(300):
        if day in seen:
            group.guests = (replace(GIL, last_seen_at=moment(seen[day])),)
        group.run(day)

    assert group.told == of_gil(INACTIVITY, *told)


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_guest_who_is_seen_while_they_are_being_removed_is_reported_as_removed(*, is_gone: bool) -> None:
    """The outcome of a run that was interrupted behind the directory is unknown."""
    group = Group(replace(INACTIVE, inactivity=Inactivity(120, (), PolicyAction.REMOVE)))
    group.run_daily(119)
    group.keep(120, group.look(120))
    group.guests = () if is_gone else (replace(GIL, last_seen_at=moment(120.1)),)

    group.run(120.5)

    assert group.told == of_gil(INACTIVITY, (120.5, REMOVE))
    assert group.ended == [(120.5, "guestInactive", REPAIRED)]


def test_a_sign_of_a_guest_ends_what_was_found() -> None:
    group = Group(INACTIVE)
    group.run_daily(130)
    assert kinds(group.findings) == ["guestInactive"]

    group.guests = (replace(GIL, last_seen_at=moment(130.5)),)
    group.run(131)

    assert group.findings == {}
    assert group.ended == [(131, "guestInactive", GONE)]


def test_a_later_guest_has_a_clock_of_their_own() -> None:
    group = Group(NINETY_DAYS)
    group.run_daily(49)

    group.guests = (GIL, HANA)
    group.run_daily(140, since=50)

    removed = [(day, who) for day, what, _, who in group.told if what == REMOVE]
    assert removed == [(90, "Gil Hartmann"), (140, "Hana Novak")]


def test_the_first_guest_of_a_group_has_the_whole_time() -> None:
    group = Group(NINETY_DAYS, guests=())
    group.run_daily(89)

    group.guests = (GIL,)
    group.run(90)

    assert only(group.timers).action_at == moment(180)


def test_a_guest_who_comes_back_starts_again() -> None:
    group = Group(NINETY_DAYS)
    group.run_daily(80)
    group.guests = ()
    group.run(81)
    assert group.timers == ()

    group.guests = (GIL,)
    group.run_daily(171, since=82)
    group.told = [each for each in group.told if each[0] > 81]
    group.run(172)

    assert group.told == of_gil(EXPIRY, (158, REMINDER), (165, REMINDER), (171, REMINDER), (172, REMOVE))


@pytest.mark.parametrize(
    ("rules", "policy_id", "action_on"),
    [
        # Another name or another rule beside it restarts nothing.
        (NINETY_DAYS, POLICY, 90),
        (replace(NINETY_DAYS, minimum_owners=TWO_OWNERS.minimum_owners), POLICY, 90),
        (replace(NOTHING, expiry=Expiry(90, (1, 7, 14), PolicyAction.REMOVE)), POLICY, 90),
        # The values of the rule, or another policy, make a difference.
        (replace(NOTHING, expiry=Expiry(60, (14, 7, 1), PolicyAction.REMOVE)), POLICY, 145),
        (replace(NOTHING, expiry=Expiry(90, (14, 7), PolicyAction.REMOVE)), POLICY, 175),
        (replace(NOTHING, expiry=Expiry(90, (14, 7, 1), PolicyAction.DISABLE)), POLICY, 175),
        (NINETY_DAYS, PolicyId(GIL.id), 175),
    ],
)
def test_what_administrators_said_last_counts_from_then_on(
    rules: PolicyRules, policy_id: PolicyId, action_on: int
) -> None:
    group = Group(NINETY_DAYS)
    group.run_daily(80)

    group.rules, group.policy_id = rules, policy_id
    group.run_daily(300, since=85)

    assert [day for day, what, *_ in group.told if what != REMINDER] == [action_on]


def test_what_is_assigned_again_starts_again_though_it_says_the_same() -> None:
    group = Group(NINETY_DAYS)
    group.run_daily(80)

    group.assigned_at, group.is_begun = moment(80.5), False
    group.run(81)

    assert only(group.timers).started_at == moment(80.5)


def test_it_takes_nothing_back_but_ends_all_when_nothing_is_assigned() -> None:
    group = Group(replace(YEARLY, inactivity=INACTIVE.inactivity, minimum_owners=TWO_OWNERS.minimum_owners), owners=1)
    group.run_daily(366)
    assert kinds(group.findings) == ["guestInactive", "reviewDue", "tooFewOwners"]

    evaluation = evaluate(SUBJECT, None, group.present, group.timers, now=moment(367))

    assert (evaluation.timers, evaluation.changed, evaluation.taken, evaluation.found) == ((), (), (), ())
    assert len(evaluation.gone) == 3
    assert {(each.kind, each.state) for each in evaluation.ended} == {
        (FindingKind.GUEST_INACTIVE, FindingState.GONE),
        (FindingKind.REVIEW_DUE, FindingState.GONE),
        (FindingKind.TOO_FEW_OWNERS, FindingState.GONE),
    }


@pytest.mark.parametrize(
    ("owners", "told"),
    [
        ({}, []),
        ({5: 1}, [5]),
        ({5: 1, 7: 0}, [5]),
        ({0: 0, 3: 2, 9: 1, 12: 3}, [0, 9]),
    ],
)
def test_too_few_owners_are_reported_once_each_time_it_begins(owners: dict[int, int], told: list[int]) -> None:
    group = Group(TWO_OWNERS)

    for day in range(20):
        group.owners = owners.get(day, group.owners)
        group.run(day)
        assert kinds(group.findings) == (["tooFewOwners"] if group.owners < 2 else [])

    assert group.told == [(day, REMINDER, OWNERS, "") for day in told]


@pytest.mark.parametrize(
    ("owners", "detail"),
    [
        (0, "It has no owner, and the policy requires 2. Add owners in the directory."),
        (1, "It has 1 owner, and the policy requires 2. Add owners in the directory."),
    ],
)
def test_too_few_owners_are_found_with_their_number(owners: int, detail: str) -> None:
    (found,) = Group(TWO_OWNERS, owners=owners).look(0).found

    assert (found.property, found.wanted, found.observed, found.detail) == ("owners", 2, owners, detail)


def test_more_owners_that_are_asked_for_are_reported_again() -> None:
    group = Group(TWO_OWNERS, owners=1)
    group.run(0)

    group.rules = replace(NOTHING, minimum_owners=MinimumOwners(3, (), PolicyAction.NOTIFY))
    group.run(1)
    group.run(2)

    assert [day for day, *_ in group.told] == [0, 1]


@pytest.mark.parametrize("rules", [NINETY_DAYS, replace(NOTHING, expiry=Expiry(90, (), PolicyAction.DISABLE))])
def test_an_action_is_announced_before_it_is_asked_for(rules: PolicyRules) -> None:
    group = Group(rules)
    group.run_daily(89)

    evaluation = group.look(90)

    timer = only(evaluation.due)
    assert evaluation.changed == evaluation.due
    assert (timer.is_in_progress, evaluation.taken) == (True, ())
    assert [each.action for each in evaluation.found] == [timer.action]
    assert evaluation.next_at is None


@pytest.mark.parametrize(
    ("rules", "is_done", "told"),
    [
        (NINETY_DAYS, True, [(REMOVE, [(FindingKind.GUEST_EXPIRED, FindingState.REPAIRED)])]),
        (NINETY_DAYS, False, []),
        (replace(NOTHING, expiry=Expiry(90, (), PolicyAction.DISABLE)), False, []),
    ],
)
def test_a_run_that_was_killed_behind_its_announcement_is_made_up_for(
    rules: PolicyRules,
    is_done: bool,  # noqa: FBT001 - a case of a table.
    told: list[tuple[str, list[tuple[FindingKind, FindingState]]]],
) -> None:
    group = Group(rules)
    group.run_daily(89)
    group.keep(90, group.look(90))
    group.guests = () if is_done else group.guests

    evaluation = group.look(90.5)

    assert [timer.action for timer in evaluation.taken] == [what for what, _ in told]
    assert [(each.kind, each.state) for each in evaluation.ended] == [each for _, ends in told for each in ends]
    assert [timer.place for timer in evaluation.due] == ([] if is_done else [(PolicyRule.EXPIRY, GIL.id)])


def test_what_could_not_be_done_is_tried_again_every_day_and_told_once() -> None:
    group = Group(NINETY_DAYS, answer=lambda _timer: "Gil Hartmann is the last owner.")
    group.run_daily(90)
    told = group.told.copy()
    (detail,) = group.findings.values()

    assert group.run(90.1) == moment(91)
    group.run_daily(95, since=91)
    assert group.told == told
    assert detail == (
        "The 90 days for which Gil Hartmann may be a guest here are over. Gil Hartmann is the last owner."
    )

    group.answer = well
    group.run(96)

    assert group.told == [*told, (96, REMOVE, EXPIRY, WHO)]
    assert group.ended == [(96, "guestExpired", REPAIRED)]


def test_whoever_leaves_by_themselves_was_not_removed() -> None:
    group = Group(NINETY_DAYS, answer=lambda _timer: "It did not work.")
    group.run_daily(90)

    group.guests = ()
    group.run(90.5)

    assert [what for _, what, *_ in group.told if what != REMINDER] == []
    assert group.ended == [(90.5, "guestExpired", GONE)]


def test_with_a_guest_all_that_was_found_about_them_goes() -> None:
    review = Review(80, 20, ConfirmedBy.OWNERS, (), PolicyAction.DISABLE)
    group = Group(replace(NINETY_DAYS, review=review), guests=(GIL, HANA))
    group.run_daily(85)
    assert kinds(group.findings) == ["reviewDue", "reviewDue"]

    group.answer = lambda timer: None if timer.guest == GIL else "Hana Novak is the last owner."
    group.run_daily(90, since=86)

    assert sorted(group.findings) == [(FindingKind.GUEST_EXPIRED, str(HANA.id)), (FindingKind.REVIEW_DUE, str(HANA.id))]
    assert {timer.guest for timer in group.timers} == {HANA}


def test_what_was_told_by_another_run_meanwhile_is_not_told_again() -> None:
    group = Group(NINETY_DAYS)
    group.run_daily(89)
    group.keep(90, group.look(90))
    act = (only(group.timers), None)
    first = apply_outcomes(SUBJECT, NINETY_DAYS, group.timers, [act], now=moment(90))
    group.keep(90, first)

    second = apply_outcomes(SUBJECT, NINETY_DAYS, group.timers, [act], now=moment(90))
    after_restart = apply_outcomes(SUBJECT, NINETY_DAYS, [replace(act[0], trouble="No.")], [act], now=moment(90))

    assert [len(each.taken) for each in (first, second, after_restart)] == [1, 0, 0]
    assert (second.gone, after_restart.changed, after_restart.ended) == ((), (), ())


def test_an_account_that_was_disabled_stays_found() -> None:
    group = Group(YEARLY)
    group.run_daily(379)

    (detail,) = group.findings.values()
    assert detail == "Gil Hartmann was not confirmed in time. The account was disabled."
    assert group.run(380) is None


def test_what_somebody_has_accepted_rests() -> None:
    group = Group(YEARLY)
    group.run_daily(370)
    group.accepted = {(PolicyRule.REVIEW, GIL.id)}
    told = group.told.copy()

    group.run_daily(500, since=371)

    assert group.told == told
    assert kinds(group.findings) == ["reviewDue"]
    assert group.run(501) is None


@pytest.mark.parametrize("until", [376, 379, 380, 500])
def test_what_is_not_accepted_any_more_has_its_whole_time_again(until: int) -> None:
    group = Group(YEARLY)
    group.run_daily(375)
    group.accepted = {(PolicyRule.REVIEW, GIL.id)}
    group.run_daily(until - 1, since=376)
    group.run(until - 0.5)
    group.accepted = ()
    group.told.clear()

    group.run_daily(until + 20, since=until)

    assert group.told == of_gil(
        REVIEW, (until, REMINDER), (until + 7, REMINDER), (until + 13, REMINDER), (until + 14, DISABLE)
    )


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        # Every guest gets a new reminder first; of several reminders, the nearest is given.
        (NINETY_DAYS, of_gil(EXPIRY, (101, REMINDER), (102, REMOVE))),
        (
            replace(NOTHING, expiry=Expiry(90, (5,), PolicyAction.REMOVE)),
            of_gil(EXPIRY, (101, REMINDER), (106, REMOVE)),
        ),
        (replace(NOTHING, expiry=Expiry(90, (), PolicyAction.REMOVE)), of_gil(EXPIRY, (101, REMOVE))),
        # A reviewer has the whole time to answer.
        (
            replace(NOTHING, review=Review(80, 10, ConfirmedBy.OWNERS, (5,), PolicyAction.REMOVE)),
            of_gil(REVIEW, (106, REMINDER), (111, REMOVE)),
        ),
    ],
)
def test_an_action_that_was_refused_before_it_was_accepted_is_announced_again(
    rules: PolicyRules, told: list[Told]
) -> None:
    group = Group(rules, answer=lambda _timer: "The directory does not let them go.")
    group.run_daily(92)
    group.accepted = {schedule.place for schedule in group.timers}
    group.run_daily(100, since=93)
    group.answer, group.accepted = well, ()
    group.told.clear()

    group.run(101)
    stands = kinds(group.findings)
    group.run_daily(115, since=102)

    assert group.told == told
    assert (len(stands), kinds(group.findings)) == (0 if told[0][1] == REMOVE else 1, [])


def test_an_action_that_is_refused_again_after_an_acceptance_is_not_announced_every_day() -> None:
    group = Group(NINETY_DAYS, answer=lambda _timer: "The directory does not let them go.")
    group.run_daily(92)
    group.accepted = {(PolicyRule.EXPIRY, GIL.id)}
    group.run_daily(100, since=93)
    group.accepted = ()
    group.told.clear()

    group.run_daily(120, since=101)

    assert group.told == of_gil(EXPIRY, (101, REMINDER))


@pytest.mark.parametrize("cut_short", [False, True])
def test_a_guest_whose_time_is_over_by_two_rules_is_removed_once(*, cut_short: bool) -> None:
    group = Group(
        replace(
            INACTIVE, expiry=Expiry(120, (), PolicyAction.REMOVE), inactivity=Inactivity(120, (), PolicyAction.REMOVE)
        )
    )
    group.run(0)
    if cut_short:
        group.keep(120, group.look(120))
        group.guests = ()

    group.run(120)

    assert [(day, what) for day, what, _, _ in group.told] == [(120, REMOVE)]
    assert sorted(group.ended) == [(120, "guestExpired", REPAIRED), (120, "guestInactive", REPAIRED)]


def test_it_says_when_something_happens_next() -> None:
    group = Group(replace(NINETY_DAYS, review=YEARLY.review))

    moments: list[float] = []
    at = group.run(0)
    while at is not None and len(moments) < 20:
        moments.append(days_of(at))
        at = group.run(days_of(at))

    assert moments == [76, 83, 89, 90]


def test_it_follows_a_guest_who_is_renamed() -> None:
    group = Group(NINETY_DAYS)
    group.run(0)
    group.guests = (replace(GIL, display_name="Gil Huber", last_seen_at=moment(0)),)

    evaluation = group.look(1)

    (timer,) = evaluation.changed
    assert timer.guest == replace(GIL, display_name="Gil Huber")
    assert timer.started_at == moment(0)


DAYS = st.integers(1, 40)
REMINDERS = st.lists(st.integers(1, 40), max_size=4, unique=True)
ACTIONS = st.sampled_from(PolicyAction)


@st.composite
def policies(draw: st.DrawFn) -> PolicyRules:
    """Any policy of one rule about guests, its days small."""
    days, answer, action = draw(DAYS), draw(DAYS), draw(ACTIONS)
    within = answer if (is_review := draw(st.booleans())) else days
    reminders = tuple([each for each in draw(REMINDERS) if each <= within])
    if is_review:
        return replace(NOTHING, review=Review(days, answer, ConfirmedBy.OWNERS, reminders, action))
    if draw(st.booleans()):
        return replace(NOTHING, expiry=Expiry(days, reminders, action))
    return replace(NOTHING, inactivity=Inactivity(days, reminders, action))


def shape_of(rules: PolicyRules) -> tuple[int, tuple[int, ...]]:
    """How many days there are to the action, and the days before it that are reminded of."""
    if (review := rules.review) is not None:
        return review.every_days + review.answer_days, review.reminder_days
    rule = rules.expiry or rules.inactivity
    assert rule is not None
    return rule.after_days, rule.reminder_days


@given(rules=policies())
@settings(max_examples=150, deadline=None)
def test_with_a_run_every_day_everything_comes_on_its_day(rules: PolicyRules) -> None:
    group = Group(rules)
    whole, reminders = shape_of(rules)

    group.run_daily(whole + 50)

    expected = [whole - days for days in sorted(reminders, reverse=True)]
    assert [day for day, what, *_ in group.told if what == REMINDER] == expected
    assert [day for day, what, *_ in group.told if what != REMINDER] == [whole]


@given(rules=policies(), pauses=st.lists(st.integers(0, 200), min_size=1, max_size=40))
@settings(max_examples=300, deadline=None)
def test_whenever_it_runs_nothing_comes_too_soon_or_twice(rules: PolicyRules, pauses: list[int]) -> None:
    group = Group(rules)
    whole, reminders = shape_of(rules)
    day = 0.0
    for pause in pauses:
        group.run(day)
        group.run(day)
        day += pause / 4
    # In the end it runs as often as it asks to.
    at = group.run(day)
    while at is not None:
        day = max(day, days_of(at))
        at = group.run(day)

    acted = [on for on, what, *_ in group.told if what != REMINDER]
    reminded = [on for on, what, *_ in group.told if what == REMINDER]
    assert len(acted) == 1
    assert acted[0] >= whole
    assert len(reminded) <= len(reminders)
    assert bool(reminded) == bool(reminders)
    # Never two at once, and never the action with the first of them.
    assert all(before < after for before, after in pairwise([*reminded, acted[0]]))


def test_an_ended_finding_is_reported_by_its_kind() -> None:
    group = Group(YEARLY)
    group.run_daily(366)
    group.guests = ()

    assert group.look(367).ended == (FindingClosure(SUBJECT, FindingKind.REVIEW_DUE, str(GIL.id), FindingState.GONE),)
