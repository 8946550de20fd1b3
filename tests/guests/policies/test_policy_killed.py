# SPDX-License-Identifier: Apache-2.0
"""A worker that runs policies is killed between any two things that it does: in the end none is left out, none came
twice."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest

from chamberlain.core.ids import UserId
from tests.estates import Estate
from tests.guests.assignments.guest_fixture import NINETY_DAYS, GuestFixture, guest_fixture
from tests.guests.policies.policy_runs import Runs, Told, make_guests, new_group
from tests.queue.crash_injection import CrashingDatabase, CrashingGuests, CrashPoint, InjectedCrash

pytestmark = pytest.mark.heavy

# Before a worker is killed at one of its points, it has got past all the others; there are some dozens.
FEWEST = 40
EXPIRY = {"afterDays": 90, "reminderDays": [14]}
REVIEW = {"everyDays": 80, "answerDays": 10, "confirmedBy": "owners", "reminderDays": [4]}
TOO_FEW: Told = (0, "reminder", None)


@pytest.mark.parametrize(
    ("rule", "content", "reminded_on"),
    [
        pytest.param("expiry", EXPIRY | {"action": "remove"}, 76, marks=pytest.mark.heavy),
        pytest.param("expiry", EXPIRY | {"action": "disable"}, 76, marks=pytest.mark.heavy),
        ("expiry", EXPIRY | {"action": "notify"}, 76),
        pytest.param("review", REVIEW | {"action": "disable"}, 86, marks=pytest.mark.heavy),
        pytest.param("review", REVIEW | {"action": "remove"}, 86, marks=pytest.mark.heavy),
        pytest.param("review", REVIEW | {"action": "notify"}, 86, marks=pytest.mark.heavy),
        pytest.param("inactivity", EXPIRY | {"action": "remove"}, 76, marks=pytest.mark.heavy),
    ],
)
async def test_it_makes_up_for_what_was_cut_short(
    estate: Estate, rule: str, content: dict[str, object], reminded_on: int
) -> None:
    guest_rules = guest_fixture(estate)
    action = str(content["action"])
    for place in count():
        runs = await new_group(guest_rules)
        # It has no owner, which is reported once.
        await runs.put_policy(NINETY_DAYS, **{rule: content}, minimumOwners={"count": 1})
        guests = await make_guests(runs, 3)
        await runs.join(guests)
        await guest_rules.assign(runs.group_id, policyId=str(NINETY_DAYS))

        was_killed = await run_and_kill(runs, place, [0, 1, 76, 80, 86, 90, 91])

        expected = [TOO_FEW, *told(reminded_on, "reminder", guests), *told(90, action, guests)]
        assert sorted(await runs.told(), key=str) == sorted(expected, key=str), place
        assert set(await runs.members()) == (set() if action == "remove" else set(guests)), place
        assert (await runs.disabled()).issuperset(guests) is (action == "disable"), place
        assert await audited(guest_rules, runs) == len(guests), place
        ended = {"repaired": len(guests), "open": 1} if action == "remove" else {"open": len(guests) + 1}
        assert await found(guest_rules, runs) == ended, place
        assert len(await runs.jobs()) == 1
        if not was_killed:
            break
    assert place > FEWEST


def told(day: int, what: str, guests: Sequence[UserId]) -> list[Told]:
    return [(day, what, guest) for guest in guests]


async def run_and_kill(runs: Runs, place: int, days: Sequence[int]) -> bool:
    """Run it on these days with a worker that is killed at that point; another one takes over. Says whether it was."""
    # In two portions, between which it may be killed, too.
    evaluate, crash_point = replace(runs.guest_rules.evaluate, max_actions=2), CrashPoint(place)
    crashing = replace(
        evaluate,
        database=CrashingDatabase(evaluate.database, crash_point),
        guests=CrashingGuests(evaluate.guests, crash_point),
    )
    was_killed = False
    for day in days:
        runs.set_day(day)
        if not was_killed:
            try:
                await crashing.evaluate(await runs.claim())
                continue
            except InjectedCrash:
                was_killed = True
        await evaluate.evaluate(await runs.claim())
    return was_killed


async def audited(guest_rules: GuestFixture, runs: Runs) -> int:
    ((number,),) = await guest_rules.estate.rows(
        "SELECT count(*) FROM chamberlain.audit WHERE action = 'policy.act' AND payload #>> '{subject,id}' = $1",
        str(runs.group_id),
    )
    return int(str(number))


async def found(guest_rules: GuestFixture, runs: Runs) -> dict[str, int]:
    rows = await guest_rules.estate.rows(
        "SELECT state, count(*) FROM chamberlain.finding WHERE subject_id = $1 GROUP BY state", runs.group_id
    )
    return {str(state): int(str(number)) for state, number in rows}
