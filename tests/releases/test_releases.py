# SPDX-License-Identifier: Apache-2.0
"""Releases: managed objects are given back, with other changes and faults in between."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import Cause, Conflict, ConnectionBroken, Forbidden, NotFound, TryAgain
from chamberlain.core.ids import ReleaseId, RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import Assignment
from chamberlain.releases.models import NOT_SHOWN_FOR, TIMEOUT, ReleaseReason, ReleaseState, ReleaseType
from tests.adoptions.adoption_fixture import adoption_fixture
from tests.directory.mailbox_work import shared
from tests.drift.drift_fixture import drift_fixture
from tests.estates import ADA, BEN, CONFIDENTIAL_TEAM, ESTATE, OTHER_HOUSE, PROJECT_TEAM, SHARED_MAILBOX, Estate
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    expire_leases,
    later,
    of_tenant,
)
from tests.releases.release_fixture import ReleaseFixture, release_fixture
from tests.requests.request_services import administrator, application

UNKNOWN = ReleaseId(UUID(int=1))
PAGE = PageWanted(10, None)
INFO = {"name": "Info", "displayName": "Info", "alias": "desk", "templateId": str(SHARED_MAILBOX)}


@pytest.fixture
async def fixture(estate: Estate) -> ReleaseFixture:
    return release_fixture(estate)


async def made(estate: Estate) -> tuple[RequestId, RequestId]:
    """Create a group and a mailbox."""
    group, mailbox = await estate.request("Apollo", key="apollo"), await estate.ask_mailbox(INFO)
    await estate.work()
    return RequestId(group.request_id), mailbox.record.request_id


async def actions(estate: Estate) -> list[str]:
    statement = "SELECT action FROM chamberlain.audit WHERE tenant_id = $1 ORDER BY sequence"
    return [str(action) for [action] in await estate.rows(statement, ESTATE)]


async def test_it_works(estate: Estate, fixture: ReleaseFixture) -> None:
    group_id, mailbox_id = await made(estate)
    team_id = RequestId((await estate.request("Crew", templateId=str(PROJECT_TEAM))).request_id)
    await estate.work()
    await fixture.guests.assign(templateId=str(PARTNERS), policyId=str(NINETY_DAYS))
    await fixture.guests.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS))
    await fixture.guests.work()
    await fixture.guests.run_policies()
    before = {group: await fixture.guests.shown(group) for group in (ALL_STAFF, HANDBOOK)}
    group, mailbox = await estate.group(group_id), await estate.mailbox(mailbox_id)
    assert group is not None
    assert mailbox is not None

    preview = await fixture.preview()
    view = await fixture.release()

    assert preview.counts == {
        ReleaseType.MAILBOX: 1, ReleaseType.GROUP: 1, ReleaseType.TEAM: 1, ReleaseType.ASSIGNMENT: 2
    }  # fmt: skip
    assert {each.display_name for each in preview.objects} >= {"Apollo", "Info", "Crew", "All staff"}
    assert (view.record.state, view.record.total, view.record.released) == (ReleaseState.SUCCEEDED, 5, 5)
    assert (view.record.skipped, view.remarks) == (0, ())
    # Marks and records are gone, and the objects are in the directory as they were.
    assert await estate.group(group_id) is None
    assert await estate.mailbox(mailbox_id) is None
    assert await fixture.left([group_id, mailbox_id, team_id]) == []
    shown = await fixture.port.adoptions.observe(ESTATE, "chamberlain_mailbox", [mailbox.id])
    assert shown == [replace(mailbox, marks={})]
    for place, subject in before.items():
        assert await fixture.guests.shown(place) == replace(subject, template_id=None, policy_id=None)
        assert (await fixture.guests.record(place, subject.type)).assignment == Assignment()
    assert (
        await estate.rows("SELECT extensions FROM directory.groups WHERE id = $1 AND extensions <> '{}'", group.id)
        == []
    )
    written = await actions(estate)
    assert written.count("release.start") == 1
    assert sorted(written[written.index("release.start") + 1 :]) == [
        "group.assign", "group.release", "group.release", "mailbox.release", "site.assign"
    ]  # fmt: skip
    # The job of the cleared policy ends its timers.
    await fixture.guests.run_policies()
    assert await estate.rows("SELECT FROM chamberlain.policy_clock") == []
    assert await estate.rows("SELECT kind FROM chamberlain.job WHERE kind IN ('policyEvaluate', 'releaseRun')") == []
    # No check repairs anything, and the name and the key are free.
    drift = drift_fixture(estate)
    await drift.set_repair()
    await drift.check_all()
    assert await estate.rows("SELECT about FROM chamberlain.finding WHERE state = 'open' AND source = 'drift'") == []
    assert await estate.group(group_id) is None
    again = await estate.request("Apollo", key="apollo")
    assert again.request_id != group_id


async def test_metadata_of_a_released_group_goes(estate: Estate, fixture: ReleaseFixture) -> None:
    marked = "SELECT id FROM directory.groups WHERE extensions::text LIKE '%metadata%'"
    await estate.request("Apollo", metadata={"costCentre": "4711"})
    await estate.work()
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.tenant SET extension_prefix = 'other' WHERE tenant_id = $1", ESTATE)
    await estate.request("Crew", templateId=str(PROJECT_TEAM), metadata={"Zürich": "Ä"})
    await estate.work()
    ids = [group_id for [group_id] in await estate.rows(marked)]
    assert len(ids) == 2

    await fixture.release()

    shown = await estate.rows("SELECT extensions::text FROM directory.groups WHERE id = ANY ($1)", ids)
    assert shown == [("{}",), ("{}",)]
    assert await estate.rows("SELECT FROM directory.extension_values WHERE group_id = ANY ($1)", ids) == []
    assert await estate.rows("SELECT FROM chamberlain.group_metadata") == []


async def test_the_same_key_starts_one_release(estate: Estate, fixture: ReleaseFixture) -> None:
    first = await fixture.start(key="once")
    again = await fixture.start(key="once")
    await fixture.work()

    assert again == first == await fixture.start(key="once")
    assert await estate.rows("SELECT release_id FROM chamberlain.release") == [(first,)]


async def test_only_the_chosen_types_are_released(estate: Estate, fixture: ReleaseFixture) -> None:
    group_id, mailbox_id = await made(estate)

    view = await fixture.release([ReleaseType.MAILBOX])

    assert (view.record.types, view.record.released) == ((ReleaseType.MAILBOX,), 1)
    assert await estate.mailbox(mailbox_id) is None
    assert await estate.group(group_id) is not None
    assert await fixture.left([group_id]) != []


async def test_objects_with_open_requests_are_skipped(estate: Estate, fixture: ReleaseFixture) -> None:
    waits = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    queued = await estate.request("Apollo")
    adoption = adoption_fixture(estate)
    adopted = await adoption.mailbox_before(shared())
    await adoption.confirm()
    await fixture.guests.assign(templateId=str(PARTNERS))

    preview = await fixture.preview()
    view = await fixture.release()

    assert preview.skipped_counts == {ReleaseReason.ADOPTION_RUNNING: 1, ReleaseReason.REQUEST_OPEN: 3}
    assert sum(preview.counts.values()) == 0
    assert (view.record.total, view.record.skipped) == (0, 4)
    assert {each.reason for each in view.remarks} == {ReleaseReason.REQUEST_OPEN, ReleaseReason.ADOPTION_RUNNING}
    assert adopted.id in {each.id for each in view.remarks}
    states = [(await estate.record(RequestId(each.request_id))).state for each in (waits, queued)]
    assert states == ["pendingApproval", "queued"]


async def test_an_adopted_object_can_be_adopted_again(estate: Estate, fixture: ReleaseFixture) -> None:
    adoption = adoption_fixture(estate)
    mailbox = await adoption.mailbox_before(shared())
    first = await adoption.confirm()
    await adoption.work()

    await fixture.release()
    again = await adoption.confirm()
    await adoption.work()

    assert (await adoption.read(first)).record.released == 1
    assert (await adoption.read(again)).record.adopted == 1
    assert (await adoption.shown())[mailbox.id].marks.keys() == {"requestId"}


async def test_a_group_whose_request_expired_is_released(estate: Estate, fixture: ReleaseFixture) -> None:
    group_id, _ = await made(estate)
    await fixture.guests.discover()
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.request WHERE request_id = $1", group_id)

    view = await fixture.release([ReleaseType.GROUP])

    assert view.record.released == 1
    assert await estate.group(group_id) is None


async def test_it_waits_for_the_directory_and_resumes(estate: Estate) -> None:
    fixture = release_fixture(estate, page=1)
    group_id, mailbox_id = await made(estate)
    group = await estate.group(group_id)
    assert group is not None
    fixture.port.faults[group.id] = TryAgain(timedelta(seconds=5), "Busy.")
    release_id = await fixture.start()

    await fixture.work()
    waiting = await fixture.read(release_id)
    other = await estate.mailbox(mailbox_id)
    fixture.port.faults.clear()
    await fixture.work()

    assert (waiting.record.state, waiting.record.released, other) == (ReleaseState.RUNNING, 1, None)
    ended = await fixture.read(release_id)
    assert (ended.record.state, ended.record.released) == (ReleaseState.SUCCEEDED, 2)
    assert await estate.group(group_id) is None


async def test_a_repeated_run_changes_nothing_twice(estate: Estate, fixture: ReleaseFixture) -> None:
    group_id, mailbox_id = await made(estate)
    await fixture.guests.assign(templateId=str(PARTNERS))
    await fixture.guests.work()
    release_id = await fixture.start()
    # The process ends after it has removed the records.
    fixture.port.error = TryAgain(timedelta(0), "The process ends.")
    await fixture.work()
    removed = await fixture.left([group_id, mailbox_id])
    assert await estate.group(group_id) is not None
    fixture.port.error = None

    await expire_leases(estate)
    await fixture.work()
    await fixture.work()

    assert removed == []
    assert await estate.group(group_id) is None
    assert (await fixture.read(release_id)).record.released == 3
    written = await actions(estate)
    assert [written.count(each) for each in ("group.release", "mailbox.release")] == [1, 1]
    assert written[written.index("release.start") :].count("group.assign") == 1


async def test_objects_without_an_answer_are_reported(estate: Estate, fixture: ReleaseFixture) -> None:
    group_id, mailbox_id = await made(estate)
    group = await estate.group(group_id)
    assert group is not None
    fixture.port.faults[group.id] = TryAgain(timedelta(seconds=5), "Busy.")
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.mailboxes")
    release_id = await fixture.start()

    await fixture.work()
    later(estate, seconds=NOT_SHOWN_FOR.total_seconds())
    await fixture.work()
    without_mailbox = await fixture.read(release_id)
    later(estate, seconds=TIMEOUT.total_seconds())
    await fixture.work()

    assert [each.reason for each in without_mailbox.remarks] == [ReleaseReason.GONE]
    ended = await fixture.read(release_id)
    assert ended.record.state is ReleaseState.SUCCEEDED
    assert {each.reason for each in ended.remarks} == {ReleaseReason.GONE, ReleaseReason.MARK_STAYS}
    assert await fixture.left([group_id, mailbox_id]) == []


NOT_YET, BUSY = (TryAgain(timedelta(seconds=5), "Wait.", cause) for cause in (Cause.NOT_YET, Cause.BUSY))
BROKEN = ConnectionBroken(timedelta(seconds=5), "The credential has lapsed.")


async def test_time_without_a_directory_does_not_make_an_object_gone(estate: Estate, fixture: ReleaseFixture) -> None:
    group_id, _ = await made(estate)
    group = await estate.group(group_id)
    assert group is not None
    release_id = await fixture.start([ReleaseType.GROUP])
    states = []
    for fault, hours in [(BROKEN, 30), (BUSY, 20), (NOT_YET, 20), (BROKEN, 30), (BUSY, 4), (BUSY, 0)]:
        fixture.port.faults[group.id] = fault
        await fixture.work()
        states.append((await fixture.read(release_id)).record.state)
        later(estate, seconds=hours * 3600)

    assert states == [ReleaseState.RUNNING] * 5 + [ReleaseState.SUCCEEDED]
    assert {each.reason for each in (await fixture.read(release_id)).remarks} == {ReleaseReason.MARK_STAYS}


async def test_a_new_assignment_during_a_release_stays(fixture: ReleaseFixture) -> None:
    await fixture.guests.assign(templateId=str(PARTNERS))
    await fixture.guests.work()
    fixture.guests.guests.faults[ALL_STAFF] = TryAgain(timedelta(seconds=5), "Busy.")
    release_id = await fixture.start()
    await fixture.work()
    fixture.guests.guests.faults.clear()

    await fixture.guests.assign(templateId=str(NO_GUESTS))
    await fixture.work()
    await fixture.guests.work()

    view = await fixture.read(release_id)
    assert [each.reason for each in view.remarks] == [ReleaseReason.ASSIGNED_AGAIN]
    assert (await fixture.guests.record()).assignment == Assignment(NO_GUESTS)
    assert (await fixture.guests.shown()).template_id == NO_GUESTS


async def test_one_release_of_a_tenant_runs_at_a_time(estate: Estate, fixture: ReleaseFixture) -> None:
    await made(estate)
    first = await fixture.start()

    with pytest.raises(Conflict, match="running") as refused:
        await fixture.start()
    await fixture.work()
    later(estate, seconds=1)
    second = await fixture.start()

    assert refused.value.code == "stateDoesNotAllow"
    listed = await fixture.service.list(administrator(ADA), PAGE)
    assert [each.id for each in listed.items] == [second, first]


async def test_it_rejects_callers_who_may_not(fixture: ReleaseFixture) -> None:
    release_id = await fixture.start()

    for caller in (administrator(BEN), application("Collab.Manage.ReadWrite.All")):
        with pytest.raises(Forbidden):
            await fixture.preview(caller=caller)
        with pytest.raises(Forbidden):
            await fixture.start(caller=caller)
    for stranger, known in ((of_tenant(administrator(ADA), OTHER_HOUSE), release_id), (administrator(ADA), UNKNOWN)):
        with pytest.raises((NotFound, Forbidden)):
            await fixture.service.read(stranger, known)
