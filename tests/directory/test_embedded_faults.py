# SPDX-License-Identifier: Apache-2.0
"""Single injected faults: the completed steps and the errors."""

from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.core.errors import Cause, Rejected, TryAgain
from chamberlain.directory.embedded.directory import FaultyDirectory
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import GroupOutcome, Work
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.faults import (
    NOT_FOUND,
    NOT_SHOWN,
    TOO_MANY,
    Faults,
    FaultyGroups,
    FaultyMailboxes,
    FaultyRegister,
    Injection,
    Outages,
)
from tests.databases import Databases
from tests.directory.group_work import reference, work
from tests.directory.retries import Clock
from tests.directory.sample_directory import ADA, BEN, CLEO, INTERNAL, TENANT

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
HOURLY = Outages(lasting=HOUR, every=2 * HOUR)


def directory_with(faults: Faults, databases: Databases, clock: Clock) -> FaultyDirectory:
    pool, injection = databases.worker.pool, Injection(faults, clock)
    return FaultyDirectory(
        FaultyGroups(pool, injection, key_member=KEY_MEMBER), FaultyMailboxes(pool, injection, key_member=KEY_MEMBER)
    )


def time_to_next_outage(clock: Clock) -> None:
    clock.wait(2 * HOUR - (clock() - datetime(1970, 1, 1, tzinfo=UTC)) % (2 * HOUR))


def wait_of(outcome: GroupOutcome) -> TryAgain:
    assert isinstance(outcome.fault, TryAgain)
    return outcome.fault


async def test_it_works_step_by_step(filled: Databases) -> None:
    one = work(owners=(ADA, CLEO), members=(ADA, BEN, CLEO), label_id=INTERNAL, channels=("General",))
    directory = directory_with(Faults(), filled, Clock())
    seen = []

    for number in range(1, len(one.steps) + 1):
        await directory.ensure([Work(one.wanted, one.steps[:number])])
        [group] = await directory.observe([reference(one)])
        assert group is not None
        seen.append((set(group.owners), set(group.members), group.label_id, group.channels))

    assert one.steps[:3] == (Step.CREATE_GROUP, Step.ADD_OWNERS, Step.ADD_MEMBERS)
    assert seen == [
        ({ADA}, {ADA}, None, None),
        ({ADA, CLEO}, {ADA, CLEO}, None, None),
        ({ADA, CLEO}, {ADA, BEN, CLEO}, None, None),
        ({ADA, CLEO}, {ADA, BEN, CLEO}, INTERNAL, None),
        ({ADA, CLEO}, {ADA, BEN, CLEO}, INTERNAL, ()),
        ({ADA, CLEO}, {ADA, BEN, CLEO}, INTERNAL, ("General",)),
    ]


async def test_it_waits_until_the_group_is_known(filled: Databases) -> None:
    clock = Clock()
    directory = directory_with(Faults(visibility_delay=HOUR, not_found_after_create=2 * HOUR), filled, clock)
    one = work()

    [hidden] = await directory.ensure([one])
    [again] = await directory.ensure([one])
    clock.wait(HOUR)
    [unknown] = await directory.ensure([one])
    clock.wait(HOUR)
    [known] = await directory.ensure([one])

    assert hidden.done == again.done == (Step.CREATE_GROUP,)
    assert (wait_of(hidden).reason, wait_of(hidden).cause) == (NOT_SHOWN, Cause.NOT_YET)
    assert (hidden.observed, again.observed) == (None, None)
    assert unknown.observed is not None
    # Steps whose effect the group shows already are done.
    assert unknown.done == (Step.CREATE_GROUP, Step.ADD_OWNERS)
    assert (wait_of(unknown).reason, wait_of(unknown).cause) == (NOT_FOUND, Cause.NOT_YET)
    assert (known.fault, known.done) == (None, one.steps)


async def test_throttling_stops_one_item(filled: Databases) -> None:
    directory = directory_with(Faults(throttle=3), filled, Clock())
    works = [Work(one.wanted, (Step.CREATE_GROUP,)) for one in (work(), work(), work(), work())]

    outcomes = await directory.ensure(works)

    assert [outcome.fault is None for outcome in outcomes] == [True, True, False, True]
    busy = wait_of(outcomes[2])
    assert (busy.after, busy.reason, busy.cause) == (SECOND, TOO_MANY, Cause.BUSY)
    assert outcomes[2].done == ()
    assert await directory.observe([reference(works[2])]) == [None]


async def test_it_is_unavailable_during_an_outage(filled: Databases) -> None:
    clock = Clock()
    one = work()
    directory = directory_with(Faults(outages=HOURLY), filled, clock)
    people = EmbeddedPeople(FaultyRegister(filled.application.pool, Injection(Faults(outages=HOURLY), clock)))
    question = PeopleQuestion(TENANT, users=frozenset({ADA}))
    time_to_next_outage(clock)

    with pytest.raises(TryAgain) as ensured:
        await directory.ensure([one])
    with pytest.raises(TryAgain):
        await directory.observe([reference(one)])
    with pytest.raises(TryAgain, match="not available at present"):
        await people.look_up(question)
    clock.wait(HOUR)
    answer = await people.look_up(question)

    assert timedelta(0) < ensured.value.after <= HOUR
    assert ensured.value.cause is Cause.AWAY
    assert set(answer.people) == {ADA}
    [after] = await directory.ensure([one])
    assert after.fault is None


async def test_a_later_step_rejects_a_removed_object(filled: Databases) -> None:
    clock = Clock()
    directory = directory_with(Faults(visibility_delay=HOUR), filled, clock)
    one = work(members=(ADA, CLEO))
    await directory.ensure([one])
    async with filled.worker.pool.acquire() as connection:
        await connection.execute("DELETE FROM directory.users WHERE id = $1", CLEO)
    clock.wait(HOUR)

    [outcome] = await directory.ensure([one])

    assert isinstance(outcome.fault, Rejected)
    assert outcome.fault.code == "userUnknown"
    assert outcome.done == (Step.CREATE_GROUP, Step.ADD_OWNERS)
    assert outcome.observed is not None


async def test_visible_after_includes_the_fault_delays(filled: Databases) -> None:
    clock = Clock()

    soon = directory_with(Faults(throttle=3), filled, clock)
    late = directory_with(Faults(visibility_delay=15 * SECOND, not_found_after_create=HOUR), filled, clock)

    capabilities = [await each.capabilities(TENANT) for each in (soon, late)]
    assert [each.visible_after for each in capabilities] == [SECOND, HOUR]
