# SPDX-License-Identifier: Apache-2.0
"""The check of a connection: it reads, and names what is missing."""

from collections.abc import Iterable

import pytest

from chamberlain.core.errors import ConnectionBroken
from tests.directory.sample_directory import TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, PERMISSIONS
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import opened


async def check(fake: FakeMicrosoft365, permissions: Iterable[str]) -> RecordingTransport:
    fake.consent(str(TENANT), str(APP), permissions)
    recorder = RecordingTransport(fake.transport())
    microsoft365 = opened(fake, TENANT, recorder)
    try:
        await microsoft365.adapters.check(TENANT)
    finally:
        await microsoft365.close()
    return recorder


async def test_it_works_and_writes_nothing(fake: FakeMicrosoft365) -> None:
    recorder = await check(fake, PERMISSIONS)

    assert {each.method for each in recorder.exchanges} == {"GET"}


@pytest.mark.parametrize("permission", ["User.Read.All", "GroupMember.Read.All"])
async def test_it_names_a_missing_permission(fake: FakeMicrosoft365, permission: str) -> None:
    others = {"User.Read.All", "GroupMember.Read.All"} - {permission}

    with pytest.raises(ConnectionBroken) as broken:
        await check(fake, others)

    assert permission in broken.value.reason
