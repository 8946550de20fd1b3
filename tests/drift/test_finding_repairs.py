# SPDX-License-Identifier: Apache-2.0
"""Repairs of single findings on request, and ignored findings."""

import json
from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, NotFound, Rejected, Unavailable
from chamberlain.core.ids import RequestId
from chamberlain.guests.models import FindingFilter, FindingKind, FindingState
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import ADA, BEN, CLEO, OTHER_HOUSE, Estate, caller_of
from tests.guests.assignments.guest_fixture import NO_GUESTS, expire_leases, later
from tests.guests.findings.finding_fixture import rendered
from tests.postgres import connected
from tests.queue.crash_injection import CrashingDirectory, InjectedCrash
from tests.requests.request_services import act, administrator, application, retry

MOVE = "UPDATE directory.users SET properties = properties || '{\"city\": \"Elsewhere\"}' WHERE mail LIKE 'desk%'"
REQUEST = """
SELECT kind, state, error ->> 'code', result ->> 'type' FROM chamberlain.request WHERE request_id = $1
"""
STEPS = "SELECT steps -> 0 ->> 'step', steps -> 0 ->> 'state' FROM chamberlain.request WHERE request_id = $1"


@pytest.fixture
async def drift(estate: Estate) -> DriftFixture:
    return drift_fixture(estate)


async def find_city(drift: DriftFixture) -> UUID:
    """A finding about the city of a mailbox."""
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    await drift.check_all()
    (finding,) = await drift.records(FindingFilter(state=FindingState.OPEN))
    return finding.id


async def ignore(drift: DriftFixture, finding_id: UUID) -> list[str]:
    answer = await drift.assignments.findings.ignore(administrator(ADA), finding_id, act(comment="Fine"), rendered)
    shown: list[str] = json.loads(answer.body)
    return shown


async def test_it_works(drift: DriftFixture) -> None:
    finding_id = await find_city(drift)

    request_id = await drift.request_repair(finding_id)
    await drift.run_repairs()

    (finding,) = await drift.records()
    assert (finding.state, finding.repair_request_id) == (FindingState.REPAIRED, request_id)
    assert await drift.estate.rows(REQUEST, request_id) == [("repair", "succeeded", None, "mailbox")]
    assert await drift.estate.rows(STEPS, request_id) == [("repairDrift", "succeeded")]
    _, repair = await drift.repairs()
    assert (repair["before"], repair["after"]) == ({"city": "Elsewhere"}, {"city": "Town"})
    assert await drift.events() == [("finding.opened", "open", "city"), ("finding.repaired", "repaired", "city")]
    audited = await drift.estate.rows(
        "SELECT action, request_id FROM chamberlain.audit WHERE action LIKE '%.repair' ORDER BY sequence"
    )
    assert audited == [("finding.repair", request_id), ("mailbox.repair", request_id)]


@pytest.mark.parametrize(("is_trusted", "state"), [(True, "succeeded"), (False, "waiting")])
async def test_an_acknowledged_repair_is_not_read_back(drift: DriftFixture, is_trusted: bool, state: str) -> None:  # noqa: FBT001 - parametrised
    finding_id = await find_city(drift)
    drift.estate.directory.trusts_writes, drift.estate.directory.acknowledges_only = is_trusted, True

    request_id = await drift.request_repair(finding_id)
    await drift.run_repairs()

    assert await drift.estate.rows(STEPS, request_id) == [("repairDrift", state)]


async def test_a_reader_of_events_sees_the_accepted_request(drift: DriftFixture) -> None:
    finding_id = await find_city(drift)
    await drift.change("UPDATE chamberlain.tenant SET events_read_at = now()")

    request_id = await drift.request_repair(finding_id)

    accepted = "SELECT request_id, data::text FROM chamberlain.event WHERE type = 'request.accepted'"
    ((about, data),) = await drift.estate.rows(accepted)
    assert about == request_id
    assert json.loads(str(data)) == {
        "request": {
            "requestId": str(request_id), "kind": "repair", "displayName": "The desk", "state": "queued", "error": None
        },
        "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    }  # fmt: skip


async def test_it_repairs_assignments_and_groups(drift: DriftFixture) -> None:
    _, group_id = await drift.group()
    await drift.assignments.discover()
    await drift.assignments.assign(templateId=str(NO_GUESTS))
    await drift.assignments.work()
    await drift.change("UPDATE directory.groups SET display_name = 'Cruise' WHERE id = $1", group_id)
    await drift.change("UPDATE directory.guest_settings SET allow_to_add_guests = true")
    await drift.check_all()
    drifted = FindingFilter(state=FindingState.OPEN, kind=FindingKind.DRIFT)

    for finding in await drift.records(drifted):
        await drift.request_repair(finding.id)
    await drift.run_repairs()

    found = [(each.property, each.state) for each in await drift.records(FindingFilter(kind=FindingKind.DRIFT))]
    assert sorted(found) == [("displayName", FindingState.REPAIRED), ("guests.allowed", FindingState.REPAIRED)]


async def test_a_repair_counts_again_after_repairs_that_did_not_hold(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    for _ in range(3):
        await drift.change(MOVE)
        await drift.check_all()
        later(drift.estate, hours=2)
    unstable = FindingFilter(state=FindingState.OPEN, kind=FindingKind.REPAIR_DOES_NOT_HOLD)
    (finding,) = await drift.records(unstable)

    await drift.request_repair(finding.id)
    await drift.run_repairs()
    later(drift.estate, hours=2)
    await drift.change(MOVE)
    await drift.check_all()

    assert await drift.records(unstable) == []
    assert {each.state for each in await drift.records()} == {FindingState.REPAIRED}


async def test_a_repair_that_a_worker_left_half_done_is_repaired(drift: DriftFixture) -> None:
    request_id = await drift.request_repair(await find_city(drift))

    with pytest.raises(InjectedCrash):
        await drift.run_repairs(replace(drift.repair_jobs, directory=CrashingDirectory(drift.estate.directory)))
    await expire_leases(drift.estate)
    await drift.run_repairs()

    assert await drift.findings() == [("drift", "repaired", "city")]
    assert await drift.estate.rows(REQUEST, request_id) == [("repair", "succeeded", None, "mailbox")]


async def test_a_refused_repair_fails_and_the_finding_stays_open(drift: DriftFixture) -> None:
    request_id = await drift.request_repair(await find_city(drift))
    drift.estate.directory.faults["The desk"] = Rejected("readOnly", "The directory is read-only.")

    await drift.run_repairs()

    (finding,) = await drift.records()
    assert (finding.state, finding.action) == (FindingState.OPEN, None)
    assert await drift.estate.rows(REQUEST, request_id) == [("repair", "failed", "readOnly", None)]


async def test_a_retry_of_a_replaced_request_repairs_nothing(drift: DriftFixture) -> None:
    finding_id = await find_city(drift)
    first = await drift.request_repair(finding_id)
    drift.estate.directory.faults["The desk"] = Rejected("readOnly", "The directory is read-only.")
    await drift.run_repairs()
    second = await drift.request_repair(finding_id)
    await drift.run_repairs()

    await retry(drift.estate, RequestId(first), caller_of(ADA))
    await drift.run_repairs()

    (finding,) = await drift.records()
    assert (finding.state, finding.repair_request_id) == (FindingState.OPEN, second)
    assert await drift.estate.rows(REQUEST, first) == [("repair", "failed", "repairReplaced", None)]


async def test_a_repair_by_a_check_does_not_name_a_request_that_failed(drift: DriftFixture) -> None:
    await drift.request_repair(await find_city(drift))
    drift.estate.directory.faults["The desk"] = Rejected("readOnly", "The directory is read-only.")
    await drift.run_repairs()
    drift.estate.directory.faults.clear()

    await drift.set_repair()
    await drift.check_all()

    repaired = "SELECT request_id FROM chamberlain.event WHERE type = 'finding.repaired'"
    assert await drift.estate.rows(repaired) == [(None,)]


async def test_a_finding_that_is_gone_needs_no_repair(drift: DriftFixture) -> None:
    request_id = await drift.request_repair(await find_city(drift))
    await drift.change(MOVE.replace("Elsewhere", "Town"))
    await drift.check_all()

    await drift.run_repairs()

    assert await drift.findings() == [("drift", "gone", "city")]
    assert await drift.estate.rows(REQUEST, request_id) == [("repair", "succeeded", None, "mailbox")]


async def test_the_same_key_requests_one_repair(drift: DriftFixture) -> None:
    finding_id = await find_city(drift)

    first = await drift.request_repair(finding_id, key="k")
    again = await drift.request_repair(finding_id, key="k")

    assert first == again
    with pytest.raises(Conflict) as refused:
        await drift.request_repair(finding_id)
    assert (refused.value.code, refused.value.conflicting_id) == ("stateDoesNotAllow", str(first))


async def test_it_rejects_what_no_repair_changes(drift: DriftFixture) -> None:
    _, group_id = await drift.group()
    await drift.change("UPDATE directory.groups SET mail = 'other@estate.example' WHERE id = $1", group_id)
    await drift.check_all()
    (finding,) = await drift.records()

    with pytest.raises(Conflict) as refused:
        await drift.request_repair(finding.id)

    assert (finding.property, refused.value.code) == ("mail", "stateDoesNotAllow")


async def test_it_rejects_repairs_while_older_processes_may_run(drift: DriftFixture) -> None:
    finding_id = await find_city(drift)
    ledger = "DELETE FROM migration.applied WHERE file_name = '0058_repair_requests.post.sql'"
    async with connected(drift.estate.databases.addresses.owner) as connection:
        await connection.execute(ledger)

    with pytest.raises(Unavailable) as refused:
        await drift.request_repair(finding_id)

    assert refused.value.code == "overloaded"


@pytest.mark.parametrize("caller", [caller_of(ADA), administrator(BEN), application("Collab.Manage.ReadWrite.All")])
async def test_it_rejects_callers_who_do_not_administer(drift: DriftFixture, caller: Caller) -> None:
    finding_id = await find_city(drift)

    with pytest.raises(Forbidden):
        await drift.request_repair(finding_id, caller)
    with pytest.raises(Forbidden):
        await drift.assignments.findings.ignore(caller, finding_id, act(), rendered)
    with pytest.raises(NotFound):
        await drift.request_repair(finding_id, application("Collab.Config.ReadWrite.All", OTHER_HOUSE))


async def test_an_ignored_value_is_not_reported_again(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.set_repair(drift=False)
    finding_id = await find_city(drift)

    shown = await ignore(drift, finding_id)
    await drift.set_repair()
    await drift.check_all()

    assert shown == ["ignored", "Fine"]
    assert [each.id for each in await drift.records(FindingFilter(state=FindingState.IGNORED))] == [finding_id]
    assert await drift.records(FindingFilter(state=FindingState.ACCEPTED)) == []
    assert await drift.repairs() == []
    assert await drift.events() == [("finding.opened", "open", "city"), ("finding.closed", "ignored", "city")]


async def test_another_value_opens_an_ignored_finding(drift: DriftFixture) -> None:
    finding_id = await find_city(drift)
    await ignore(drift, finding_id)
    await drift.change(MOVE.replace("Elsewhere", "Far"))

    await drift.check_all()

    (finding,) = await drift.records()
    assert (finding.id, finding.state, finding.observed, finding.acceptance) == (
        finding_id, FindingState.OPEN, "Far", None,
    )  # fmt: skip
    assert [each[0] for each in await drift.events()] == ["finding.opened", "finding.closed", "finding.opened"]


async def test_an_ignored_property_that_is_as_wanted_again_is_gone(drift: DriftFixture) -> None:
    await ignore(drift, await find_city(drift))
    await drift.change(MOVE.replace("Elsewhere", "Town"))
    await drift.check_all()
    await drift.change(MOVE)

    await drift.check_all()

    assert await drift.findings() == [("drift", "gone", "city"), ("drift", "open", "city")]


async def test_a_member_who_is_missing_is_added(drift: DriftFixture) -> None:
    _, group_id = await drift.group(owners=[str(BEN)], members=[str(CLEO)])
    await drift.change("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", group_id, BEN)
    await drift.check_all()
    (finding,) = await drift.records(FindingFilter(state=FindingState.OPEN))

    await drift.request_repair(finding.id)
    await drift.run_repairs()

    assert (finding.property, await drift.findings()) == ("owners", [("drift", "repaired", "owners")])
