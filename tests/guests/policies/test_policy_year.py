# SPDX-License-Identifier: Apache-2.0
"""A year of "Yearly review" and 90 days of "90 days" over a thousand guests, against a plain reckoning of
what is due."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from time import process_time

import pytest

from chamberlain.core.ids import PolicyId, UserId
from tests.estates import Estate
from tests.garbage_collection import frozen_objects
from tests.guests.assignments.guest_fixture import NINETY_DAYS, YEARLY_REVIEW, guest_fixture
from tests.guests.policies.policy_runs import Runs, Told, make_guests, new_group

GUESTS = 1_000
# For all runs together, each of which sees a thousand guests. Other programs on the machine do not matter, so only the
# time of this process counts.
SECONDS = 10.0
YEAR = 380
QUARTER = 95
# The first run comes so late on the day of the assignment. From then on each comes when its job says.
FIRST = 0.25


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    with frozen_objects():
        yield


@pytest.mark.heavy
async def test_it_works_for_a_thousand_guests(estate: Estate) -> None:
    runs = await new_group(guest_fixture(estate))
    guests = await make_guests(runs, GUESTS)
    # Most are there from the beginning, some come later, and some go.
    stays = {guest: stay_of(number) for number, guest in enumerate(guests)}

    year = await live(runs, YEARLY_REVIEW, YEAR, stays)
    told, members, disabled = await runs.told(), set(await runs.members()), await runs.disabled()
    expected = sorted(reviews(stays), key=str)

    assert sorted(told, key=str) == expected
    assert members == {guest for guest, (_, left) in stays.items() if left > YEAR}
    assert disabled == {guest for _, what, guest in expected if what == "disable"}

    await runs.execute("UPDATE directory.users SET account_enabled = true")
    other = await new_group(runs.guest_rules)
    quarter = await live(other, NINETY_DAYS, QUARTER, stays)
    expected = sorted(expiries(stays), key=str)

    assert sorted(await other.told(), key=str) == expected
    removed = {guest for _, what, guest in expected if what == "remove"}
    assert set(await other.members()) == {guest for guest, (_, left) in stays.items() if left > QUARTER} - removed
    assert 0 < len(removed) < GUESTS
    assert await other.disabled() == set()
    assert year + quarter < SECONDS


def stay_of(number: int) -> tuple[int, int]:
    """The day on which a guest comes, and the one on which they go by themselves."""
    came = 2 if number % 10 == 0 else 7 if number % 10 == 1 else 0
    return came, 80 if number % 20 == 7 else 366 if number % 20 == 8 else 10_000


async def live(runs: Runs, policy: PolicyId, days: int, stays: Mapping[UserId, tuple[int, int]]) -> float:
    """Let the days pass, with a run whenever one is due; gives how long all the runs took, in seconds."""
    await runs.join([guest for guest, (came, _) in stays.items() if came == 0])
    await runs.guest_rules.assign(runs.group_id, policyId=str(policy))
    took, due = 0.0, FIRST
    for day in range(days + 1):
        coming = [guest for guest, (came, _) in stays.items() if came == day > 0]
        going = [guest for guest, (_, left) in stays.items() if left == day]
        if coming:
            await runs.join(coming)
        if going:
            await runs.leave(going)
        while due < day + 1:
            began = process_time()
            await runs.run(due)
            took += process_time() - began
            due += await runs.wait() / timedelta(days=1)
    return took


def reviews(stays: Mapping[UserId, tuple[int, int]]) -> Iterator[Told]:
    """Every 365 days, 14 to answer: reminders at the opening and 7 days and 1 day before the end, and then disabled."""
    for guest, (came, left) in stays.items():
        for day, what in ((365, "reminder"), (372, "reminder"), (378, "reminder"), (379, "disable")):
            if came + day < left and came + day <= YEAR:
                yield met(came) + day, what, guest


def expiries(stays: Mapping[UserId, tuple[int, int]]) -> Iterator[Told]:
    """Reminders 14, 7 and 1 days before the 90 days are over, and then removed."""
    for guest, (came, left) in stays.items():
        for day, what in ((76, "reminder"), (83, "reminder"), (89, "reminder"), (90, "remove")):
            if came + day < left and came + day <= QUARTER:
                yield met(came) + day, what, guest


def met(came: int) -> float:
    """Clocks start with the assignment, and those of a later guest with the first run that meets them."""
    return came if came == 0 else came + FIRST
