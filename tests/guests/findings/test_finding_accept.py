# SPDX-License-Identifier: Apache-2.0
"""Accept a finding: it stays for a reason, and is open again at the end of the acceptance."""

import json
from collections import Counter
from datetime import timedelta

import pytest

from chamberlain.auth.models import ActorType
from chamberlain.core.errors import BodyInvalid, Conflict, Forbidden, NotFound
from chamberlain.guests import finding_records
from chamberlain.guests.models import FindingFilter, FindingKind, FindingState
from chamberlain.queue.models import JobKind
from tests.estates import ADA, BEN, OTHER_HOUSE, Estate, caller_of
from tests.guests.assignments.guest_fixture import ALL_STAFF, NINETY_DAYS, make_due
from tests.guests.findings.finding_fixture import FindingFixture, finding_fixture
from tests.requests.request_services import administrator, application

AUDIT = """
SELECT payload::text FROM chamberlain.audit WHERE action LIKE 'finding.%' ORDER BY sequence
"""


@pytest.fixture
def findings_fixture(estate: Estate) -> FindingFixture:
    return finding_fixture(estate)


async def test_it_works(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()

    answer = await findings_fixture.accepted(finding_id)

    record = await findings_fixture.record(finding_id)
    assert json.loads(answer.body) == ["accepted", "The project ends in spring."]
    assert record.state is FindingState.ACCEPTED
    assert record.acceptance is not None
    assert (record.acceptance.by.id, record.acceptance.by.display_name) == (ADA, "Ada Achterberg")
    assert (record.acceptance.accepted_at, record.acceptance.until) == (findings_fixture.estate.moment, None)
    assert await findings_fixture.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'findingReopen'") == []


async def test_the_audit_trail_says_who_and_why(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    until = findings_fixture.estate.moment + timedelta(days=90)

    await findings_fixture.accepted(finding_id, until)

    ((payload,),) = await findings_fixture.estate.rows(AUDIT)
    written = json.loads(str(payload))
    assert written["actor"]["displayName"] == "Ada Achterberg"
    assert written["subject"] == {
        "type": "finding",
        "id": str(finding_id),
        "displayName": "guestAgainstRule: All staff",
    }
    assert written["before"] == {"state": "open"}
    assert written["after"] == {
        "state": "accepted",
        "reason": "The project ends in spring.",
        "until": until.isoformat(),
    }


async def test_it_stays_accepted_while_it_is_seen_again(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    await findings_fixture.accepted(finding_id)

    await findings_fixture.see()

    assert (await findings_fixture.record(finding_id)).state is FindingState.ACCEPTED
    assert await findings_fixture.all(FindingFilter(state=FindingState.OPEN)) == []


async def test_it_is_open_again_when_its_end_has_come(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    await findings_fixture.accepted(finding_id, findings_fixture.estate.moment + timedelta(days=90))
    (due,) = await findings_fixture.estate.rows(
        "SELECT run_at > now() + interval '80 days' FROM chamberlain.job WHERE kind = 'findingReopen'"
    )

    findings_fixture.estate.moment += timedelta(days=90)
    await make_due(findings_fixture.estate)
    await findings_fixture.work()

    record = await findings_fixture.record(finding_id)
    assert due == (True,)
    assert (record.state, record.acceptance) == (FindingState.OPEN, None)
    _, written = [json.loads(str(payload)) for (payload,) in await findings_fixture.estate.rows(AUDIT)]
    assert (written["actor"]["type"], written["before"]["state"]) == (ActorType.SYSTEM, "accepted")
    assert written["after"] == {"state": "open"}
    assert await findings_fixture.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'findingReopen'") == []


async def test_a_clock_of_the_database_that_is_ahead_ends_nothing_early(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    await findings_fixture.accepted(finding_id, findings_fixture.estate.moment + timedelta(days=90))

    await make_due(findings_fixture.estate)
    await findings_fixture.work()

    assert (await findings_fixture.record(finding_id)).state is FindingState.ACCEPTED
    (left,) = await findings_fixture.estate.rows(
        "SELECT run_at > now() + interval '89 days' FROM chamberlain.job WHERE kind = 'findingReopen'"
    )
    assert left == (True,)


@pytest.mark.parametrize("days", [30, 180, None])
async def test_another_end_holds_from_then_on(findings_fixture: FindingFixture, days: int | None) -> None:
    begun = findings_fixture.estate.moment
    finding_id = await findings_fixture.find()
    await findings_fixture.accepted(finding_id, begun + timedelta(days=90))
    end = None if days is None else begun + timedelta(days=days)
    await findings_fixture.accepted(finding_id, end, reason="Longer.")

    states = []
    for day in (29, 31, 91, 181):
        findings_fixture.estate.moment = begun + timedelta(days=day)
        await make_due(findings_fixture.estate)
        await findings_fixture.work()
        states.append((await findings_fixture.record(finding_id)).state.value)

    accepted = {30: 1, 180: 3, None: 4}[days]
    assert states == ["accepted"] * accepted + ["open"] * (4 - accepted)


@pytest.mark.parametrize(("last", "jobs"), [(timedelta(days=30), 1), (None, 0)])
async def test_however_often_it_is_accepted_one_job_is_left(
    findings_fixture: FindingFixture, last: timedelta | None, jobs: int
) -> None:
    finding_id = await findings_fixture.find()
    for days in range(10):
        await findings_fixture.accepted(finding_id, findings_fixture.estate.moment + timedelta(days=100 + days))
    other = await findings_fixture.find(FindingKind.GUEST_EXPIRED)
    await findings_fixture.accepted(other, findings_fixture.estate.moment + timedelta(days=1))

    await findings_fixture.accepted(finding_id, None if last is None else findings_fixture.estate.moment + last)

    waiting = await findings_fixture.estate.rows("SELECT subject FROM chamberlain.job WHERE kind = 'findingReopen'")
    assert Counter(waiting) == Counter([(finding_id,)] * jobs + [(other,)])


async def test_the_policy_runs_when_an_acceptance_has_ended(findings_fixture: FindingFixture) -> None:
    """Its clock has rested meanwhile; without that it would go on up to a day later."""
    finding_id = await findings_fixture.find()
    policy = "UPDATE chamberlain.finding SET policy_id = $1"
    async with findings_fixture.estate.databases.worker.across_tenants() as tx:
        await tx.execute(policy, NINETY_DAYS)
    await findings_fixture.accepted(finding_id, findings_fixture.estate.moment + timedelta(days=90))

    findings_fixture.estate.moment += timedelta(days=90)
    await make_due(findings_fixture.estate)
    await findings_fixture.work()

    runs = "SELECT subject, run_at <= now() FROM chamberlain.job WHERE kind = 'policyEvaluate'"
    assert await findings_fixture.estate.rows(runs) == [(ALL_STAFF, True)]


async def test_an_end_that_is_replaced_while_a_worker_is_at_it_has_no_job_any_more(
    findings_fixture: FindingFixture,
) -> None:
    begun = findings_fixture.estate.moment
    finding_id = await findings_fixture.find()
    await findings_fixture.accepted(finding_id, begun + timedelta(days=30))
    await make_due(findings_fixture.estate)
    claim = await findings_fixture.estate.claim(kinds=[JobKind.FINDING_REOPEN])
    await findings_fixture.accepted(finding_id, begun + timedelta(days=180))

    findings_fixture.estate.moment = begun + timedelta(days=31)
    await findings_fixture.jobs.reopen(claim)

    waiting = await findings_fixture.estate.rows(
        "SELECT run_at > now() FROM chamberlain.job WHERE kind = 'findingReopen'"
    )
    assert waiting == [(True,)]
    assert (await findings_fixture.record(finding_id)).state is FindingState.ACCEPTED


async def test_what_has_gone_meanwhile_stays_so(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    await findings_fixture.accepted(finding_id, findings_fixture.estate.moment + timedelta(days=90))
    await findings_fixture.lose()

    findings_fixture.estate.moment += timedelta(days=91)
    await make_due(findings_fixture.estate)
    await findings_fixture.work()

    assert (await findings_fixture.record(finding_id)).state is FindingState.GONE
    assert await findings_fixture.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'findingReopen'") == []


async def test_a_second_call_with_the_same_key_gets_the_same_answer(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    until = findings_fixture.estate.moment + timedelta(days=1)
    first = await findings_fixture.accepted(finding_id, until, key="k1")
    findings_fixture.estate.moment += timedelta(days=2)

    second = await findings_fixture.accepted(finding_id, until, key="k1")

    assert (second.body, second.replayed) == (first.body, True)
    assert len(await findings_fixture.estate.rows(AUDIT)) == 1


async def test_it_rejects_a_finding_that_does_not_stand_any_more(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    await findings_fixture.lose()

    with pytest.raises(Conflict) as refused:
        await findings_fixture.accepted(finding_id)

    assert refused.value.code == "stateDoesNotAllow"
    assert "gone" in refused.value.detail


async def test_it_rejects_an_end_that_has_passed(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()

    with pytest.raises(BodyInvalid) as refused:
        await findings_fixture.accepted(finding_id, findings_fixture.estate.moment)

    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [("/until", "outOfBounds")]
    assert (await findings_fixture.record(finding_id)).state is FindingState.OPEN


async def test_it_rejects_a_finding_of_another_tenant(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()

    with pytest.raises(NotFound):
        await findings_fixture.accepted(finding_id, caller=application("Collab.Config.ReadWrite.All", OTHER_HOUSE))

    assert (await findings_fixture.record(finding_id)).state is FindingState.OPEN


async def test_it_rejects_whoever_does_not_administer_the_tenant(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()

    for caller in (caller_of(ADA), administrator(BEN), application("Collab.Manage.ReadWrite.All")):
        with pytest.raises(Forbidden):
            await findings_fixture.accepted(finding_id, caller=caller)
    await findings_fixture.accepted(finding_id, caller=application("Mail.Config.ReadWrite.All"))


async def test_open_ones_are_counted_by_kind(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    async with findings_fixture.estate.databases.worker.across_tenants() as tx:
        before = await finding_records.count_open(tx)
        far_enough = await finding_records.count_open(tx, limit=0)
    await findings_fixture.accepted(finding_id)
    async with findings_fixture.estate.databases.worker.across_tenants() as tx:
        after = await finding_records.count_open(tx)

    nothing = dict.fromkeys(FindingKind, 0)
    assert before == {**nothing, FindingKind.GUEST_AGAINST_RULE: 1}
    assert (after, far_enough) == (nothing, nothing)
