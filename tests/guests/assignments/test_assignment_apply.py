# SPDX-License-Identifier: Apache-2.0
"""The effects of assignments: what is assigned now comes about in the directory, whatever happens on the way."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec
import pytest

from chamberlain.core.errors import Conflict, Rejected, TryAgain
from chamberlain.core.ids import TenantId, UserId
from chamberlain.directory.port import ActOutcome, GuestAct, GuestOutcome, Guests, GuestWork, SubjectChanges
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import AddedBy, GuestRules, ObservedSubject, Sharing, SubjectReference, SubjectType
from chamberlain.guests.models import FindingFilter, FindingState
from chamberlain.queue.models import JobKind
from tests.databases import Databases
from tests.estates import ADA, Estate, changed_estate, open_estate
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    GIL,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    ZERO,
    GuestFixture,
    expire_leases,
    guest_fixture,
    later,
    make_due,
)
from tests.guests.findings.finding_fixture import finding_fixture
from tests.guests.policies.policy_runs import Runs, make_guests
from tests.queue.crash_injection import InjectedCrash
from tests.requests.request_services import administrator, cancel, retry

STEPS = ["markAssignment", "setGuestAccess", "setGuestDomains"]


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    return guest_fixture(estate)


async def test_it_works(guest_rules: GuestFixture) -> None:
    """ "No guests" on "All staff" shows in the directory's setting and as a finding for Gil; clearing restores it."""
    before = await guest_rules.shown()
    await guest_rules.assign(templateId=str(NO_GUESTS))

    await guest_rules.work()

    shown = await guest_rules.shown()
    assert shown.rules == GuestRules(
        allowed=False, added_by=AddedBy.OWNERS, allowed_domains=(), blocked_domains=(), sharing=None
    )
    assert (shown.template_id, shown.policy_id) == (NO_GUESTS, None)
    record = await guest_rules.record()
    assert [(each.step, each.state) for each in record.effects] == [(step, "succeeded") for step in STEPS]
    assert record.open_findings == 1
    (finding,) = await guest_rules.found()
    assert (finding.kind, finding.state, finding.subject.id) == ("guestAgainstRule", "open", ALL_STAFF)
    assert finding.observed == {"id": str(GIL), "displayName": "Gil Hartmann", "mail": "gil@partner.example"}

    await guest_rules.assign(templateId=ZERO)
    await guest_rules.work()

    assert await guest_rules.shown() == before
    assert [each.state for each in await guest_rules.found()] == ["gone"]
    assert (await guest_rules.record()).open_findings == 0


async def test_an_assignment_that_is_removed_at_once_is_removed_although_a_replica_does_not_show_it(
    guest_rules: GuestFixture,
) -> None:
    guest_rules.estate.directory.trusts_writes = True
    before = await guest_rules.shown()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()

    guest_rules.guests.stale = before
    await guest_rules.assign(templateId=ZERO)
    await guest_rules.work()

    assert await guest_rules.shown() == before


async def test_a_group_gets_what_its_template_assigns(databases: Databases) -> None:
    rules = {"guestTemplateId": str(PARTNERS), "guestPolicyId": str(NINETY_DAYS)}
    estate = await open_estate(databases, changed_estate(project_group=rules))
    guest_rules = guest_fixture(estate)
    accepted = await estate.request("Apollo")

    await estate.work()
    group = await estate.group(accepted.request_id)
    assert group is not None
    record = await guest_rules.record(group.id)
    await guest_rules.work()

    assert (record.assignment.template_id, record.assignment.policy_id) == (PARTNERS, NINETY_DAYS)
    assert record.assigned_by is not None
    assert (record.assigned_by.id, record.assigned_by.display_name) == (ADA, "Ada Achterberg")
    assert record.entry.request_id == accepted.request_id
    shown = await guest_rules.shown(group.id)
    assert shown.rules is not None
    assert shown.rules.allowed_domains == ("partner.example",)
    assert (shown.template_id, shown.policy_id) == (PARTNERS, NINETY_DAYS)
    audit = await estate.rows("SELECT action, payload FROM chamberlain.audit WHERE action = 'group.assign'")
    events = await estate.rows("SELECT type FROM chamberlain.event ORDER BY sequence")
    assert len(audit) == 1
    assert events == [("group.created",), ("group.assignmentChanged",)]
    assert [(each.step, each.state) for each in (await guest_rules.record(group.id)).effects] == [
        (step, "succeeded") for step in STEPS
    ]


async def test_the_step_that_is_worked_on_is_shown(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    with pytest.raises(InjectedCrash):
        await replace(guest_rules.assignment_jobs, guests=CrashAfterStepsGuests(guest_rules.guests, 0)).apply(
            await guest_rules.estate.claim()
        )

    assert [each.state for each in (await guest_rules.record()).effects] == ["running", "pending", "pending"]


async def test_a_site_shares_as_the_template_says_and_as_before_when_it_is_cleared(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))
    await guest_rules.work()
    shown = await guest_rules.shown(HANDBOOK)
    record = await guest_rules.record(HANDBOOK, SubjectType.SITE)
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, templateId=ZERO)
    await guest_rules.work()
    restored = await guest_rules.shown(HANDBOOK)

    assert shown.site is not None
    assert restored.site is not None
    assert (shown.site.sharing, restored.site.sharing) == (Sharing.DISABLED, Sharing.EXISTING_GUESTS)
    assert [(each.step, each.state) for each in record.effects] == [
        (step, "succeeded") for step in (*STEPS, "setSharingCapability")
    ]
    # The list shows the state that was observed at the end of the run.
    assert record.entry.sharing == Sharing.DISABLED
    assert (restored.template_id, restored.policy_id) == (None, NINETY_DAYS)


async def test_a_policy_alone_is_marked_and_nothing_else_is_done(guest_rules: GuestFixture) -> None:
    before = await guest_rules.shown()
    await guest_rules.assign(policyId=str(NINETY_DAYS))

    await guest_rules.work()

    assert [each.step for each in (await guest_rules.record()).effects] == [Step.MARK_ASSIGNMENT]
    assert await guest_rules.shown() == replace(before, policy_id=NINETY_DAYS)


async def test_the_request_tells_how_far_it_is(guest_rules: GuestFixture) -> None:
    record = await guest_rules.assign(templateId=str(NO_GUESTS))
    assert record.assignment_request_id is not None
    queued = await guest_rules.estate.record(record.assignment_request_id)
    later(guest_rules.estate, seconds=1)

    await guest_rules.work()

    done = await guest_rules.estate.record(record.assignment_request_id)
    assert (queued.kind, queued.state, queued.display_name) == ("assignment", "queued", "All staff")
    assert queued.template is not None
    assert (queued.template.id, queued.template.name) == (NO_GUESTS, "No guests")
    assert msgspec.json.decode(queued.body) == {"templateId": str(NO_GUESTS)}
    assert (done.state, done.finished_at) == ("succeeded", guest_rules.estate.moment)
    assert done.result is not None
    assert (done.result.type, done.result.id, done.result.mail) == ("group", ALL_STAFF, "all-staff@estate.example")
    assert [state for _, state in await timeline(guest_rules)] == ["running", "succeeded"]


async def timeline(guest_rules: GuestFixture) -> list[tuple[object, ...]]:
    return await guest_rules.estate.rows(
        "SELECT r.request_id, e.entry #>> '{state,state}' FROM chamberlain.request r, "
        "jsonb_array_elements(r.timeline) WITH ORDINALITY AS e (entry, number) "
        "WHERE e.entry ->> 'kind' = 'state' ORDER BY r.created_at, e.number"
    )


async def test_it_waits_while_the_directory_does_not_answer(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    guest_rules.guests.error = TryAgain(timedelta(seconds=10), "The directory does not answer.")

    await guest_rules.work()
    waiting = await guest_rules.record()
    guest_rules.guests.error = None
    later(guest_rules.estate, seconds=20)
    await make_due(guest_rules.estate)
    await guest_rules.work()

    assert [each.state for each in waiting.effects] == ["waiting", "pending", "pending"]
    reason = waiting.effects[0].shown_reason
    assert (reason and reason.code, reason and reason.values) == (
        "directoryNotReady",
        {"problem": "The directory does not answer."},
    )
    assert waiting.effects[0].next_attempt_at is not None
    assert [each.state for each in (await guest_rules.record()).effects] == ["succeeded"] * 3


async def test_a_step_that_is_rejected_fails_the_request_and_the_next_one_does_what_is_left(
    guest_rules: GuestFixture,
) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    guest_rules.guests.faults = {ALL_STAFF: Rejected("membersFollowRule", "The members follow a rule.")}
    await guest_rules.work()
    failed = await guest_rules.record()
    events = await guest_rules.estate.rows("SELECT type FROM chamberlain.event ORDER BY sequence")
    guest_rules.guests.faults = {}

    # A policy alone needs its mark only, but what has failed before is not forgotten.
    await guest_rules.assign(policyId=str(NINETY_DAYS))
    await guest_rules.work()

    assert failed.effects[0].error == "The members follow a rule."
    assert events == [("group.assignmentChanged",), ("request.failed",)]
    record, shown = await guest_rules.record(), await guest_rules.shown()
    assert [(each.step, each.state) for each in record.effects] == [(step, "succeeded") for step in STEPS]
    assert shown.rules is not None
    assert (shown.template_id, shown.policy_id, shown.rules.allowed) == (NO_GUESTS, NINETY_DAYS, False)


async def test_a_group_that_is_gone_fails_the_request(guest_rules: GuestFixture) -> None:
    record = await guest_rules.assign(templateId=str(NO_GUESTS))
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)

    await guest_rules.work()
    assert record.assignment_request_id is not None
    late = await guest_rules.estate.record(record.assignment_request_id)
    later(guest_rules.estate, minutes=1)
    # Now it is known that it is not late, but gone.
    await guest_rules.discover()
    await guest_rules.work()

    failed = await guest_rules.estate.record(late.request_id)
    assert (late.state, late.waiting and late.waiting.shown_reason.code) == ("waiting", "groupNotShown")
    assert failed.error is not None
    assert (failed.state, failed.error.code) == ("failed", "groupUnknown")


async def test_requests_about_one_group_end_together_with_what_was_asked_last(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.assign(templateId=str(PARTNERS), policyId=str(NINETY_DAYS))
    await guest_rules.assign(templateId=ZERO)

    await guest_rules.work()

    shown = await guest_rules.shown()
    assert (shown.template_id, shown.policy_id, shown.rules) == (None, NINETY_DAYS, None)
    assert await guest_rules.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert [work.wanted.id for work in guest_rules.guests.ensured] == [ALL_STAFF]
    assert await guest_rules.found() == []


async def test_running_it_twice_is_boring(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    claim = await guest_rules.estate.claim()
    await guest_rules.assignment_jobs.apply(claim)
    before = await guest_rules.estate.rows("SELECT * FROM chamberlain.request"), await guest_rules.shown()

    await guest_rules.assignment_jobs.apply(claim)

    assert (await guest_rules.estate.rows("SELECT * FROM chamberlain.request"), await guest_rules.shown()) == before
    assert len(guest_rules.guests.ensured) == 1


@dataclass
class ConcurrentAssignmentGuests(Guests):
    """A guests port during whose work another assignment is made, just when the first has shown."""

    guest_rules: GuestFixture
    guests: Guests
    left: int = 1

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        outcomes = await self.guests.ensure(works)
        if self.left:
            self.left -= 1
            await self.guest_rules.assign(templateId=str(PARTNERS))
        return outcomes

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await self.guests.changes(tenant_id, extension, cursor)


async def test_a_change_that_arrives_while_it_runs_is_not_lost(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    busy = replace(guest_rules.assignment_jobs, guests=ConcurrentAssignmentGuests(guest_rules, guest_rules.guests))

    await busy.apply(await guest_rules.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))
    states = await guest_rules.estate.rows("SELECT state FROM chamberlain.request ORDER BY created_at")
    findings = await guest_rules.found()
    # The second one is killed before it could do anything; the first, which was overtaken, runs again all the same.
    await busy.apply(await guest_rules.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY], most=1))

    assert set(states) == {("running",), ("queued",)}
    assert findings == []
    shown = await guest_rules.shown()
    assert shown.template_id == PARTNERS
    assert shown.rules is not None
    assert shown.rules.allowed_domains == ("partner.example",)


@dataclass
class CrashAfterStepsGuests(Guests):
    """A directory behind which the process is killed, just after it has taken the first so many steps."""

    guests: Guests
    steps: int

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        await self.guests.ensure([replace(work, steps=work.steps[: self.steps]) for work in works])
        raise InjectedCrash

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await self.guests.changes(tenant_id, extension, cursor)


async def let_it_remove(guest_rules: GuestFixture) -> None:
    """The template "No guests" removes those who are there."""
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.template_revision SET content = jsonb_set(content::jsonb, '{presentGuests}', "
            "'\"remove\"')::json WHERE template_id = $1",
            NO_GUESTS,
        )


@pytest.mark.parametrize("steps", range(5))
async def test_a_worker_that_is_killed_anywhere_leaves_no_half_effect(guest_rules: GuestFixture, steps: int) -> None:
    before, site_before = await guest_rules.shown(), await guest_rules.shown(HANDBOOK)
    await let_it_remove(guest_rules)
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS))
    await guest_rules.assign(templateId=str(NO_GUESTS))
    crashing = replace(guest_rules.assignment_jobs, guests=CrashAfterStepsGuests(guest_rules.guests, steps))
    with pytest.raises(InjectedCrash):
        await crashing.apply(await guest_rules.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))

    await expire_leases(guest_rules.estate)
    await guest_rules.work()

    group, site = await guest_rules.shown(), await guest_rules.shown(HANDBOOK)
    assert group.rules is not None
    assert site.site is not None
    assert (group.template_id, group.rules.allowed, group.guests) == (NO_GUESTS, False, ())
    assert (site.template_id, site.site.sharing) == (NO_GUESTS, Sharing.DISABLED)
    assert await guest_rules.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert await guest_rules.estate.rows("SELECT count(*) FROM chamberlain.job") == [(0,)]
    # A removed guest is on record, whenever the worker was killed.
    (finding,) = await guest_rules.found()
    assert (finding.state, finding.action, finding.subject.id) == ("repaired", "remove", ALL_STAFF)
    events = await guest_rules.estate.rows("SELECT type, count(*) FROM chamberlain.event GROUP BY 1 ORDER BY 1")
    assert [number for type_, number in events if str(type_).startswith("finding.")] == [1, 1]
    assert sum(int(str(number)) for type_, number in events if not str(type_).startswith("finding.")) == 2

    # Clearing is killed just as well, and leaves all as it was but for the guest, who is not let in again.
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, templateId=ZERO)
    await guest_rules.assign(templateId=ZERO)
    with pytest.raises(InjectedCrash):
        await crashing.apply(await guest_rules.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))
    await expire_leases(guest_rules.estate)
    await guest_rules.work()

    assert before.guests != ()
    assert await guest_rules.shown() == replace(before, guests=())
    assert await guest_rules.shown(HANDBOOK) == site_before
    assert await guest_rules.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert await guest_rules.estate.rows("SELECT count(*) FROM chamberlain.job") == [(0,)]


NOT_NOW = TryAgain(timedelta(seconds=10), "The directory does not answer.")


async def test_a_guest_who_was_announced_and_stayed_is_not_told_as_removed(guest_rules: GuestFixture) -> None:
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(NO_GUESTS))
    guest_rules.guests.faults = {ALL_STAFF: NOT_NOW}
    await guest_rules.work()
    (waiting,) = await guest_rules.found()
    guest_rules.guests.faults = {}

    await guest_rules.assign(templateId=ZERO)
    await guest_rules.work()

    assert (waiting.state, waiting.action) == ("open", "remove")
    assert [guest.id for guest in (await guest_rules.shown()).guests] == [GIL]
    assert [(each.state, each.action) for each in await guest_rules.found()] == [("gone", None)]


@pytest.mark.parametrize(("steps", "told"), [(0, ("gone", None)), (1, ("gone", None)), (2, ("repaired", "remove"))])
async def test_what_is_reported_of_a_guest_when_the_worker_was_killed_and_the_template_is_cleared(
    guest_rules: GuestFixture, steps: int, told: tuple[str, str | None]
) -> None:
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(NO_GUESTS))
    with pytest.raises(InjectedCrash):
        await replace(guest_rules.assignment_jobs, guests=CrashAfterStepsGuests(guest_rules.guests, steps)).apply(
            await guest_rules.estate.claim()
        )
    await guest_rules.assign(templateId=ZERO)
    await expire_leases(guest_rules.estate)

    await guest_rules.work()

    shown = await guest_rules.shown()
    assert (shown.template_id, shown.rules, len(shown.guests)) == (None, None, 1 if told[0] == "gone" else 0)
    assert [(each.state, each.action) for each in await guest_rules.found()] == [told]


async def test_nobody_is_about_to_be_removed_when_the_request_has_failed(guest_rules: GuestFixture) -> None:
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(NO_GUESTS))
    guest_rules.guests.faults = {ALL_STAFF: Rejected("notAccepted", "Not today.")}

    await guest_rules.work()

    assert [(each.state, each.action) for each in await guest_rules.found()] == [("open", None)]


async def test_guests_who_are_against_the_rule_are_removed_where_the_template_says_so(
    guest_rules: GuestFixture,
) -> None:
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(NO_GUESTS))

    await guest_rules.work()

    assert (await guest_rules.shown()).guests == ()
    assert [each.state for each in await guest_rules.found(FindingFilter(state=FindingState.REPAIRED))] == ["repaired"]
    assert (await guest_rules.record()).open_findings == 0


async def test_a_guest_of_whom_somebody_has_accepted_that_they_are_there_stays(guest_rules: GuestFixture) -> None:
    """Gil may stay until the project ends, whatever template is assigned or sent again meanwhile."""
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    (finding,) = await guest_rules.found()
    findings_fixture = finding_fixture(guest_rules.estate)
    await findings_fixture.accepted(finding.id, guest_rules.estate.moment + timedelta(days=90))
    await let_it_remove(guest_rules)
    other = await other_guest(guest_rules)

    await guest_rules.assign(policyId=str(NINETY_DAYS), templateId=ZERO)
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()

    assert [guest.id for guest in (await guest_rules.shown()).guests] == [GIL]
    assert {each.about: (each.state, each.action) for each in await guest_rules.found()} == {
        str(GIL): ("accepted", None),
        str(other): ("repaired", "remove"),
    }
    assert [each.state for each in (await guest_rules.record()).effects] == ["succeeded"] * 3
    # When that has ended, they go with the next change.
    guest_rules.estate.moment += timedelta(days=90)
    await make_due(guest_rules.estate)
    await findings_fixture.work()
    await guest_rules.assign(templateId=ZERO)
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    assert (await guest_rules.shown()).guests == ()


async def other_guest(guest_rules: GuestFixture) -> UserId:
    """Another guest in the group."""
    runs = Runs(guest_rules)
    [guest] = await make_guests(runs, 1)
    await runs.join([guest])
    return guest


async def test_a_guest_whom_an_earlier_request_is_just_removing_cannot_be_kept_any_more(
    guest_rules: GuestFixture,
) -> None:
    """It brings about what is assigned by now, and the newest request has not been taken up."""
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(NO_GUESTS))
    earlier = await guest_rules.estate.claim()
    await guest_rules.assign(policyId=str(NINETY_DAYS))
    with pytest.raises(InjectedCrash):
        await replace(guest_rules.assignment_jobs, guests=CrashAfterStepsGuests(guest_rules.guests, 0)).apply(earlier)
    (finding,) = await guest_rules.found()

    with pytest.raises(Conflict) as refused:
        await finding_fixture(guest_rules.estate).accepted(finding.id)

    assert refused.value.code == "stateDoesNotAllow"


async def test_a_guest_who_is_just_being_removed_cannot_be_kept_any_more(guest_rules: GuestFixture) -> None:
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(NO_GUESTS))
    with pytest.raises(InjectedCrash):
        await replace(guest_rules.assignment_jobs, guests=CrashAfterStepsGuests(guest_rules.guests, 0)).apply(
            await guest_rules.estate.claim()
        )
    (finding,) = await guest_rules.found()
    findings_fixture = finding_fixture(guest_rules.estate)

    with pytest.raises(Conflict) as refused:
        await findings_fixture.accepted(finding.id)

    assert refused.value.code == "stateDoesNotAllow"
    # When it is known that nothing came of it, they can.
    guest_rules.guests.faults = {ALL_STAFF: NOT_NOW}
    await expire_leases(guest_rules.estate)
    await guest_rules.work()
    await findings_fixture.accepted(finding.id)
    guest_rules.guests.faults = {}
    await make_due(guest_rules.estate)
    await guest_rules.work()
    assert [guest.id for guest in (await guest_rules.shown()).guests] == [GIL]


LEAVE_THE_ONLY_OWNER = (
    "DELETE FROM directory.memberships WHERE group_id = $1 AND is_owner",
    # Gil is the only guest left, beside groups.
    "UPDATE directory.memberships SET is_owner = true WHERE group_id = $1 AND member_id::text LIKE '9e57%'",
)
FOLLOW_A_RULE = ("UPDATE directory.groups SET membership_rule = 'user.userType -eq \"Guest\"' WHERE id = $1",)


@pytest.mark.parametrize(
    ("statements", "why"),
    [(LEAVE_THE_ONLY_OWNER, "is the last owner of this group"), (FOLLOW_A_RULE, "by its membership rule")],
    ids=["last owner", "dynamic"],
)
async def test_a_guest_who_cannot_be_removed_stays_with_a_warning_and_all_else_is_done(
    guest_rules: GuestFixture, statements: Sequence[str], why: str
) -> None:
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        for statement in statements:
            await tx.execute(statement, ALL_STAFF)
    await let_it_remove(guest_rules)
    await guest_rules.assign(templateId=str(NO_GUESTS))

    await guest_rules.work()

    shown, record = await guest_rules.shown(), await guest_rules.record()
    assert shown.rules is not None
    assert (shown.template_id, shown.rules.allowed, len(shown.guests)) == (NO_GUESTS, False, 1)
    assert [each.state for each in record.effects] == ["succeeded", "warning", "succeeded"]
    reason = record.effects[1].shown_reason
    assert reason is not None
    assert why in reason.sentence
    assert [(each.state, each.action) for each in await guest_rules.found()] == [("open", None)]
    assert record.open_findings == 1
    assert await guest_rules.estate.rows("SELECT state FROM chamberlain.request") == [("succeeded",)]
    # The rest is checked again with the next change, and is no fault when it is cleared.
    await guest_rules.assign(templateId=ZERO)
    await guest_rules.work()
    assert [(each.state, each.action) for each in await guest_rules.found()] == [("gone", None)]


async def test_a_guest_whom_the_rule_allows_is_no_finding(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    await guest_rules.assign(templateId=str(PARTNERS))
    await guest_rules.work()

    assert [each.state for each in await guest_rules.found()] == ["gone"]


async def test_a_finding_that_comes_again_is_a_new_one(guest_rules: GuestFixture) -> None:
    for template in (str(NO_GUESTS), ZERO, str(NO_GUESTS)):
        later(guest_rules.estate, seconds=1)
        await guest_rules.assign(templateId=template)
        await guest_rules.work()
    newest, oldest = await guest_rules.found()

    assert (newest.state, oldest.state) == ("open", "gone")
    assert newest.id != oldest.id


async def test_two_workers_at_once_end_in_what_was_asked_last(guest_rules: GuestFixture) -> None:
    other = guest_fixture(guest_rules.estate)
    for number in range(6):
        await guest_rules.assign(templateId=str(NO_GUESTS if number % 2 else PARTNERS))
    claims = [await guest_rules.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY], most=3) for _ in range(2)]

    await asyncio.gather(
        guest_rules.assignment_jobs.apply(claims[0]),
        other.assignment_jobs.apply(claims[1]),
        guest_rules.assign(templateId=ZERO),
    )
    for _ in range(3):
        await guest_rules.work()

    shown = await guest_rules.shown()
    assert (shown.template_id, shown.rules) == (None, None)
    assert await guest_rules.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]


async def test_effects_that_were_cancelled_come_with_the_next_change(guest_rules: GuestFixture) -> None:
    record = await guest_rules.assign(templateId=str(NO_GUESTS))
    assert record.assignment_request_id is not None
    await cancel(guest_rules.estate, record.assignment_request_id, administrator(ADA))
    await guest_rules.work()
    untouched = await guest_rules.shown()

    await guest_rules.assign(policyId=str(NINETY_DAYS))
    await guest_rules.work()

    assert untouched.rules is None
    assert (await guest_rules.estate.record(record.assignment_request_id)).state == "cancelled"
    shown = await guest_rules.shown()
    assert shown.rules is not None
    assert (shown.template_id, shown.policy_id, shown.rules.allowed) == (NO_GUESTS, NINETY_DAYS, False)


async def test_a_failed_request_that_is_retried_brings_about_what_is_assigned_now(guest_rules: GuestFixture) -> None:
    record = await guest_rules.assign(templateId=str(NO_GUESTS))
    assert record.assignment_request_id is not None
    guest_rules.guests.faults = {ALL_STAFF: Rejected("notAccepted", "Not today.")}
    await guest_rules.work()
    guest_rules.guests.faults = {}

    await retry(guest_rules.estate, record.assignment_request_id, administrator(ADA))
    await guest_rules.work()

    assert (await guest_rules.estate.record(record.assignment_request_id)).state == "succeeded"
    assert (await guest_rules.shown()).template_id == NO_GUESTS
    assert (await guest_rules.record()).open_findings == 1
