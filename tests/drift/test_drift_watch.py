# SPDX-License-Identifier: Apache-2.0
"""Changes of the directory are compared within a minute, beside the nightly check."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.directory.capabilities import SETTLES_LATE, Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.properties import DriftProperty, Treatment
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import BEN, Estate
from tests.faulty_directory import FaultyDirectory
from tests.guests.assignments.guest_fixture import NO_GUESTS, expire_leases, later
from tests.queue.crash_injection import CrashingDatabase, CrashPoint, InjectedCrash

RENAME = "UPDATE directory.groups SET display_name = 'Cruise' WHERE id = $1"
CHANGED = "SELECT kind FROM chamberlain.changed_object"
JOBS = "SELECT run_at > now() FROM chamberlain.job WHERE kind = 'driftWatch'"


class BusyDirectory(FaultyDirectory):
    """A directory that shows no groups at present."""

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        raise TryAgain(timedelta(minutes=1), f"It is too busy for {len(references)} groups.")


@pytest.fixture
async def drift(estate: Estate) -> DriftFixture:
    """A tenant whose directory was scanned."""
    fixture = drift_fixture(estate)
    await fixture.assignments.discover()
    return fixture


async def old_group(drift: DriftFixture) -> UUID:
    """A group that was created and discovered more than an hour ago."""
    _, group_id = await drift.group()
    await drift.watch()
    await drift.change("UPDATE chamberlain.request SET finished_at = finished_at - interval '2 hours'")
    later(drift.estate, hours=2)
    return group_id


async def test_it_works(drift: DriftFixture) -> None:
    group_id = await old_group(drift)
    await drift.change(RENAME, group_id)

    await drift.watch()

    assert await drift.findings() == [("drift", "open", "displayName")]
    assert await drift.estate.rows(CHANGED) == []
    assert await drift.estate.rows(JOBS) == []


async def test_a_new_group_is_no_drift(drift: DriftFixture) -> None:
    await drift.group()

    await drift.watch()

    assert await drift.findings() == []


async def test_an_assignment_is_compared(drift: DriftFixture) -> None:
    await drift.assignments.assign(templateId=str(NO_GUESTS))
    await drift.assignments.work()
    await drift.watch()
    assert [each for each in await drift.findings() if each[0] == "drift"] == []
    await drift.change("UPDATE directory.guest_settings SET allow_to_add_guests = true")

    await drift.watch()

    assert ("drift", "open", "guests.allowed") in await drift.findings()


async def test_a_deleted_group_is_reported(drift: DriftFixture) -> None:
    group_id = await old_group(drift)
    await drift.change("DELETE FROM directory.extension_values WHERE group_id = $1", group_id)
    await drift.change("DELETE FROM directory.groups WHERE id = $1", group_id)

    await drift.watch()

    assert await drift.findings() == [("drift", "open", "exists")]


@pytest.mark.parametrize(
    ("capabilities", "findings"),
    [
        (Capabilities(timedelta(seconds=1)), [("drift", "open", "exists")]),
        # Such a directory may not show a new group yet.
        (Capabilities(timedelta(seconds=1), settles_after=SETTLES_LATE), []),
    ],
    ids=["consistent", "eventually consistent"],
)
async def test_a_new_group_that_is_deleted_by_hand_is_reported(
    drift: DriftFixture, capabilities: Capabilities, findings: list[object]
) -> None:
    await drift.group()
    await drift.watch()
    drift.restrict(capabilities)
    await drift.change("DELETE FROM directory.extension_values")
    await drift.change("DELETE FROM directory.groups")
    later(drift.estate, minutes=1)

    await drift.watch()

    assert await drift.findings() == findings


async def test_a_fixed_property_is_gone(drift: DriftFixture) -> None:
    group_id = await old_group(drift)
    await drift.change(RENAME, group_id)
    await drift.watch()
    await drift.change(RENAME.replace("Cruise", "Apollo"), group_id)

    await drift.watch()

    assert await drift.findings() == [("drift", "gone", "displayName")]


async def test_a_tenant_that_repairs_is_repaired(drift: DriftFixture) -> None:
    await drift.set_repair({DriftProperty.GROUP_DISPLAY_NAME: Treatment.MANAGED})
    group_id = await old_group(drift)
    await drift.change(RENAME, group_id)

    await drift.watch()

    assert await drift.findings() == [("drift", "repaired", "displayName")]


async def old_mailbox(drift: DriftFixture, **sent: object) -> RequestId:
    """A mailbox that was created more than an hour ago."""
    request_id = await drift.mailbox(city="Town", **sent)
    await drift.change("UPDATE chamberlain.request SET finished_at = finished_at - interval '2 hours'")
    later(drift.estate, hours=2)
    await drift.watch()
    return request_id


@pytest.mark.parametrize(
    ("statement", "property_name"),
    [
        ("UPDATE directory.users SET properties = '{}' WHERE display_name = 'The desk'", "city"),
        ("UPDATE directory.mailboxes SET is_hidden = NOT is_hidden", "hideFromGAL"),
        ("DELETE FROM directory.mailbox_permissions", "permissions"),
        ("DELETE FROM directory.mailboxes", "exists"),
    ],
)
async def test_a_mailbox_is_compared(drift: DriftFixture, statement: str, property_name: str) -> None:
    await old_mailbox(drift, hideFromGAL=True, permissions={str(BEN): "FullAccess"})
    await drift.change(statement)

    await drift.watch()

    assert await drift.findings() == [("drift", "open", property_name)]
    assert await drift.estate.rows(CHANGED) == []


async def test_a_mailbox_with_a_mark_of_a_former_prefix_is_compared(drift: DriftFixture) -> None:
    await old_mailbox(drift)
    await drift.change("UPDATE chamberlain.tenant SET extension_prefix = 'other'")
    await drift.change("UPDATE directory.users SET properties = '{}' WHERE display_name = 'The desk'")

    await drift.watch()

    assert await drift.findings() == [("drift", "open", "city")]


async def test_own_writes_to_a_mailbox_are_no_drift(drift: DriftFixture) -> None:
    """The creation, and the repair of a later change."""
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.watch()
    assert await drift.estate.rows("SELECT FROM directory.changed_mailboxes") == []
    await drift.change("UPDATE chamberlain.request SET finished_at = finished_at - interval '2 hours'")
    later(drift.estate, hours=2)
    await drift.change("UPDATE directory.users SET properties = '{}' WHERE display_name = 'The desk'")

    await drift.watch()
    await drift.watch()

    assert await drift.findings() == [("drift", "repaired", "city")]
    assert await drift.estate.rows(JOBS) == []


async def test_a_mailbox_whose_request_runs_is_left_to_it(drift: DriftFixture) -> None:
    request_id = await old_mailbox(drift)
    await drift.change("UPDATE chamberlain.request SET state = 'running' WHERE request_id = $1", request_id)
    await drift.change("UPDATE directory.users SET properties = '{}' WHERE display_name = 'The desk'")

    await drift.watch()

    assert await drift.findings() == []
    assert await drift.estate.rows(CHANGED) == []


async def test_an_unknown_cursor_of_mailboxes_starts_again(drift: DriftFixture) -> None:
    await old_mailbox(drift)
    await drift.change("UPDATE chamberlain.discovery SET mailbox_position = 'x'")
    await drift.watch()
    await drift.change("UPDATE directory.users SET properties = '{}' WHERE display_name = 'The desk'")

    await drift.watch()

    assert await drift.findings() == [("drift", "open", "city")]


async def test_a_job_that_was_cut_short_is_finished_by_another(drift: DriftFixture) -> None:
    group_id = await old_group(drift)
    await drift.change(RENAME, group_id)
    crashing = replace(drift.watch_jobs, database=CrashingDatabase(drift.estate.databases.worker, CrashPoint(7)))

    with pytest.raises(InjectedCrash):
        await drift.watch(crashing)
    await expire_leases(drift.estate)
    await drift.watch()

    assert await drift.findings() == [("drift", "open", "displayName")]
    assert await drift.estate.rows(CHANGED) == []


async def test_it_waits_for_a_directory_that_does_not_answer(drift: DriftFixture) -> None:
    group_id = await old_group(drift)
    await drift.change(RENAME, group_id)

    await drift.watch(replace(drift.watch_jobs, directory=BusyDirectory(drift.estate.directory)))

    assert await drift.estate.rows(JOBS) == [(True,)]
    assert await drift.estate.rows(CHANGED) == [("group",)]
