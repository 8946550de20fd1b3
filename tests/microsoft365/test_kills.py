# SPDX-License-Identifier: Apache-2.0
"""A worker that is killed after any request creates each group, team, channel and setting once.

A kill after each request of each kind of provisioning ends as a run without a kill, in a directory without faults.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import Any, Final, Protocol
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import GroupId, RequestId, UserId
from chamberlain.directory.groups import GroupReference, MemberShipType, remaining
from chamberlain.directory.microsoft365.connection import Microsoft365
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import DisableGuest, GroupWork, GuestAct, GuestWork, Marking, RemoveGuest, Work
from chamberlain.directory.routed import Adapters
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import SubjectReference
from chamberlain.requests.retries import wait_after
from tests.directory.group_work import work
from tests.directory.guest_work import ASSIGNMENTS, assign
from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, HANA, HANDBOOK, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import EXTENSION, sample_fake
from tests.microsoft365.fake.writes import Lags
from tests.microsoft365.graph_client import GRAPH
from tests.microsoft365.recording_transport import Killed, RecordingTransport
from tests.microsoft365.stage import opened
from tests.microsoft365.test_mutations import state

# Seeds of the hostile directory. `dev.py prove microsoft365` runs more of them.
SEEDS: Final = range(1, int(os.environ.get("CHAMBERLAIN_TEST_GRAPH_KILLS", "3")) + 1)
# Far more than the longest lag needs.
MOST_ATTEMPTS: Final = 200
REQUEST: Final = RequestId(UUID(int=27))
CROWD: Final = tuple(UserId(UUID(int=0xC0000000 + number)) for number in range(45))
CLEAR, FORBID, PARTNERS_ONLY, *_ = ASSIGNMENTS
MARKS: Final = {
    "requestId": str(REQUEST),
    "templateId": "7e000000-0000-4000-8000-000000000022",
    "policyId": "90110000-0000-4000-8000-000000000001",
}


class Job(Protocol):
    """A job of a worker, with what the database has recorded of it."""

    async def attempt(self, ports: Adapters) -> OutsideFault | None: ...


@dataclass
class GroupJob:
    """Provisions a group: observe, apply the missing steps, record."""

    work: GroupWork
    recorded: list[Step] = field(default_factory=list)
    made: GroupId | None = None

    async def attempt(self, ports: Adapters) -> OutsideFault | None:
        wanted = self.work.wanted
        [seen] = await ports.directory.observe([GroupReference(TENANT, wanted.extension, wanted.request_id, self.made)])
        left = remaining(wanted, seen, [step for step in self.work.steps if step not in self.recorded])
        if not left:
            return None
        [outcome] = await ports.directory.ensure([Work(wanted, left)])
        self.recorded += outcome.done
        found = outcome.observed.id if outcome.observed is not None else outcome.made
        self.made = self.made if found is None else GroupId(found)
        return outcome.fault


@dataclass
class GuestJob:
    """Assigns guest rules: observe, apply all steps, because a replica may show an older state."""

    work: GuestWork

    async def attempt(self, ports: Adapters) -> OutsideFault | None:
        wanted = self.work.wanted
        await ports.guests.observe([SubjectReference(TENANT, wanted.id, wanted.extension)])
        [outcome] = await ports.guests.ensure([self.work])
        return outcome.fault


@dataclass
class ActJob:
    """Removes or disables a guest."""

    act: GuestAct

    async def attempt(self, ports: Adapters) -> OutsideFault | None:
        [outcome] = await ports.guests.act([self.act])
        return outcome.fault


@dataclass
class MarkJob:
    """Adopts a group, or releases it."""

    marking: Marking
    is_release: bool = False

    async def attempt(self, ports: Adapters) -> OutsideFault | None:
        ask = ports.adoptions.unmark if self.is_release else ports.adoptions.mark
        [fault] = await ask([self.marking])
        return fault


TEAM: Final = work(
    request_id=REQUEST, owners=(ADA, CLEO), members=(ADA, BEN, CLEO), channels=("General", "Plans", "Archive")
)
GROUP: Final = work(request_id=REQUEST, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
DYNAMIC: Final = work(
    request_id=REQUEST,
    member_ship_type=MemberShipType.DYNAMIC,
    membership_rule='user.department -eq "Sales"',
    members=(),
)
PEOPLE: Final = (Step.ADD_OWNERS, Step.ADD_MEMBERS)


def later(one: GroupWork, *steps: Step, **changes: Any) -> GroupJob:  # noqa: ANN401  Properties of any type.
    """Return a later change of the group: a repair, or another owner."""
    return GroupJob(Work(replace(one.wanted, **changes), steps))


def marking(group_id: GroupId) -> Marking:
    return Marking(TENANT, ObjectType.GROUP, group_id, EXTENSION, REQUEST)


def on_security_group(one: GuestWork) -> GuestWork:
    return replace(one, wanted=replace(one.wanted, id=HANDBOOK))


# Every kind of provisioning. The jobs of a kind run one after the other.
KINDS: Final[Mapping[str, Callable[[], Sequence[Job]]]] = {
    "private group": lambda: [GroupJob(GROUP)],
    "public group": lambda: [GroupJob(work(request_id=REQUEST, member_ship_type=MemberShipType.PUBLIC))],
    "group of many": lambda: [GroupJob(work(request_id=REQUEST, owners=(ADA, *CROWD[:25]), members=CROWD))],
    "dynamic group": lambda: [GroupJob(DYNAMIC)],
    "changed group": lambda: [
        GroupJob(GROUP),
        later(GROUP, *PEOPLE, owners=(ADA, CLEO, BEN), members=CROWD[:3]),
        later(GROUP, Step.SET_PROPERTIES, display_name="Port", description="Ships"),
        later(GROUP, Step.ASSIGN_GUEST_RULES, marks=MARKS),
    ],
    "team": lambda: [
        GroupJob(Work(replace(TEAM.wanted, marks=MARKS), (*TEAM.steps, Step.ASSIGN_GUEST_RULES))),
        later(TEAM, *PEOPLE, owners=(ADA, BEN, CLEO), members=CROWD[:3]),
    ],
    "dynamic team": lambda: [GroupJob(work(
        request_id=REQUEST,
        member_ship_type=MemberShipType.DYNAMIC,
        membership_rule='user.department -eq "Sales"',
        members=(),
        channels=("General", "Plans"),
    ))],
    "adoption": lambda: [MarkJob(marking(OUTER)), MarkJob(marking(OUTER), is_release=True), MarkJob(marking(OUTER))],
    "adopted security group": lambda: [MarkJob(marking(HANDBOOK))],
    "guest rules": lambda: [
        GuestJob(assign(PARTNERS, FORBID, remove=(GIL,))),
        GuestJob(assign(PARTNERS, PARTNERS_ONLY)),
        GuestJob(assign(PARTNERS, CLEAR)),
    ],
    "guest rules of a security group": lambda: [GuestJob(on_security_group(assign(PARTNERS, FORBID, remove=(GIL,))))],
    "policy": lambda: [ActJob(RemoveGuest(TENANT, PARTNERS, GIL)), ActJob(DisableGuest(TENANT, HANA))],
}  # fmt: skip


def directory(seed: int | None, *, is_hostile: bool = True) -> FakeMicrosoft365:
    fake = sample_fake(seed=seed)
    for tenant in fake.tenants.values():
        tenant.lags = tenant.lags if is_hostile else Lags()
    if not is_hostile:
        fake.faults.rates = {}
    for each in CROWD:
        fake.tenants[str(TENANT)].add_user(str(each), displayName="Crowd", userPrincipalName=f"{each}@estate.example")
    return fake


def settle(fake: FakeMicrosoft365) -> None:
    fake.clock.wait(max(tenant.lags.longest for tenant in fake.tenants.values()) + timedelta(seconds=1))


async def work_off(jobs: list[Job], microsoft365: Microsoft365, fake: FakeMicrosoft365) -> None:
    """Work as a worker does: one job after the other, with waits between the attempts."""
    while jobs:
        for number in range(1, MOST_ATTEMPTS):
            fault = await attempt(jobs[0], microsoft365.adapters)
            if fault is None:
                break
            assert isinstance(fault, TryAgain), fault
            fake.clock.wait(wait_after(number, fault.after))
        else:
            raise AssertionError("There was no end.")
        # The next change is later.
        settle(fake)
        del jobs[0]


async def attempt(job: Job, ports: Adapters) -> OutsideFault | None:
    try:
        return await job.attempt(ports)
    except TryAgain as fault:
        return fault


@dataclass
class Run:
    """A finished run: its state and its created objects, and whether the worker was killed."""

    is_killed: bool
    state: list[Any]
    created: Counter[str]


Wrap = Callable[[RecordingTransport], httpx2.AsyncBaseTransport]


def _as_it_is(recorder: RecordingTransport) -> httpx2.AsyncBaseTransport:
    return recorder


async def run(kind: str, fake: FakeMicrosoft365, *, kill_after: int | None = None, wrap: Wrap = _as_it_is) -> Run:
    """Run a kind of provisioning. A worker that is killed after a request has a successor."""
    jobs = list(KINDS[kind]())
    recorder = RecordingTransport(fake.transport(), stop_after=kill_after)
    first = opened(fake, TENANT, wrap(recorder))
    is_killed = False
    try:
        await work_off(jobs, first, fake)
    except Killed:
        is_killed = True
        # The lease of the job ends.
        fake.clock.wait(timedelta(seconds=30))
        second = opened(fake, TENANT, wrap(RecordingTransport(fake.transport())))
        await work_off(jobs, second, fake)
        await second.close()
    await first.close()
    return Run(is_killed, state(fake.tenants[str(TENANT)]), Counter(each.kind for each in fake.ledger))


async def kill_after_each_request(kind: str, seed: int | None, wrap: Wrap = _as_it_is) -> int:
    """Kill a worker after each request, until one ends before. Returns the number of kills."""
    expected = await run(kind, directory(seed, is_hostile=False))
    for number in count(1):
        found = await run(kind, directory(seed), kill_after=number, wrap=wrap)
        assert found.created == expected.created
        assert found.state == expected.state
        if not found.is_killed:
            break
    return number - 1


@pytest.mark.parametrize("kind", KINDS)
async def test_it_creates_each_object_once_after_a_kill(kind: str) -> None:
    assert await kill_after_each_request(kind, None) > 1


class Posting(httpx2.AsyncBaseTransport):
    """Creates groups as `POST /groups` does: without a key that the directory keeps unique."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, has_mark: bool) -> None:
        self._inner = inner
        self._has_mark = has_mark

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "PATCH" and "uniqueName" in str(request.url):
            # The nickname is another one, because the directory keeps it unique.
            body = {**json.loads(request.content), "mailNickname": f"harbour-{id(self)}"}
            if not self._has_mark:
                del body[EXTENSION]
            request = httpx2.Request("POST", f"{GRAPH}/groups", headers=_without_length(request), json=body)
        return await self._inner.handle_async_request(request)


def _without_length(request: httpx2.Request) -> Mapping[str, str]:
    return {name: value for name, value in request.headers.items() if name != "content-length"}


# A mark is found by the index of filters, which lags behind in a hostile directory.
@pytest.mark.parametrize(("has_mark", "seed"), [(False, None), (True, 1)])
@pytest.mark.parametrize("kind", ["private group", "dynamic group"])
async def test_an_adapter_that_creates_groups_by_post_is_noticed(
    kind: str, seed: int | None, *, has_mark: bool
) -> None:
    def posting(inner: RecordingTransport) -> Posting:
        return Posting(inner, has_mark=has_mark)

    made = [await run(kind, directory(seed), kill_after=number, wrap=posting) for number in range(1, 8)]

    assert max(each.created["group"] for each in made) > 1


@pytest.mark.heavy
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
async def test_it_creates_each_object_once_after_a_kill_in_a_hostile_directory(kind: str, seed: int) -> None:
    assert await kill_after_each_request(kind, seed) > 1
