# SPDX-License-Identifier: Apache-2.0
"""A tenant gets another prefix for its extension attributes, and what carries the old one is still found."""

from dataclasses import replace

import pytest

from chamberlain.configuration.plan_output import print_plan
from chamberlain.configuration.rules import ChangeVerb, ConfigurationNoun, Plan, PlannedChange
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.subjects.models import SubjectFilter
from chamberlain.tenants import records as tenant_records
from tests.adoptions.adoption_fixture import adoption_fixture
from tests.directory.mailbox_work import plain
from tests.drift.drift_fixture import drift_fixture
from tests.estates import BEN, ESTATE, PROJECT_TEAM, Estate
from tests.guests.assignments.guest_fixture import guest_fixture
from tests.mailboxes.mailbox_bodies import SMALL
from tests.queue.crash_injection import CrashingDirectory, InjectedCrash

CHANGE = "UPDATE chamberlain.tenant SET extension_prefix = $2, revision = revision + 1 WHERE tenant_id = $1"
MARKS = """
SELECT name FROM directory.extension_values WHERE member = 'requestId' AND value = $1 ORDER BY name
"""


async def set_prefix(estate: Estate, prefix: str) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(CHANGE, ESTATE, prefix)


async def expire_leases(estate: Estate) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET lease_until = now() - interval '1 s' WHERE lease_id IS NOT NULL")


async def names_of_marks(estate: Estate, request_id: object) -> list[object]:
    return [name for (name,) in await estate.rows(MARKS, str(request_id))]


async def test_a_group_that_was_made_just_before_the_change_is_not_made_twice(estate: Estate) -> None:
    accepted = await estate.request("Apollo", owners=[str(BEN)], templateId=str(PROJECT_TEAM))
    crashing = replace(estate.provision_groups, directory=CrashingDirectory(estate.directory))
    with pytest.raises(InjectedCrash):
        await crashing.provision(await estate.claim())
    await set_prefix(estate, "other")
    await expire_leases(estate)

    await estate.work()

    assert (await estate.record(accepted.request_id)).state == "succeeded"
    assert await names_of_marks(estate, accepted.request_id) == ["chamberlain_group"]


async def test_a_request_that_an_older_process_took_up_is_not_done_twice(estate: Estate) -> None:
    accepted = await estate.request("Apollo", owners=[str(BEN)])
    crashing = replace(estate.provision_groups, directory=CrashingDirectory(estate.directory))
    with pytest.raises(InjectedCrash):
        await crashing.provision(await estate.claim())
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.request SET extension_prefix = NULL")
    for prefix in ("other", "chamberlain", "third", "fourth"):
        await set_prefix(estate, prefix)
    await expire_leases(estate)

    await estate.work()

    assert (await estate.record(accepted.request_id)).state == "succeeded"
    assert await names_of_marks(estate, accepted.request_id) == ["chamberlain_group"]


async def test_what_is_asked_for_later_gets_the_new_prefix(estate: Estate) -> None:
    await set_prefix(estate, "other")
    group, mailbox = await estate.request("Apollo"), await estate.ask_mailbox(SMALL)

    await estate.work()

    assert await names_of_marks(estate, group.request_id) == ["other_group"]
    assert (await estate.record(mailbox.record.request_id)).state == "succeeded"


async def test_drift_still_finds_groups_and_mailboxes(estate: Estate) -> None:
    drift = drift_fixture(estate)
    await drift.group()
    await drift.mailbox(city="Town")
    await set_prefix(estate, "other")

    await drift.check_all()

    assert await drift.records() == []


async def test_discovery_still_knows_the_request_of_a_group(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    await estate.work()
    guest_rules = guest_fixture(estate)
    await set_prefix(estate, "other")

    await guest_rules.discover()

    group = await estate.group(accepted.request_id)
    assert group is not None
    assert (await guest_rules.record(group.id)).entry.request_id == accepted.request_id
    assert "Apollo" in await guest_rules.names(SubjectFilter(SubjectType.GROUP))


async def test_a_managed_mailbox_is_not_offered_for_adoption(estate: Estate) -> None:
    adoption = adoption_fixture(estate)
    await estate.ask_mailbox(SMALL)
    await estate.work()
    before = await adoption.preview()
    await set_prefix(estate, "other")

    after = await adoption.preview()

    assert after == before


async def test_an_adoption_that_began_under_the_old_prefix_is_on_record_under_it(estate: Estate) -> None:
    adoption = adoption_fixture(estate)
    await adoption.mailbox_before(plain())
    await adoption.confirm()
    await set_prefix(estate, "other")
    await adoption.work()

    marked = await estate.rows("SELECT DISTINCT extension_prefix FROM chamberlain.request WHERE tenant_id = $1", ESTATE)
    assert marked == [("chamberlain",)]


def test_the_plan_says_what_becomes_of_the_old_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    change = PlannedChange(
        ESTATE,
        ChangeVerb.CHANGE,
        ConfigurationNoun.TENANT,
        ESTATE,
        "Estate",
        {"extensionPrefix": "old"},
        {"extensionPrefix": "new"},
    )
    print_plan(Plan((replace(change, before={"name": "A"}, after={"name": "B"}),)))
    without = capsys.readouterr().out

    print_plan(Plan((change,)))

    assert "earlier prefix" in capsys.readouterr().out
    assert "prefix" not in without


async def test_all_earlier_prefixes_are_remembered(estate: Estate) -> None:
    for prefix in ("other", "chamberlain", "chamberlain", "third"):
        await set_prefix(estate, prefix)

    async with estate.databases.application.transaction(ESTATE) as tx:
        tenant = await tenant_records.find(tx, ESTATE)

    assert tenant is not None
    assert tenant.former_prefixes == ("chamberlain", "other", "chamberlain")
    assert tenant.marked_under == ("chamberlain", "other")
