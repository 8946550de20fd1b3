# SPDX-License-Identifier: Apache-2.0
"""Creation of groups without the upsert, for a directory that refuses it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import Cause, OutsideFault, Rejected, TryAgain
from chamberlain.directory.microsoft365.calls.groups import unique_name
from chamberlain.directory.microsoft365.connection import Microsoft365, open_microsoft365
from chamberlain.directory.microsoft365.settings import CreationMethod
from chamberlain.directory.microsoft365.wire.faults import PermissionMissing
from chamberlain.directory.port import Directory, GroupWork, Work
from tests.directory.group_work import work
from tests.directory.sample_directory import NOBODY, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.sample import APP, PERMISSIONS, sample_fake
from tests.microsoft365.fake.tenant import GROUPS, Tenant
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import settings

LAG = timedelta(minutes=3)


def opened_for_post(fake: FakeMicrosoft365) -> Microsoft365:
    """Open the adapter without the upsert."""

    async def sleep(seconds: float) -> None:
        fake.clock.wait(timedelta(seconds=seconds))
        await asyncio.sleep(0)

    chosen = replace(settings(TENANT), creation=CreationMethod.POST)
    transport = RecordingTransport(fake.transport())
    return open_microsoft365(chosen, TENANT, None, transport=transport, sign_in=fake.http_client(), sleep=sleep)


@pytest.fixture
async def directory(fake: FakeMicrosoft365) -> AsyncIterator[Directory]:
    microsoft365 = opened_for_post(fake)
    yield microsoft365.adapters.directory
    await microsoft365.close()


async def ensure(directory: Directory, one: GroupWork) -> OutsideFault | None:
    [outcome] = await directory.ensure([one])
    return outcome.fault


def unique_names(tenant: Tenant) -> list[str | None]:
    return [tenant.latest().get(GROUPS, each.id)["uniqueName"] for each in tenant.created("group")]


async def test_it_works(directory: Directory, tenant: Tenant) -> None:
    one = work(channels=("General", "Plans"))

    assert await ensure(directory, one) is None

    assert unique_names(tenant) == [unique_name(one.wanted.request_id)]
    assert len(tenant.created("team")) == 1


async def test_a_lost_answer_creates_no_second_group(
    directory: Directory, fake: FakeMicrosoft365, tenant: Tenant
) -> None:
    one = work()
    tenant.lags = replace(tenant.lags, index=LAG)
    fake.faults.plan(Fault.LOST_ANSWER, method="POST", path="/groups")

    lost, hidden = await ensure(directory, one), await ensure(directory, one)
    fake.clock.wait(LAG)
    found = await ensure(directory, one)

    assert [each.cause for each in (lost, hidden) if isinstance(each, TryAgain)] == [Cause.AWAY, Cause.NOT_YET]
    assert found is None
    assert unique_names(tenant) == [unique_name(one.wanted.request_id)]


async def test_a_group_without_its_unique_name_gets_it(
    directory: Directory, fake: FakeMicrosoft365, tenant: Tenant
) -> None:
    one = work()
    fake.faults.plan(Fault.UNAVAILABLE, method="PATCH")

    first, second = await ensure(directory, one), await ensure(directory, one)

    assert isinstance(first, TryAgain)
    assert second is None
    assert unique_names(tenant) == [unique_name(one.wanted.request_id)]


async def test_the_address_of_another_group_is_taken(directory: Directory) -> None:
    one = work()
    await ensure(directory, work(mail=one.wanted.mail))

    fault = await ensure(directory, one)

    assert isinstance(fault, Rejected)
    assert fault.code == "addressTaken"


async def test_an_unknown_user_creates_nothing(directory: Directory, tenant: Tenant) -> None:
    fault = await ensure(directory, work(members=(NOBODY,)))

    assert isinstance(fault, Rejected)
    assert fault.code == "userUnknown"
    assert tenant.created("group") == []


async def test_a_creation_without_its_permission_breaks_the_connection(
    directory: Directory, fake: FakeMicrosoft365
) -> None:
    fake.consent(str(TENANT), str(APP), {*PERMISSIONS} - {"Group.ReadWrite.All"} | {"GroupMember.Read.All"})

    assert isinstance(await ensure(directory, work()), PermissionMissing)


@pytest.mark.parametrize("seed", range(10))
async def test_a_hostile_directory_has_one_group_for_each_request(seed: int) -> None:
    fake = sample_fake(seed=seed)
    microsoft365 = opened_for_post(fake)

    await asyncio.gather(*[_finish(fake, microsoft365.adapters.directory, work()) for _ in range(5)])
    await microsoft365.close()

    names = unique_names(fake.tenants[str(TENANT)])
    assert len(names) == len({*names} - {None}) == 5


async def _finish(fake: FakeMicrosoft365, directory: Directory, one: GroupWork) -> None:
    left = one.steps
    while left:
        [outcome] = await directory.ensure([Work(one.wanted, left)])
        left = tuple(step for step in left if step not in outcome.done)
        if isinstance(outcome.fault, TryAgain):
            fake.clock.wait(outcome.fault.after)
        elif outcome.fault is not None:
            raise outcome.fault
