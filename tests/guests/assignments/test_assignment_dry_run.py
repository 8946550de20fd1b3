# SPDX-License-Identifier: Apache-2.0
"""Dry runs of assignments: the effects that the worker would have, and no trace of them."""

from collections.abc import Sequence

import pytest

from chamberlain.core.errors import NotFound, NotPossible, Stale
from chamberlain.core.ids import GroupId
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.assignments.dry_run import AssignmentDryRun
from chamberlain.guests.models import FindingFilter, FindingState
from tests.estates import ADA, Estate
from tests.guests.assignments.fingerprints import fingerprint
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    GIL,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    YEARLY_REVIEW,
    ZERO,
    GuestFixture,
    guest_fixture,
)
from tests.guests.assignments.test_assignment_apply import FOLLOW_A_RULE, LEAVE_THE_ONLY_OWNER, STEPS, let_it_remove
from tests.guests.findings.finding_fixture import finding_fixture
from tests.guests.policies.policy_runs import Runs
from tests.requests.request_services import administrator


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    """The services, with the two subjects of the tests already discovered."""
    fixture = guest_fixture(estate)
    await fixture.discover()
    return fixture


async def preview(
    guest_rules: GuestFixture, group_id: GroupId = ALL_STAFF, *, kind: SubjectType = SubjectType.GROUP, **sent: object
) -> AssignmentDryRun:
    """A dry run, which leaves no trace whatever comes of it."""
    before = await fingerprint(guest_rules.estate.databases)
    wanted = guest_rules.wanted(sent, group_id, kind=kind)
    try:
        return await guest_rules.assignments.dry_run(administrator(ADA), wanted)
    finally:
        assert await fingerprint(guest_rules.estate.databases) == before


async def test_it_works(guest_rules: GuestFixture) -> None:
    """The steps, findings and marks are those of the assignment that follows."""
    previewed = await preview(guest_rules, templateId=str(NO_GUESTS))

    record = await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    assert previewed.assignment == record.assignment
    assert list(previewed.steps) == STEPS == [each.step for each in record.effects]
    assert (previewed.removals, previewed.shortfalls) == ((), ())
    assert [(each.kind, each.about, each.observed, each.action) for each in previewed.findings] == [
        (each.kind, each.about, each.observed, each.action) for each in await guest_rules.found()
    ]


async def test_it_shows_who_would_be_removed(guest_rules: GuestFixture) -> None:
    await let_it_remove(guest_rules)

    previewed = await preview(guest_rules, templateId=str(NO_GUESTS))

    assert [(each.guest.id, each.kind) for each in previewed.removals] == [(GIL, "guestAgainstRule")]
    assert [each.action for each in previewed.findings] == ["remove"]
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    assert (await guest_rules.shown()).guests == ()


@pytest.mark.parametrize(
    ("statements", "code"),
    [(LEAVE_THE_ONLY_OWNER, "lastOwner"), (FOLLOW_A_RULE, "membersFollowRule")],
    ids=["last owner", "dynamic"],
)
async def test_a_guest_who_cannot_be_removed_is_a_shortfall(
    guest_rules: GuestFixture, statements: Sequence[str], code: str
) -> None:
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        for statement in statements:
            await tx.execute(statement, ALL_STAFF)
    await let_it_remove(guest_rules)

    previewed = await preview(guest_rules, templateId=str(NO_GUESTS))

    assert previewed.removals == ()
    assert [(each.code, each.values["id"]) for each in previewed.shortfalls] == [(code, str(GIL))]


async def test_an_accepted_guest_stays_and_an_open_finding_is_not_opened_again(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    (finding,) = await guest_rules.found()
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(PARTNERS))
    still_open = await preview(guest_rules, templateId=str(NO_GUESTS))
    await finding_fixture(guest_rules.estate).accepted(finding.id, None)

    accepted = await preview(guest_rules, templateId=str(NO_GUESTS))

    assert ([each.guest.id for each in still_open.removals], still_open.findings) == ([GIL], ())
    assert (accepted.removals, accepted.findings) == ((), ())


async def test_it_shows_what_the_policy_does_now(guest_rules: GuestFixture) -> None:
    """A policy whose time is over for a guest removes the guest, and missing owners are reported at once."""
    runs = Runs(guest_rules)
    await guest_rules.assign(policyId=str(NINETY_DAYS))
    for day in (0, 76, 83, 89):
        await runs.run(day)
    runs.set_day(90)
    due = await preview(guest_rules, templateId=str(PARTNERS))
    rules = {"minimumOwners": {"count": 5, "reminderDays": [], "action": "notify"}}
    await runs.put_policy(YEARLY_REVIEW, **rules)

    new = await preview(guest_rules, policyId=str(YEARLY_REVIEW))

    assert [(each.guest.id, each.kind) for each in due.removals] == [(GIL, "guestExpired")]
    assert [each.kind for each in due.findings] == ["guestExpired"]
    assert (new.removals, [(each.kind, each.wanted) for each in new.findings]) == ((), [("tooFewOwners", 5)])


async def test_it_shows_nothing_where_nothing_would_be_done(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()

    again = await preview(guest_rules, templateId=str(NO_GUESTS))
    marked = await preview(guest_rules, policyId=str(NINETY_DAYS))
    of_site = await preview(guest_rules, HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS))

    assert again == AssignmentDryRun(again.assignment, (), (), (), ())
    assert again.assignment.template_id == NO_GUESTS
    assert (marked.steps, marked.findings) == (("markAssignment",), ())
    assert list(of_site.steps) == [*STEPS, "setSharingCapability"]
    assert await guest_rules.found(FindingFilter(state=FindingState.OPEN)) != []


async def test_a_group_that_the_directory_does_not_show_waits(guest_rules: GuestFixture) -> None:
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)

    previewed = await preview(guest_rules, templateId=str(NO_GUESTS))

    assert list(previewed.steps) == STEPS
    assert [each.code for each in previewed.shortfalls] == ["groupUnknown"]


async def test_it_raises_as_the_assignment_does(guest_rules: GuestFixture) -> None:
    for sent, if_match, error in (
        ({"templateId": "0000dead-0000-4000-8000-000000000000"}, None, NotPossible),
        ({"policyId": str(NO_GUESTS)}, None, NotPossible),
        ({"templateId": ZERO}, '"other"', Stale),
    ):
        wanted = guest_rules.wanted(sent, if_match=if_match)
        for call in (guest_rules.assignments.dry_run, guest_rules.assignments.assign):
            with pytest.raises(error):
                await call(administrator(ADA), wanted)
    with pytest.raises(NotFound):
        await preview(guest_rules, GroupId(GIL), templateId=str(NO_GUESTS))
