# SPDX-License-Identifier: Apache-2.0
"""Wrong bodies of the adapter's requests: the recorder or the fake notices them, or the state of the tenant differs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import RequestId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.port import DisableGuest, Work
from chamberlain.directory.steps import Step
from tests.directory.group_work import work
from tests.directory.guest_work import ASSIGNMENTS, assign
from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import sample_fake
from tests.microsoft365.mutations import MutatingTransport, Mutation, draw, used_places
from tests.microsoft365.recording_transport import DifferentFromPublished, RecordingTransport
from tests.microsoft365.stage import opened
from tests.microsoft365.test_mutations import state

pytestmark = pytest.mark.heavy

SEED = 27
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
GROUP = work(request_id=RequestId(UUID(int=3)), owners=(ADA,), members=(ADA,))
GROWN = replace(GROUP.wanted, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
JOINED = replace(TEAM.wanted, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
PEOPLE = (Step.ADD_OWNERS, Step.ADD_MEMBERS)


async def provision(fake: FakeMicrosoft365, transport: httpx2.AsyncBaseTransport) -> Sequence[OutsideFault | None]:
    """Write everything that the adapter writes. Returns the faults."""
    microsoft365 = opened(fake, TENANT, transport)
    ports = microsoft365.adapters
    works = [
        TEAM,
        DYNAMIC,
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
    await microsoft365.close()
    return faults


async def run(mutation: Mutation | None) -> tuple[RecordingTransport, Sequence[OutsideFault | None], list[Any]]:
    fake = sample_fake()
    recorder = RecordingTransport(fake.transport())
    faults = await provision(fake, recorder if mutation is None else MutatingTransport(recorder, mutation))
    return recorder, faults, state(fake.tenants[str(TENANT)])


async def is_noticed(mutation: Mutation, expected: list[Any]) -> bool:
    try:
        _, faults, found = await run(mutation)
    except DifferentFromPublished:
        return True
    return any(fault is not None for fault in faults) or found != expected


async def test_all_but_two_of_forty_mutations_are_noticed() -> None:
    recorder, faults, expected = await run(None)
    mutations = draw(SEED, used=used_places(recorder.exchanges))

    unnoticed = [str(each) for each in mutations if not await is_noticed(each, expected)]

    assert set(faults) == {None}
    assert len(mutations) == 40
    assert len(unnoticed) <= 2, unnoticed
