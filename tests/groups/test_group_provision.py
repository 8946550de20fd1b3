# SPDX-License-Identifier: Apache-2.0
"""Provisioning: a queued request becomes a group that is found by the request's id, once, whatever happens."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from chamberlain.core.errors import Rejected, TryAgain, Unavailable
from chamberlain.core.ids import GroupId
from chamberlain.requests import finish
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    NOBODY,
    OTHER_GROUP,
    OTHER_HOUSE,
    PROJECT_TEAM,
    ZOE,
    Estate,
    caller_of,
)
from tests.mailboxes.mailbox_bodies import SMALL
from tests.queue.crash_injection import CrashingDirectory, InjectedCrash

AWAY = TryAgain(timedelta(seconds=10), "The directory does not answer.")


async def expire_leases(estate: Estate) -> None:
    """Expire the leases, as after ten seconds without a renewal."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET lease_until = now() - interval '1 s' WHERE lease_id IS NOT NULL")


async def make_due(estate: Estate) -> None:
    """Let what waits be due."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET run_at = now()")


async def directory_rows(estate: Estate) -> list[tuple[object, ...]]:
    """All that was written for groups that we made."""
    return await estate.rows(
        "SELECT g.*, array(SELECT (member_id, is_owner, is_member) FROM directory.memberships m "
        "WHERE m.group_id = g.id ORDER BY member_id)::text, "
        "array(SELECT display_name FROM directory.channels c WHERE c.group_id = g.id ORDER BY position) "
        "FROM directory.groups g WHERE g.extensions <> '{}' ORDER BY g.id"
    )


async def test_it_works(estate: Estate) -> None:
    accepted = await estate.request("Apollo", owners=[str(BEN)])
    before = await estate.group(accepted.request_id)

    await estate.work()

    group = await estate.group(accepted.request_id)
    record = await estate.record(accepted.request_id)
    assert before is None
    assert group is not None
    assert group.owners == {ADA, BEN}
    assert (group.display_name, group.mail_nickname) == ("Apollo", "apollo")
    assert record.state == "succeeded"
    assert record.finished_at == estate.moment
    assert record.result is not None
    assert (record.result.type, record.result.id, record.result.mail) == ("group", group.id, "apollo@estate.example")
    assert [(step.step, step.state, step.attempts) for step in record.steps] == [
        ("createGroup", "succeeded", 1),
        ("addOwners", "succeeded", 1),
    ]
    assert (await estate.counts())["job"] == 0


async def test_the_event_tells_of_the_group(estate: Estate) -> None:
    accepted = await estate.request(templateId=str(PROJECT_TEAM), metadata={"any": "thing"})
    await estate.work()

    group = await estate.group(accepted.request_id)
    ((kind, request_id, data),) = await estate.rows("SELECT type, request_id, data FROM chamberlain.event")
    assert group is not None
    assert (kind, request_id) == ("team.created", accepted.request_id)
    told = msgspec.json.decode(str(data))
    assert told["group"] == {
        "id": str(group.id), "displayName": "Apollo", "mail": "apollo@estate.example", "mailNickname": "apollo"
    }  # fmt: skip
    assert told["metadata"] == {"any": "thing"}
    assert told["createdBy"]["id"] == str(ADA)


async def test_a_batch_of_two_tenants_goes_through(estate: Estate) -> None:
    accepted = [await estate.request(f"Group {number}") for number in range(20)]
    other = await estate.request("Theirs", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))

    await estate.work()

    assert all([await estate.group(each.request_id) for each in accepted])
    assert await estate.group(other.request_id) is None
    assert await estate.group(other.request_id, OTHER_HOUSE) is not None
    assert await estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert (await estate.counts())["event"] == 21


async def test_running_it_twice_is_boring(estate: Estate) -> None:
    await estate.request("Apollo", owners=[str(BEN)], templateId=str(PROJECT_TEAM))
    claim = await estate.claim()
    await estate.provision_groups.provision(claim)
    before = await directory_rows(estate), await estate.rows("SELECT * FROM chamberlain.request")

    await estate.provision_groups.provision(claim)

    assert (await directory_rows(estate), await estate.rows("SELECT * FROM chamberlain.request")) == before
    assert (await estate.counts())["event"] == 1
    assert len(estate.directory.ensured) == 1


async def test_what_nobody_has_begun_with_is_not_looked_for(estate: Estate) -> None:
    new = await estate.request("Apollo")
    begun = await estate.request("Zeus")
    async with estate.databases.worker.across_tenants() as tx:
        await finish.take_up(tx, [begun.request_id])

    await estate.work()

    assert [reference.request_id for reference in estate.directory.observed] == [begun.request_id]
    assert {work.wanted.request_id for work in estate.directory.ensured} == {new.request_id, begun.request_id}
    assert await estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]


async def test_a_directory_elsewhere_is_always_looked_at(estate: Estate) -> None:
    """It may remember what a database that was restored has forgotten."""
    estate.directory.has_own_database = True
    group, mailbox = await estate.request("Apollo"), await estate.ask_mailbox(SMALL)

    await estate.work()

    looked_at = {reference.request_id for reference in estate.directory.observed}
    assert looked_at == {group.request_id, mailbox.record.request_id}


async def test_a_run_that_is_killed_before_it_records_ends_in_one_group_and_one_event(estate: Estate) -> None:
    accepted = await estate.request("Apollo", owners=[str(BEN)], templateId=str(PROJECT_TEAM))
    crashing = replace(estate.provision_groups, directory=CrashingDirectory(estate.directory))
    with pytest.raises(InjectedCrash):
        await crashing.provision(await estate.claim())
    state = (await estate.record(accepted.request_id)).state
    made = await directory_rows(estate)
    await expire_leases(estate)

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert (state, record.state) == ("running", "succeeded")
    assert await directory_rows(estate) == made
    assert len(made) == 1
    assert await estate.rows("SELECT type FROM chamberlain.event") == [("team.created",)]
    assert [step.state for step in record.steps] == ["succeeded"] * len(record.steps)


async def test_what_is_there_is_not_asked_for_again_though_it_could_not_be_made_any_more(estate: Estate) -> None:
    accepted = await estate.request("Apollo", members=[str(CLEO)])
    crashing = replace(estate.provision_groups, directory=CrashingDirectory(estate.directory))
    with pytest.raises(InjectedCrash):
        await crashing.provision(await estate.claim())
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.users WHERE id = $1", CLEO)
    await expire_leases(estate)

    await estate.work()

    assert (await estate.record(accepted.request_id)).state == "succeeded"


async def test_what_was_taken_away_meanwhile_is_made_again(estate: Estate) -> None:
    accepted = await estate.request("Apollo", members=[str(CLEO)])
    crashing = replace(estate.provision_groups, directory=CrashingDirectory(estate.directory))
    with pytest.raises(InjectedCrash):
        await crashing.provision(await estate.claim())
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.memberships WHERE member_id = $1", CLEO)
    await expire_leases(estate)

    await estate.work()

    group = await estate.group(accepted.request_id)
    assert group is not None
    assert group.members == {ADA, CLEO}


async def test_while_the_directory_is_away_all_wait_with_the_reason(estate: Estate) -> None:
    accepted = [await estate.request(f"Group {number}", owners=[str(BEN)]) for number in range(3)]
    estate.directory.error = AWAY

    await estate.work()

    due = estate.moment + timedelta(seconds=10)
    for each in accepted:
        record = await estate.record(each.request_id)
        assert (record.state, record.result, record.finished_at) == ("waiting", None, None)
        assert record.waiting is not None
        assert (record.waiting.step, record.waiting.shown_reason.sentence) == ("createGroup", AWAY.reason)
        assert (record.waiting.attempt, record.waiting.next_attempt_at) == (1, due)
        assert [(step.state, step.attempts) for step in record.steps] == [("waiting", 1), ("pending", 0)]
        assert await estate.group(each.request_id) is None
    waits = await estate.rows("SELECT run_at > now() + interval '8 s', lease_id, attempts FROM chamberlain.job")
    assert waits == [(True, None, 0)] * 3
    assert (await estate.counts())["event"] == 0


async def test_what_waited_goes_on_and_its_waits_are_shown(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    estate.directory.error = AWAY
    await estate.work()
    began = estate.moment
    estate.moment += timedelta(seconds=10)
    await make_due(estate)
    await estate.work()
    estate.moment += timedelta(seconds=15)
    estate.directory.error = None
    await make_due(estate)

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert (record.state, record.waiting) == ("succeeded", None)
    assert [(step.state, step.attempts) for step in record.steps] == [("succeeded", 3)]
    assert (record.steps[0].started_at, record.steps[0].finished_at) == (began, estate.moment)


async def test_what_the_directory_does_not_show_is_not_made(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    estate.directory.acknowledges_only = True
    await estate.work()
    waiting = await estate.record(accepted.request_id)
    estate.directory.acknowledges_only = False
    await make_due(estate)
    await estate.work()

    assert waiting.waiting is not None
    assert waiting.waiting.shown_reason.code == "groupMadeNotShown"
    assert (await estate.record(accepted.request_id)).state == "succeeded"
    assert await estate.group(accepted.request_id) is not None


async def test_a_wait_has_an_end(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    estate.directory.error = AWAY
    await estate.work()
    estate.moment += timedelta(hours=25)
    await make_due(estate)

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert record.state == "failed"
    assert record.finished_at == estate.moment
    assert await estate.rows("SELECT type FROM chamberlain.event") == [("request.failed",)]
    assert (await estate.counts())["job"] == 0


async def test_what_is_rejected_fails_alone(estate: Estate) -> None:
    good = await estate.request("Good")
    bad = await estate.request("Bad")
    later = await estate.request("Later")
    estate.directory.faults = {"Bad": Rejected("nameNotAllowed", "This name is not allowed."), "Later": AWAY}

    await estate.work()

    states = {name: (await estate.record(each.request_id)).state for name, each in
              (("good", good), ("bad", bad), ("later", later))}  # fmt: skip
    failed = await estate.record(bad.request_id)
    assert states == {"good": "succeeded", "bad": "failed", "later": "waiting"}
    assert failed.error is not None
    assert (failed.error.step, failed.error.code, failed.error.detail) == (
        "createGroup",
        "nameNotAllowed",
        "This name is not allowed.",
    )
    assert [(step.state, step.error) for step in failed.steps] == [("failed", "This name is not allowed.")]
    assert set(await estate.rows("SELECT type, request_id FROM chamberlain.event")) == {
        ("group.created", good.request_id),
        ("request.failed", bad.request_id),
    }


async def test_an_address_that_somebody_took_in_the_directory_meanwhile_fails_the_step(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO directory.addresses (tenant_id, address, holder_id) VALUES ($1, 'apollo@estate.example', $1)",
            accepted.tenant_id,
        )

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert record.error is not None
    assert (record.state, record.error.code) == ("failed", "addressTaken")


async def test_a_lease_that_was_lost_while_running_records_nothing(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    former = await estate.claim()
    await expire_leases(estate)
    latter = await estate.claim()

    await estate.provision_groups.provision(former)
    between = await estate.record(accepted.request_id), await estate.counts()
    await estate.provision_groups.provision(latter)

    record = await estate.record(accepted.request_id)
    assert (between[0].state, between[1]["event"], between[1]["job"]) == ("running", 0, 1)
    assert record.state == "succeeded"
    assert await estate.rows("SELECT type FROM chamberlain.event") == [("group.created",)]
    assert len(await directory_rows(estate)) == 1


async def test_what_was_cancelled_before_it_was_taken_up_is_left_alone(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    claim = await estate.claim()
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.request SET state = 'cancelled'")

    await estate.provision_groups.provision(claim)

    assert (await estate.record(accepted.request_id)).state == "cancelled"
    assert await estate.group(accepted.request_id) is None
    assert (await estate.counts())["job"] == 0
    assert (await estate.counts())["event"] == 0


async def test_a_request_keeps_the_template_that_it_was_submitted_under(estate: Estate) -> None:
    accepted = await estate.request(templateId=str(PROJECT_TEAM))
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.template_revision "
            "SELECT tenant_id, template_id, 2, replace(content::text, 'Planning', 'Other')::json "
            "FROM chamberlain.template_revision WHERE template_id = $1",
            PROJECT_TEAM,
        )
        await tx.execute("UPDATE chamberlain.template SET revision = 2 WHERE template_id = $1", PROJECT_TEAM)

    await estate.work()

    group = await estate.group(accepted.request_id)
    assert group is not None
    assert group.channels == ("General", "Planning")


async def test_without_people_nothing_is_made_and_the_request_waits(estate: Estate) -> None:
    estate.people.error = AWAY
    accepted = await estate.request("Apollo")

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert record.waiting is not None
    assert (record.state, record.waiting.step) == ("waiting", "checkPeople")
    assert [step.state for step in record.steps] == ["waiting", "pending"]
    assert estate.directory.ensured == []


async def test_people_are_checked_once_though_the_directory_fails_afterwards(estate: Estate) -> None:
    estate.people.error = AWAY
    accepted = await estate.request("Apollo")
    estate.people.error = None
    estate.directory.error = AWAY
    await estate.work()
    asked = len(estate.people.questions)
    estate.directory.error = None
    await make_due(estate)

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert [(step.step, step.state, step.attempts) for step in record.steps] == [
        ("checkPeople", "succeeded", 1),
        ("createGroup", "succeeded", 2),
    ]
    assert len(estate.people.questions) == asked


async def test_whoever_asked_during_an_outage_has_a_name_when_it_is_over(estate: Estate) -> None:
    estate.people.error = AWAY
    right, wrong = await estate.request("Apollo"), await estate.request("Zeus", owners=[str(NOBODY)])
    before = (await estate.record(right.request_id)).created_by.display_name
    estate.people.error = None

    await estate.work()

    names = [(await estate.record(each.request_id)).created_by.display_name for each in (right, wrong)]
    assert (before, names) == ("", ["Ada Achterberg", "Ada Achterberg"])
    told = "SELECT DISTINCT data -> 'createdBy' ->> 'displayName' FROM chamberlain.event"
    assert await estate.rows(f"{told} WHERE type = 'group.created'") == [("Ada Achterberg",)]


async def test_an_unknown_owner_that_is_found_late_is_named(estate: Estate) -> None:
    estate.people.error = AWAY
    accepted = await estate.request("Zeus", owners=[str(NOBODY)])
    estate.people.error = None

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert record.error is not None
    (fault,) = record.error.faults
    assert record.error.detail.startswith(fault.detail)
    assert record.steps[0].error == record.error.detail


async def test_the_id_of_a_group_never_depends_on_the_run(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    await estate.work()
    first = await estate.group(accepted.request_id)
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.groups WHERE extensions <> '{}'")
        await tx.execute("DELETE FROM directory.extension_values")
        await tx.execute("DELETE FROM directory.addresses WHERE address LIKE 'apollo%'")
        await tx.execute("UPDATE chamberlain.request SET state = 'queued'")
        await tx.execute(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id) VALUES ($1, 'groupProvision', $2, '')",
            accepted.tenant_id,
            accepted.request_id,
        )

    await estate.work()

    second = await estate.group(accepted.request_id)
    assert first is not None
    assert second is not None
    assert GroupId(second.id) == first.id


async def test_it_handles_a_database_that_goes_away(estate: Estate) -> None:
    await estate.request("Apollo")
    claim = await estate.claim()
    await estate.databases.worker.close()

    with pytest.raises(Unavailable):
        await estate.provision_groups.provision(claim)
