# SPDX-License-Identifier: Apache-2.0
"""Metadata of groups: readable and searchable as long as the group exists, however long its request does."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chamberlain.app import retention
from chamberlain.audit import erasure
from chamberlain.core.ids import GroupId, TraceId
from chamberlain.database import migrate
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.subjects.models import MetadataFilter, SubjectFilter
from tests.estates import ADA, BEN, ESTATE, Estate
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    GuestFixture,
    guest_fixture,
)
from tests.postgres import connected

METADATA: Mapping[str, str | bool] = {
    "external": True,
    "costCentre": "4711",
    "note": "Zürich: \"4. Stock\" = \\ 'x'",
    "empty": "",
}
MARK = '{"costCentre":"4711","empty":"","external":true,"note":"Zürich: \\"4. Stock\\" = \\\\ \'x\'"}'
BACKFILL = Path(migrate.__file__).parent / "migrations" / "0059_known_group_metadata.post.sql"


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    return guest_fixture(estate)


async def group_with(guest_rules: GuestFixture, name: str, **metadata: str | bool) -> GroupId:
    """A created and discovered group."""
    accepted = await guest_rules.estate.request(name, metadata=metadata)
    await guest_rules.estate.work()
    group = await guest_rules.estate.group(accepted.request_id)
    assert group is not None
    await guest_rules.discover()
    return group.id


async def by_metadata(guest_rules: GuestFixture, key: str, value: str | None = None, **others: object) -> list[str]:
    metadata = MetadataFilter(key, value)
    return await guest_rules.names(SubjectFilter(SubjectType.GROUP, metadata=metadata, **others))  # type: ignore[arg-type]  # Any field.


async def stored(guest_rules: GuestFixture) -> list[tuple[object, ...]]:
    return await guest_rules.estate.rows("SELECT name, value FROM chamberlain.group_metadata ORDER BY 1")


async def test_it_works(guest_rules: GuestFixture) -> None:
    group_id = await group_with(guest_rules, "Apollo", **METADATA)

    record = await guest_rules.record(group_id)
    assigned = await guest_rules.assign(group_id, policyId=str(NINETY_DAYS))
    assert record.metadata == assigned.metadata == METADATA
    assert list(record.metadata) == sorted(METADATA)
    assert (await guest_rules.record(ALL_STAFF)).metadata == {}
    assert (await guest_rules.record(HANDBOOK, SubjectType.SITE)).metadata == {}
    assert record.entry.request_id is not None
    shown = await guest_rules.estate.group(record.entry.request_id)
    assert shown is not None
    assert shown.marks == {"requestId": str(record.entry.request_id), "metadata": MARK}


async def test_groups_are_found_by_metadata(guest_rules: GuestFixture) -> None:
    long = "x" * 300
    for name, metadata in (
        ("Gamma", {"costCentre": "4711", "external": True, "long": long + "a"}),
        ("Alpha", {"costCentre": "4711", "external": "true"}),
        ("Beta", {"costCentre": "4712", "external": False, "long": long + "b"}),
        ("Delta", {"other": "4711"}),
    ):
        await guest_rules.estate.request(name, metadata=metadata)
    await guest_rules.estate.work()
    await guest_rules.discover()
    (alpha,) = await guest_rules.estate.rows("SELECT subject_id FROM chamberlain.subject WHERE display_name = 'Alpha'")
    await guest_rules.assign(GroupId(alpha[0]), templateId=str(NO_GUESTS))  # type: ignore[arg-type]  # A UUID.

    assert await by_metadata(guest_rules, "costCentre") == ["Alpha", "Beta", "Gamma"]
    assert await by_metadata(guest_rules, "costCentre", "4711") == ["Alpha", "Gamma"]
    assert await by_metadata(guest_rules, "external", "true") == ["Alpha", "Gamma"]
    assert await by_metadata(guest_rules, "external", "false") == ["Beta"]
    assert await by_metadata(guest_rules, "long", long + "b") == ["Beta"]
    assert await by_metadata(guest_rules, "costCentre", "471") == []
    assert await by_metadata(guest_rules, "costcentre", "4711") == []
    assert await by_metadata(guest_rules, "costCentre", "4711", prefix="ga") == ["Gamma"]
    assert await by_metadata(guest_rules, "costCentre", is_assigned=True) == ["Alpha"]
    assert await by_metadata(guest_rules, "costCentre", template_id=NO_GUESTS) == ["Alpha"]
    assert await by_metadata(guest_rules, "costCentre", policy_id=NINETY_DAYS) == []
    assert await by_metadata(guest_rules, "costCentre", is_assigned=False) == ["Beta", "Gamma"]


async def test_it_outlasts_the_request_and_goes_with_the_group(guest_rules: GuestFixture) -> None:
    group_id = await group_with(guest_rules, "Apollo", costCentre="4711", owner=str(BEN), note="Ask Ben")
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await erasure.erase(tx, ESTATE, ADA, TraceId("a1"))
        await erasure.erase(tx, ESTATE, BEN, TraceId("a2"))
        assert await retention.remove_finished(tx, datetime.now(UTC) + timedelta(days=1), 10) == 1

    kept = (await guest_rules.record(group_id)).metadata
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.groups WHERE id = $1", group_id)
    await guest_rules.discover()

    # A custom field with the id of an erased user is emptied.
    assert kept == {"costCentre": "4711", "owner": "", "note": "Ask Ben"}
    assert await stored(guest_rules) == []


async def test_long_metadata_is_not_in_the_directory(guest_rules: GuestFixture) -> None:
    group_id = await group_with(guest_rules, "Apollo", note="x" * 1024)

    record = await guest_rules.record(group_id)
    assert record.metadata == {"note": "x" * 1024}
    assert record.entry.request_id is not None
    shown = await guest_rules.estate.group(record.entry.request_id)
    assert shown is not None
    assert list(shown.marks) == ["requestId"]


async def test_the_metadata_of_known_groups_is_stored_later(guest_rules: GuestFixture) -> None:
    """The migration reads it from requests that still exist, and skips groups that do not."""
    known = await group_with(guest_rules, "Known", costCentre="4711")
    await group_with(guest_rules, "Plain")
    gone = await group_with(guest_rules, "Gone", costCentre="4712")
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.group_metadata")
        await tx.execute("DELETE FROM chamberlain.subject WHERE subject_id = $1", gone)
    async with connected(guest_rules.estate.databases.addresses.owner) as connection:
        for _ in range(2):
            await connection.execute(BACKFILL.read_text(encoding="utf-8"))

    assert await stored(guest_rules) == [("costCentre", "4711")]
    assert (await guest_rules.record(known)).metadata == {"costCentre": "4711"}


async def test_metadata_of_a_group_that_was_never_discovered_goes_with_its_request(guest_rules: GuestFixture) -> None:
    await guest_rules.estate.request("Apollo", metadata={"costCentre": "4711"})
    await guest_rules.estate.work()
    before = await stored(guest_rules)

    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.subject")
        await retention.remove_finished(tx, datetime.now(UTC) + timedelta(days=1), 10)

    assert (before, await stored(guest_rules)) == ([("costCentre", "4711")], [])
