# SPDX-License-Identifier: Apache-2.0
"""Wrong bodies of the adapter's requests: the recorder or the fake notices them, or the state of the tenant differs."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import RequestId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.microsoft365.operations import CREATE_GROUP, OPERATIONS, REVOKE
from chamberlain.directory.models import ObjectType, PeopleQuestion
from chamberlain.directory.port import DisableGuest, Marking, Work
from chamberlain.directory.steps import Step
from tests.directory.group_work import work
from tests.directory.guest_work import ASSIGNMENTS, assign
from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import EXTENSION, sample_fake
from tests.microsoft365.fake.tenant import BOUND, members
from tests.microsoft365.mutations import MutatingTransport, Mutation, draw, used_places
from tests.microsoft365.recording_transport import DifferentFromPublished, RecordingTransport
from tests.microsoft365.stage import opened
from tests.microsoft365.test_mutations import state

pytestmark = pytest.mark.heavy

SEED = 27
# The groups and teams after all writes, but for generated values.
WRITTEN = Path(__file__).with_name("written.json")
TEAM = work(
    request_id=RequestId(UUID(int=1)), description="Ships", owners=(ADA,), members=(ADA,), channels=("General", "Plans")
)
DYNAMIC = work(
    request_id=RequestId(UUID(int=2)),
    member_ship_type=MemberShipType.DYNAMIC,
    membership_rule='user.department -eq "Sales"',
    members=(),
)
MARKED = replace(TEAM.wanted, marks={**TEAM.wanted.marks, "templateId": "t", "policyId": "p"})
RENAMED = replace(MARKED, display_name="Port", description=None, member_ship_type=MemberShipType.PUBLIC)
LEFT_ALONE = work(request_id=RequestId(UUID(int=4)), owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
GROUP = work(request_id=RequestId(UUID(int=3)), owners=(ADA,), members=(ADA,))
GROWN = replace(GROUP.wanted, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
JOINED = replace(TEAM.wanted, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
PEOPLE = (Step.ADD_OWNERS, Step.ADD_MEMBERS)


@dataclass
class Run:
    """A run: the recorder, the faults, and everything that tests can see of the rest."""

    recorder: RecordingTransport
    faults: Sequence[OutsideFault | None]
    seen: list[Any]


async def provision(fake: FakeMicrosoft365, transport: httpx2.AsyncBaseTransport) -> Sequence[OutsideFault | None]:
    """Send every body that the adapter has. Returns the faults."""
    microsoft365 = opened(fake, TENANT, transport)
    ports = microsoft365.adapters
    works = [
        TEAM,
        DYNAMIC,
        LEFT_ALONE,
        GROUP,
        Work(GROWN, PEOPLE),
        Work(JOINED, PEOPLE),
        Work(MARKED, (Step.ASSIGN_GUEST_RULES,)),
        Work(RENAMED, (Step.SET_PROPERTIES,)),
    ]
    faults = [outcome.fault for each in works for outcome in await ports.directory.ensure([each])]
    for assignment in ASSIGNMENTS[1:3]:
        faults += [each.fault for each in await ports.guests.ensure([assign(PARTNERS, assignment)])]
    faults += [each.fault for each in await ports.guests.act([DisableGuest(TENANT, GIL)])]
    faults += await ports.adoptions.mark([Marking(TENANT, ObjectType.GROUP, OUTER, EXTENSION, RequestId(UUID(int=5)))])
    # All replicas hide a member, so that the others are added one by one.
    tenant = fake.tenants[str(TENANT)]
    tenant.lags = replace(tenant.lags, replicas=(timedelta(minutes=1),) * 3)
    fake.clock.wait(timedelta(minutes=2))
    tenant.log.put(members(str(OUTER)), str(BEN), BOUND)
    adopted = replace(LEFT_ALONE.wanted, request_id=RequestId(UUID(int=5)), owners=(), members=(BEN, CLEO))
    [outcome] = await ports.directory.ensure([Work(adopted, (Step.ADD_MEMBERS,))])
    await microsoft365.close()
    return [*faults, outcome.fault]


async def run(mutation: Mutation | None) -> Run:
    fake = sample_fake()
    recorder = RecordingTransport(fake.transport())
    transport = recorder if mutation is None else MutatingTransport(recorder, mutation)
    microsoft365 = opened(fake, TENANT, transport)
    question = PeopleQuestion(TENANT, member=BEN, groups=frozenset({OUTER, PARTNERS}))
    answer = await microsoft365.adapters.people.look_up(question)
    await microsoft365.close()
    faults = await provision(fake, transport)
    return Run(recorder, faults, [answer, *state(fake.tenants[str(TENANT)])])


async def is_noticed(mutation: Mutation, expected: list[Any]) -> bool:
    try:
        found = await run(mutation)
    except (DifferentFromPublished, OutsideFault):
        return True
    return any(fault is not None for fault in found.faults) or found.seen != expected


@pytest.fixture(scope="module")
def unnoticed() -> frozenset[str]:
    """The mutations of all properties in use that change nothing."""
    return asyncio.run(find_unnoticed())


async def find_unnoticed() -> frozenset[str]:
    expected = await run(None)
    assert set(expected.faults) == {None}
    every = draw(SEED, count=1_000, used=used_places(expected.recorder.exchanges))
    return frozenset([str(each) for each in every if not await is_noticed(each, expected.seen)])


async def test_all_but_two_of_forty_mutations_are_noticed(unnoticed: frozenset[str]) -> None:
    recorder = (await run(None)).recorder
    mutations = draw(SEED, used=used_places(recorder.exchanges))

    assert len(mutations) == 40
    assert len(unnoticed.intersection(map(str, mutations))) <= 2


async def test_the_right_bodies_write_this() -> None:
    """A wrong body in the adapter itself fails here: the state is compared with a written one."""
    untouched = state(sample_fake().tenants[str(TENANT)])

    answer, *found = (await run(None)).seen

    changed = json.loads(json.dumps([each for each in found if each not in untouched], default=sorted))
    assert changed == json.loads(WRITTEN.read_text(encoding="utf-8"))
    assert answer.member_of == {OUTER}


async def test_every_body_of_the_adapter_is_sent() -> None:
    recorder = (await run(None)).recorder

    without_body = {each for each in OPERATIONS if each.method in {"GET", "DELETE"}} | {REVOKE}
    # Its body is that of the upsert.
    without_body.add(CREATE_GROUP)
    assert {each.operation for each in used_places(recorder.exchanges)} == {
        each.name for each in {*OPERATIONS} - without_body
    }


def test_those_of_a_default_are_not_noticed(unnoticed: frozenset[str]) -> None:
    # The new team has the same setting without them.
    assert unnoticed == {
        "drop: PUT /groups/{group-id}/team memberSettings",
        "drop: PUT /groups/{group-id}/team memberSettings/allowCreateUpdateChannels",
    }
