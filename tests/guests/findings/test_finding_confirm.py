# SPDX-License-Identifier: Apache-2.0
"""Confirming a guest in a review: they stay, and the next review counts from then."""

import json
from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, NotFound, TryAgain, Unavailable
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import PolicyId
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.models import FindingFilter, FindingKind, FindingRecord, FindingState
from chamberlain.queue.models import JobKind
from tests.estates import ADA, BEN, ESTATE, OTHER_HOUSE, Estate, caller_of
from tests.guests.assignments.guest_fixture import GIL, guest_fixture, make_due
from tests.guests.findings.finding_fixture import finding_fixture, rendered
from tests.guests.policies.policy_runs import Runs, make_guests
from tests.requests.request_services import act, administrator, application

REVIEW: Mapping[str, object] = {
    "everyDays": 30,
    "answerDays": 10,
    "confirmedBy": "owners",
    "reminderDays": [3],
    "action": "disable",
}
POLICY = PolicyId(UUID("90110000-0000-4000-8000-0000000000f1"))
OWN = """
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
VALUES ($1, $2, $3, true, true, false)
ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE SET is_owner = true
"""


@pytest.fixture
async def runs(estate: Estate) -> Runs:
    """All staff, which Ada owns, with a review of Gil that has opened on day 30."""
    runs = Runs(guest_fixture(estate))
    await runs.put_policy(POLICY, review=REVIEW)
    await runs.guest_rules.assign(policyId=str(POLICY))
    for day in (0, 30):
        await runs.run(day)
    return runs


async def review(runs: Runs) -> FindingRecord:
    """The newest review that was found."""
    return (await runs.guest_rules.found(FindingFilter(kind=FindingKind.REVIEW_DUE)))[0]


async def confirm(
    runs: Runs, caller: Caller | None = None, *, finding_id: UUID | None = None, key: str | None = None
) -> KeptAnswer:
    estate = runs.guest_rules.estate
    database = estate.databases.application
    service = FindingService(database, estate.people, estate.authorization(), estate.now)
    said = act(comment="Still on the project.", key=key)
    return await service.confirm(caller or administrator(ADA), finding_id or (await review(runs)).id, said, rendered)


async def test_it_works(runs: Runs) -> None:
    before = await review(runs)
    runs.set_day(32)

    answer = await confirm(runs)

    after = await review(runs)
    assert json.loads(answer.body) == ["gone", None]
    assert (before.state, after.state) == (FindingState.OPEN, FindingState.GONE)
    assert (after.id, after.last_seen_at) == (before.id, runs.guest_rules.estate.moment)
    # No account is disabled, and the next round begins thirty days after the confirmation.
    told = await runs.told()
    await runs.run_daily(61, since=32)
    assert (await review(runs)).id == before.id
    await runs.run_daily(72, since=62)
    assert (await review(runs)).id != before.id
    assert (await runs.told())[len(told) :] == [(69, "reminder", GIL), (72, "disable", GIL)]


async def test_the_audit_trail_says_who_and_whom(runs: Runs) -> None:
    await confirm(runs)

    ((payload, events),) = await runs.guest_rules.estate.rows(
        "SELECT payload::text, (SELECT array_agg(type ORDER BY at) FROM chamberlain.event WHERE type LIKE 'finding%') "
        "FROM chamberlain.audit WHERE action = 'finding.confirm'"
    )
    written = json.loads(str(payload))
    assert events == ["finding.opened", "finding.closed"]
    assert written["actor"]["displayName"] == "Ada Achterberg"
    assert written["subject"]["displayName"] == "reviewDue: All staff"
    assert written["before"] == {"state": "open"}
    assert written["after"] == {
        "state": "gone",
        "comment": "Still on the project.",
        "guest": {"id": str(GIL), "displayName": "Gil Hartmann", "mail": "gil@partner.example"},
    }


async def test_owners_confirm_where_the_policy_says_so(runs: Runs) -> None:
    await confirm(runs, caller_of(ADA))

    assert (await review(runs)).state is FindingState.GONE


async def test_it_rejects_users_who_own_it_not(runs: Runs) -> None:
    for finding_id in (None, UUID(int=7)):
        with pytest.raises(NotFound):
            await confirm(runs, caller_of(BEN), finding_id=finding_id)

    await runs.execute(OWN, ESTATE, runs.group_id, BEN)
    await confirm(runs, caller_of(BEN))


async def test_it_rejects_owners_where_the_policy_leaves_it_to_administrators(runs: Runs) -> None:
    await runs.put_policy(POLICY, review={**REVIEW, "confirmedBy": "administrators"})

    with pytest.raises(NotFound):
        await confirm(runs, caller_of(ADA))

    assert (await review(runs)).state is FindingState.OPEN


async def test_it_rejects_a_guest_who_confirms_themselves(runs: Runs) -> None:
    await runs.execute(OWN, ESTATE, runs.group_id, GIL)

    with pytest.raises(Forbidden) as refused:
        await confirm(runs, caller_of(GIL))

    assert refused.value.code == "selfApproval"
    assert (await review(runs)).state is FindingState.OPEN


async def test_it_rejects_a_guest_who_owns_the_group_and_confirms_another(runs: Runs) -> None:
    """Two of them could keep each other."""
    (hana,) = await make_guests(runs, 1)
    await runs.join([hana])
    await runs.execute(OWN, ESTATE, runs.group_id, hana)

    with pytest.raises(Forbidden) as refused:
        await confirm(runs, caller_of(hana))

    assert (refused.value.code, "Guests" in refused.value.detail) == ("selfApproval", True)
    assert (await review(runs)).state is FindingState.OPEN


async def test_applications_that_configure_confirm_and_others_do_not(runs: Runs) -> None:
    for caller in (application("Collab.Manage.ReadWrite.All"), administrator(BEN)):
        with pytest.raises(Forbidden):
            await confirm(runs, caller)

    await confirm(runs, application("Mail.Config.ReadWrite.All"))


async def test_it_rejects_a_finding_of_another_tenant(runs: Runs) -> None:
    with pytest.raises(NotFound):
        await confirm(runs, application("Collab.Config.ReadWrite.All", OTHER_HOUSE))

    assert (await review(runs)).state is FindingState.OPEN


async def test_it_rejects_what_is_confirmed_already(runs: Runs) -> None:
    await confirm(runs)

    with pytest.raises(Conflict) as refused:
        await confirm(runs)

    assert refused.value.code == "stateDoesNotAllow"


async def test_a_second_call_with_the_same_key_gets_the_same_answer(runs: Runs) -> None:
    first = await confirm(runs, caller_of(ADA), key="k1")

    second = await confirm(runs, caller_of(ADA), key="k1")

    assert (second.body, second.replayed) == (first.body, True)


async def test_it_rejects_a_finding_of_another_kind(runs: Runs) -> None:
    other = await finding_fixture(runs.guest_rules.estate).find()

    with pytest.raises(Conflict) as refused:
        await confirm(runs, finding_id=other)

    assert (refused.value.code, "reviewDue" in refused.value.detail) == ("stateDoesNotAllow", True)


@pytest.mark.parametrize("action", ["notify", "disable"])
async def test_a_late_answer_counts_too(runs: Runs, action: str) -> None:
    await runs.put_policy(POLICY, review={**REVIEW, "action": action})
    await runs.run_daily(75, since=31)
    late = await review(runs)
    assert (late.state, (await runs.told())[-1][1]) == (FindingState.OPEN, action)

    await confirm(runs)

    assert (await review(runs)).state is FindingState.GONE
    # The change enables no account.
    assert await runs.disabled() == ({GIL} if action == "disable" else set())
    await runs.run_daily(105, since=76)
    following = await review(runs)
    assert (following.state, following.id != late.id) == (FindingState.OPEN, True)


@pytest.mark.parametrize(("before", "after"), [("remove", "notify"), ("notify", "remove")])
async def test_what_the_policy_says_by_now_counts_from_a_confirmation_on(runs: Runs, before: str, after: str) -> None:
    """An administrator has changed the policy, and no worker has run it since."""
    await runs.put_policy(POLICY, review={**REVIEW, "action": before})
    for day in (31, 61):
        await runs.run(day)
    runs.set_day(61.5)
    await runs.put_policy(POLICY, review={**REVIEW, "action": after})

    await confirm(runs)
    await runs.run_daily(102, since=62)

    assert [(day, what) for day, what, _ in (await runs.told())[-2:]] == [(99, "reminder"), (102, after)]
    assert await runs.members() == ([] if after == "remove" else [GIL])


async def test_it_rejects_a_review_whose_action_is_under_way(runs: Runs) -> None:
    await runs.execute("UPDATE chamberlain.policy_clock SET is_acting = true WHERE rule = 'review'")

    with pytest.raises(Conflict):
        await confirm(runs)

    assert (await review(runs)).state is FindingState.OPEN


async def test_what_is_just_being_done_cannot_be_accepted(runs: Runs) -> None:
    findings_fixture = finding_fixture(runs.guest_rules.estate)
    await runs.execute("UPDATE chamberlain.policy_clock SET is_acting = true WHERE rule = 'review'")

    with pytest.raises(Conflict) as refused:
        await findings_fixture.accepted((await review(runs)).id)

    assert refused.value.code == "stateDoesNotAllow"
    assert (await review(runs)).state is FindingState.OPEN
    await runs.execute("UPDATE chamberlain.policy_clock SET trouble = 'No.' WHERE rule = 'review'")
    await findings_fixture.accepted((await review(runs)).id)


async def test_it_rejects_a_review_that_the_policy_does_not_have_any_more(runs: Runs) -> None:
    await runs.put_policy(POLICY, expiry={"afterDays": 90, "action": "notify"})

    with pytest.raises(Conflict):
        await confirm(runs)


async def test_it_says_so_while_the_directory_cannot_tell_owners(runs: Runs) -> None:
    runs.guest_rules.estate.people.error = TryAgain(timedelta(seconds=7), "Away.")

    with pytest.raises(Unavailable) as refused:
        await confirm(runs, caller_of(ADA))

    assert (refused.value.code, refused.value.after) == ("overloaded", timedelta(seconds=7))


async def test_a_review_that_was_accepted_goes_on_when_that_ends(runs: Runs) -> None:
    findings_fixture = finding_fixture(runs.guest_rules.estate)
    await findings_fixture.accepted((await review(runs)).id, runs.began_at + timedelta(days=50))
    await runs.run_daily(49, since=31)
    assert await runs.disabled() == set()

    runs.set_day(50)
    await make_due(runs.guest_rules.estate)
    await findings_fixture.work()
    waiting = await runs.guest_rules.estate.claim(kinds=[JobKind.POLICY_EVALUATE])
    await runs.guest_rules.evaluate.evaluate(waiting)
    await runs.run_daily(60, since=51)

    # No reminder was sent while it rested, so the whole time to answer starts then.
    assert (await runs.told())[-2:] == [(57, "reminder", GIL), (60, "disable", GIL)]
