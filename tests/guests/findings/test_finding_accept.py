"""Accepting a finding: it may stand for a reason, and is open again when the end that was named has come."""

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
from tests.guests.assignments.stewards import ALL_STAFF, NINETY_DAYS, make_due
from tests.guests.findings.findings import Inspector, inspector_of
from tests.requests.acts import administrator, application

AUDIT = """
SELECT payload::text FROM chamberlain.audit WHERE action LIKE 'finding.%' ORDER BY sequence
"""


@pytest.fixture
def inspector(estate: Estate) -> Inspector:
    return inspector_of(estate)


async def test_it_works(inspector: Inspector) -> None:
    finding_id = await inspector.find()

    answer = await inspector.accepted(finding_id)

    record = await inspector.record(finding_id)
    assert json.loads(answer.body) == ["accepted", "The project ends in spring."]
    assert record.state is FindingState.ACCEPTED
    assert record.acceptance is not None
    assert (record.acceptance.by.id, record.acceptance.by.display_name) == (ADA, "Ada Achterberg")
    assert (record.acceptance.accepted_at, record.acceptance.until) == (inspector.estate.moment, None)
    assert await inspector.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'findingReopen'") == []


async def test_the_audit_trail_says_who_and_why(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    until = inspector.estate.moment + timedelta(days=90)

    await inspector.accepted(finding_id, until)

    ((payload,),) = await inspector.estate.rows(AUDIT)
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


async def test_it_stays_accepted_while_it_is_seen_again(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    await inspector.accepted(finding_id)

    await inspector.see()

    assert (await inspector.record(finding_id)).state is FindingState.ACCEPTED
    assert await inspector.all(FindingFilter(state=FindingState.OPEN)) == []


async def test_it_is_open_again_when_its_end_has_come(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    await inspector.accepted(finding_id, inspector.estate.moment + timedelta(days=90))
    (due,) = await inspector.estate.rows(
        "SELECT run_at > now() + interval '80 days' FROM chamberlain.job WHERE kind = 'findingReopen'"
    )

    inspector.estate.moment += timedelta(days=90)
    await make_due(inspector.estate)
    await inspector.work()

    record = await inspector.record(finding_id)
    assert due == (True,)
    assert (record.state, record.acceptance) == (FindingState.OPEN, None)
    _, written = [json.loads(str(payload)) for (payload,) in await inspector.estate.rows(AUDIT)]
    assert (written["actor"]["type"], written["before"]["state"]) == (ActorType.SYSTEM, "accepted")
    assert written["after"] == {"state": "open"}
    assert await inspector.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'findingReopen'") == []


async def test_a_clock_of_the_database_that_is_ahead_ends_nothing_early(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    await inspector.accepted(finding_id, inspector.estate.moment + timedelta(days=90))

    await make_due(inspector.estate)
    await inspector.work()

    assert (await inspector.record(finding_id)).state is FindingState.ACCEPTED
    (left,) = await inspector.estate.rows(
        "SELECT run_at > now() + interval '89 days' FROM chamberlain.job WHERE kind = 'findingReopen'"
    )
    assert left == (True,)


@pytest.mark.parametrize("days", [30, 180, None])
async def test_another_end_holds_from_then_on(inspector: Inspector, days: int | None) -> None:
    begun = inspector.estate.moment
    finding_id = await inspector.find()
    await inspector.accepted(finding_id, begun + timedelta(days=90))
    end = None if days is None else begun + timedelta(days=days)
    await inspector.accepted(finding_id, end, reason="Longer.")

    states = []
    for day in (29, 31, 91, 181):
        inspector.estate.moment = begun + timedelta(days=day)
        await make_due(inspector.estate)
        await inspector.work()
        states.append((await inspector.record(finding_id)).state.value)

    accepted = {30: 1, 180: 3, None: 4}[days]
    assert states == ["accepted"] * accepted + ["open"] * (4 - accepted)


@pytest.mark.parametrize(("last", "jobs"), [(timedelta(days=30), 1), (None, 0)])
async def test_however_often_it_is_accepted_one_job_is_left(
    inspector: Inspector, last: timedelta | None, jobs: int
) -> None:
    finding_id = await inspector.find()
    for days in range(10):
        await inspector.accepted(finding_id, inspector.estate.moment + timedelta(days=100 + days))
    other = await inspector.find(FindingKind.GUEST_EXPIRED)
    await inspector.accepted(other, inspector.estate.moment + timedelta(days=1))

    await inspector.accepted(finding_id, None if last is None else inspector.estate.moment + last)

    waiting = await inspector.estate.rows("SELECT subject FROM chamberlain.job WHERE kind = 'findingReopen'")
    assert Counter(waiting) == Counter([(finding_id,)] * jobs + [(other,)])


async def test_the_policy_runs_when_an_acceptance_has_ended(inspector: Inspector) -> None:
    """Its clock has rested meanwhile; without that it would go on up to a day later."""
    finding_id = await inspector.find()
    policy = "UPDATE chamberlain.finding SET policy_id = $1"
    async with inspector.estate.databases.worker.across_tenants() as tx:
        await tx.execute(policy, NINETY_DAYS)
    await inspector.accepted(finding_id, inspector.estate.moment + timedelta(days=90))

    inspector.estate.moment += timedelta(days=90)
    await make_due(inspector.estate)
    await inspector.work()

    runs = "SELECT subject, run_at <= now() FROM chamberlain.job WHERE kind = 'policyEvaluate'"
    assert await inspector.estate.rows(runs) == [(ALL_STAFF, True)]


async def test_an_end_that_is_replaced_while_a_worker_is_at_it_has_no_job_any_more(inspector: Inspector) -> None:
    begun = inspector.estate.moment
    finding_id = await inspector.find()
    await inspector.accepted(finding_id, begun + timedelta(days=30))
    await make_due(inspector.estate)
    claim = await inspector.estate.claim(kinds=[JobKind.FINDING_REOPEN])
    await inspector.accepted(finding_id, begun + timedelta(days=180))

    inspector.estate.moment = begun + timedelta(days=31)
    await inspector.jobs.reopen(claim)

    waiting = await inspector.estate.rows("SELECT run_at > now() FROM chamberlain.job WHERE kind = 'findingReopen'")
    assert waiting == [(True,)]
    assert (await inspector.record(finding_id)).state is FindingState.ACCEPTED


async def test_what_has_gone_meanwhile_stays_so(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    await inspector.accepted(finding_id, inspector.estate.moment + timedelta(days=90))
    await inspector.lose()

    inspector.estate.moment += timedelta(days=91)
    await make_due(inspector.estate)
    await inspector.work()

    assert (await inspector.record(finding_id)).state is FindingState.GONE
    assert await inspector.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'findingReopen'") == []


async def test_a_second_call_with_the_same_key_gets_the_same_answer(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    until = inspector.estate.moment + timedelta(days=1)
    first = await inspector.accepted(finding_id, until, key="k1")
    inspector.estate.moment += timedelta(days=2)

    second = await inspector.accepted(finding_id, until, key="k1")

    assert (second.body, second.replayed) == (first.body, True)
    assert len(await inspector.estate.rows(AUDIT)) == 1


async def test_it_rejects_a_finding_that_does_not_stand_any_more(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    await inspector.lose()

    with pytest.raises(Conflict) as refused:
        await inspector.accepted(finding_id)

    assert refused.value.code == "stateDoesNotAllow"
    assert "gone" in refused.value.detail


async def test_it_rejects_an_end_that_has_passed(inspector: Inspector) -> None:
    finding_id = await inspector.find()

    with pytest.raises(BodyInvalid) as refused:
        await inspector.accepted(finding_id, inspector.estate.moment)

    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [("/until", "outOfBounds")]
    assert (await inspector.record(finding_id)).state is FindingState.OPEN


async def test_it_rejects_a_finding_of_another_tenant(inspector: Inspector) -> None:
    finding_id = await inspector.find()

    with pytest.raises(NotFound):
        await inspector.accepted(finding_id, caller=application("Collab.Config.ReadWrite.All", OTHER_HOUSE))

    assert (await inspector.record(finding_id)).state is FindingState.OPEN


async def test_it_rejects_whoever_does_not_administer_the_tenant(inspector: Inspector) -> None:
    finding_id = await inspector.find()

    for caller in (caller_of(ADA), administrator(BEN), application("Collab.Manage.ReadWrite.All")):
        with pytest.raises(Forbidden):
            await inspector.accepted(finding_id, caller=caller)
    await inspector.accepted(finding_id, caller=application("Mail.Config.ReadWrite.All"))


async def test_open_ones_are_counted_by_kind(inspector: Inspector) -> None:
    finding_id = await inspector.find()
    async with inspector.estate.databases.worker.across_tenants() as tx:
        before = await finding_records.count_open(tx)
        far_enough = await finding_records.count_open(tx, limit=0)
    await inspector.accepted(finding_id)
    async with inspector.estate.databases.worker.across_tenants() as tx:
        after = await finding_records.count_open(tx)

    nothing = dict.fromkeys(FindingKind, 0)
    assert before == {**nothing, FindingKind.GUEST_AGAINST_RULE: 1}
    assert (after, far_enough) == (nothing, nothing)
