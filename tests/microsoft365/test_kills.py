# SPDX-License-Identifier: Apache-2.0
"""A worker that is killed after any request creates each group, team and channel once."""

import os
from collections import Counter
from datetime import timedelta

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.directory.groups import MemberShipType, WantedGroup, remaining
from chamberlain.directory.microsoft365.connection import Microsoft365
from chamberlain.directory.port import GroupWork, Work
from chamberlain.directory.steps import Step
from tests.directory.group_work import reference, work
from tests.directory.sample_directory import ADA, BEN, CLEO, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import sample_fake
from tests.microsoft365.recording_transport import Killed, RecordingTransport
from tests.microsoft365.stage import opened

# Seeds of the hostile directory. `dev.py prove microsoft365` runs more of them.
SEEDS = range(1, int(os.environ.get("CHAMBERLAIN_TEST_GRAPH_KILLS", "3")) + 1)
REQUEST = RequestId(ADA)
GROUP = work(request_id=REQUEST, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
TEAM = work(request_id=REQUEST, owners=(ADA, CLEO), members=(ADA, BEN, CLEO), channels=("General", "Plans", "Archive"))
DYNAMIC = work(
    request_id=REQUEST,
    member_ship_type=MemberShipType.DYNAMIC,
    membership_rule='user.department -eq "Sales"',
    members=(),
)
WORKS = {"group": GROUP, "team": TEAM, "dynamic": DYNAMIC}


async def run(microsoft365: Microsoft365, fake: FakeMicrosoft365, steps: GroupWork, done: list[Step]) -> None:
    """Provision as a worker does: record completed steps, and wait between the attempts."""
    for _ in range(400):
        left = tuple(step for step in steps.steps if step not in done)
        if not left:
            return
        [outcome] = await microsoft365.adapters.directory.ensure([Work(steps.wanted, left)])
        assert not isinstance(outcome.fault, Rejected), outcome.fault
        done += outcome.done
        if isinstance(outcome.fault, TryAgain):
            fake.clock.wait(outcome.fault.after)
    raise AssertionError("There was no end.")


async def killed_after(number: int, seed: int | None, works: GroupWork) -> bool:
    """Kill a worker after a request, start another one, and check the result. Returns whether it was killed."""
    fake = sample_fake(seed=seed)
    recorder = RecordingTransport(fake.transport(), stop_after=number)
    first = opened(fake, TENANT, recorder)
    done: list[Step] = []
    is_killed = False
    try:
        await run(first, fake, works, done)
    except Killed:
        is_killed = True
        fake.clock.wait(timedelta(seconds=30))
        second = opened(fake, TENANT)
        await run(second, fake, works, done)
        await second.close()
    await first.close()
    await assert_complete(fake, works.wanted)
    return is_killed


async def assert_complete(fake: FakeMicrosoft365, wanted: WantedGroup) -> None:
    tenant = fake.tenants[str(TENANT)]
    [group] = tenant.created("group")
    counted = Counter(each.key for each in tenant.created("channel"))
    assert len(tenant.created("team")) == (wanted.channels is not None)
    assert set(counted.values()) <= {1}
    assert {"General", *tenant.channel_names(group.id)} == {"General", *(wanted.channels or ())}
    assert tenant.owner_ids(group.id) == {str(each) for each in wanted.owners}
    assert tenant.member_ids(group.id) == (
        {str(each) for each in wanted.members} if wanted.member_ship_type is not MemberShipType.DYNAMIC else set()
    )
    fake.clock.wait(tenant.lags.longest)
    # No further faults: the state counts.
    fake.faults.rates = {}
    microsoft365 = opened(fake, TENANT)
    [seen] = await microsoft365.adapters.directory.observe([reference(Work(wanted, ()))])
    await microsoft365.close()
    assert seen is not None
    assert remaining(wanted, seen, WORKS["team"].steps if wanted.channels else WORKS["group"].steps) == ()


@pytest.mark.parametrize("name", WORKS)
async def test_it_creates_each_object_once_after_a_kill(name: str) -> None:
    number = 1
    while await killed_after(number, None, WORKS[name]):
        number += 1

    assert number > 2


@pytest.mark.heavy
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", WORKS)
async def test_it_creates_each_object_once_after_a_kill_in_a_hostile_directory(name: str, seed: int) -> None:
    number = 1
    while await killed_after(number, seed, WORKS[name]):
        number += 1

    assert number > 2
