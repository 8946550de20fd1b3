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
from tests.guests.assignments.stewards import (
    ALL_STAFF,
    GIL,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    ZERO,
    Steward,
    expire_leases,
    later,
    make_due,
    steward_of,
)
from tests.guests.findings.findings import inspector_of
from tests.guests.policies.policy_runs import Runs, make_guests
from tests.queue.deadly import Killed
from tests.requests.acts import administrator, cancel, retry

STEPS = ["markAssignment", "setGuestAccess", "setGuestDomains"]


@pytest.fixture
async def steward(estate: Estate) -> Steward:
    return steward_of(estate)


async def test_it_works(steward: Steward) -> None:
    """ "No guests" on "All staff" shows in the directory's setting and as a finding for Gil; clearing restores it."""
    before = await steward.shown()
    await steward.assign(templateId=str(NO_GUESTS))

    await steward.work()

    shown = await steward.shown()
    assert shown.rules == GuestRules(
        allowed=False, added_by=AddedBy.OWNERS, allowed_domains=(), blocked_domains=(), sharing=None
    )
    assert (shown.template_id, shown.policy_id) == (NO_GUESTS, None)
    record = await steward.record()
    assert [(each.step, each.state) for each in record.effects] == [(step, "succeeded") for step in STEPS]
    assert record.open_findings == 1
    (finding,) = await steward.found()
    assert (finding.kind, finding.state, finding.subject.id) == ("guestAgainstRule", "open", ALL_STAFF)
    assert finding.detail == "Gil Hartmann is a guest, and guests are not allowed here."
    assert finding.observed == {"id": str(GIL), "displayName": "Gil Hartmann", "mail": "gil@partner.example"}

    await steward.assign(templateId=ZERO)
    await steward.work()

    assert await steward.shown() == before
    assert [each.state for each in await steward.found()] == ["gone"]
    assert (await steward.record()).open_findings == 0


async def test_a_group_gets_what_its_template_assigns(databases: Databases) -> None:
    rules = {"guestTemplateId": str(PARTNERS), "guestPolicyId": str(NINETY_DAYS)}
    estate = await open_estate(databases, changed_estate(project_group=rules))
    steward = steward_of(estate)
    accepted = await estate.request("Apollo")

    await estate.work()
    group = await estate.group(accepted.request_id)
    assert group is not None
    record = await steward.record(group.id)
    await steward.work()

    assert (record.assignment.template_id, record.assignment.policy_id) == (PARTNERS, NINETY_DAYS)
    assert record.assigned_by is not None
    assert (record.assigned_by.id, record.assigned_by.display_name) == (ADA, "Ada Achterberg")
    assert record.entry.request_id == accepted.request_id
    shown = await steward.shown(group.id)
    assert shown.rules is not None
    assert shown.rules.allowed_domains == ("partner.example",)
    assert (shown.template_id, shown.policy_id) == (PARTNERS, NINETY_DAYS)
    audit = await estate.rows("SELECT action, payload FROM chamberlain.audit WHERE action = 'group.assign'")
    events = await estate.rows("SELECT type FROM chamberlain.event ORDER BY sequence")
    assert len(audit) == 1
    assert events == [("group.created",), ("group.assignmentChanged",)]
    assert [(each.step, each.state) for each in (await steward.record(group.id)).effects] == [
        (step, "succeeded") for step in STEPS
    ]


async def test_the_step_that_is_worked_on_is_shown(steward: Steward) -> None:
    await steward.assign(templateId=str(NO_GUESTS))
    with pytest.raises(Killed):
        await replace(steward.assignment_jobs, guests=DeadlyGuests(steward.guests, 0)).apply(
            await steward.estate.claim()
        )

    assert [each.state for each in (await steward.record()).effects] == ["running", "pending", "pending"]


async def test_a_site_shares_as_the_template_says_and_as_before_when_it_is_cleared(steward: Steward) -> None:
    await steward.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))
    await steward.work()
    shown = await steward.shown(HANDBOOK)
    record = await steward.record(HANDBOOK, SubjectType.SITE)
    await steward.assign(HANDBOOK, kind=SubjectType.SITE, templateId=ZERO)
    await steward.work()
    restored = await steward.shown(HANDBOOK)

    assert shown.site is not None
    assert restored.site is not None
    assert (shown.site.sharing, restored.site.sharing) == (Sharing.DISABLED, Sharing.EXISTING_GUESTS)
    assert [(each.step, each.state) for each in record.effects] == [
        (step, "succeeded") for step in (*STEPS, "setSharingCapability")
    ]
    # What is listed is what was observed at the end of the run.
    assert record.entry.sharing == Sharing.DISABLED
    assert (restored.template_id, restored.policy_id) == (None, NINETY_DAYS)


async def test_a_policy_alone_is_marked_and_nothing_else_is_done(steward: Steward) -> None:
    before = await steward.shown()
    await steward.assign(policyId=str(NINETY_DAYS))

    await steward.work()

    assert [each.step for each in (await steward.record()).effects] == [Step.MARK_ASSIGNMENT]
    assert await steward.shown() == replace(before, policy_id=NINETY_DAYS)


async def test_the_request_tells_how_far_it_is(steward: Steward) -> None:
    record = await steward.assign(templateId=str(NO_GUESTS))
    assert record.assignment_request_id is not None
    queued = await steward.estate.record(record.assignment_request_id)
    later(steward.estate, seconds=1)

    await steward.work()

    done = await steward.estate.record(record.assignment_request_id)
    assert (queued.kind, queued.state, queued.display_name) == ("assignment", "queued", "All staff")
    assert queued.template is not None
    assert (queued.template.id, queued.template.name) == (NO_GUESTS, "No guests")
    assert msgspec.json.decode(queued.body) == {"templateId": str(NO_GUESTS)}
    assert (done.state, done.finished_at) == ("succeeded", steward.estate.moment)
    assert done.result is not None
    assert (done.result.type, done.result.id, done.result.mail) == ("group", ALL_STAFF, "all-staff@estate.example")
    assert [state for _, state in await timeline(steward)] == ["running", "succeeded"]


async def timeline(steward: Steward) -> list[tuple[object, ...]]:
    return await steward.estate.rows(
        "SELECT r.request_id, e.entry #>> '{state,state}' FROM chamberlain.request r, "
        "jsonb_array_elements(r.timeline) WITH ORDINALITY AS e (entry, number) "
        "WHERE e.entry ->> 'kind' = 'state' ORDER BY r.created_at, e.number"
    )


async def test_it_waits_while_the_directory_does_not_answer(steward: Steward) -> None:
    await steward.assign(templateId=str(NO_GUESTS))
    steward.guests.trouble = TryAgain(timedelta(seconds=10), "The directory does not answer.")

    await steward.work()
    waiting = await steward.record()
    steward.guests.trouble = None
    later(steward.estate, seconds=20)
    await make_due(steward.estate)
    await steward.work()

    assert [each.state for each in waiting.effects] == ["waiting", "pending", "pending"]
    assert waiting.effects[0].reason == "The directory does not answer."
    assert waiting.effects[0].next_attempt_at is not None
    assert [each.state for each in (await steward.record()).effects] == ["succeeded"] * 3


async def test_a_step_that_is_rejected_fails_the_request_and_the_next_one_does_what_is_left(steward: Steward) -> None:
    await steward.assign(templateId=str(NO_GUESTS))
    steward.guests.faults = {ALL_STAFF: Rejected("membersFollowRule", "The members follow a rule.")}
    await steward.work()
    failed = await steward.record()
    events = await steward.estate.rows("SELECT type FROM chamberlain.event ORDER BY sequence")
    steward.guests.faults = {}

    # A policy alone needs its mark only, but what has failed before is not forgotten.
    await steward.assign(policyId=str(NINETY_DAYS))
    await steward.work()

    assert failed.effects[0].error == "The members follow a rule."
    assert events == [("group.assignmentChanged",), ("request.failed",)]
    record, shown = await steward.record(), await steward.shown()
    assert [(each.step, each.state) for each in record.effects] == [(step, "succeeded") for step in STEPS]
    assert shown.rules is not None
    assert (shown.template_id, shown.policy_id, shown.rules.allowed) == (NO_GUESTS, NINETY_DAYS, False)


async def test_a_group_that_is_gone_fails_the_request(steward: Steward) -> None:
    record = await steward.assign(templateId=str(NO_GUESTS))
    async with steward.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)

    await steward.work()
    assert record.assignment_request_id is not None
    late = await steward.estate.record(record.assignment_request_id)
    later(steward.estate, minutes=1)
    # Now it is known that it is not late, but gone.
    await steward.look_around()
    await steward.work()

    failed = await steward.estate.record(late.request_id)
    assert (late.state, late.waiting and late.waiting.reason) == (
        "waiting",
        "The directory does not show this group at present.",
    )
    assert failed.error is not None
    assert (failed.state, failed.error.code) == ("failed", "groupUnknown")


async def test_requests_about_one_group_end_together_with_what_was_asked_last(steward: Steward) -> None:
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.assign(templateId=str(PARTNERS), policyId=str(NINETY_DAYS))
    await steward.assign(templateId=ZERO)

    await steward.work()

    shown = await steward.shown()
    assert (shown.template_id, shown.policy_id, shown.rules) == (None, NINETY_DAYS, None)
    assert await steward.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert [work.wanted.id for work in steward.guests.ensured] == [ALL_STAFF]
    assert await steward.found() == []


async def test_running_it_twice_is_boring(steward: Steward) -> None:
    await steward.assign(templateId=str(NO_GUESTS))
    claim = await steward.estate.claim()
    await steward.assignment_jobs.apply(claim)
    before = await steward.estate.rows("SELECT * FROM chamberlain.request"), await steward.shown()

    await steward.assignment_jobs.apply(claim)

    assert (await steward.estate.rows("SELECT * FROM chamberlain.request"), await steward.shown()) == before
    assert len(steward.guests.ensured) == 1


@dataclass
class BusyGuests(Guests):
    """Behind whose back somebody assigns something else, just when the first has shown."""

    steward: Steward
    guests: Guests
    left: int = 1

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        outcomes = await self.guests.ensure(works)
        if self.left:
            self.left -= 1
            await self.steward.assign(templateId=str(PARTNERS))
        return outcomes

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await self.guests.changes(tenant_id, extension, cursor)


async def test_a_change_that_arrives_while_it_runs_is_not_lost(steward: Steward) -> None:
    await steward.assign(templateId=str(NO_GUESTS))
    busy = replace(steward.assignment_jobs, guests=BusyGuests(steward, steward.guests))

    await busy.apply(await steward.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))
    states = await steward.estate.rows("SELECT state FROM chamberlain.request ORDER BY created_at")
    findings = await steward.found()
    # The second one is killed before it could do anything; the first, which was overtaken, runs again all the same.
    await busy.apply(await steward.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY], most=1))

    assert set(states) == {("running",), ("queued",)}
    assert findings == []
    shown = await steward.shown()
    assert shown.template_id == PARTNERS
    assert shown.rules is not None
    assert shown.rules.allowed_domains == ("partner.example",)


@dataclass
class DeadlyGuests(Guests):
    """A directory behind which the process is killed, just after it has taken the first so many steps."""

    guests: Guests
    steps: int

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        await self.guests.ensure([replace(work, steps=work.steps[: self.steps]) for work in works])
        raise Killed

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await self.guests.changes(tenant_id, extension, cursor)


async def let_it_remove(steward: Steward) -> None:
    """The template "No guests" removes those who are there."""
    async with steward.estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.template_revision SET content = jsonb_set(content::jsonb, '{presentGuests}', "
            "'\"remove\"')::json WHERE template_id = $1",
            NO_GUESTS,
        )


@pytest.mark.parametrize("steps", range(5))
async def test_a_worker_that_is_killed_anywhere_leaves_no_half_effect(steward: Steward, steps: int) -> None:
    before, site_before = await steward.shown(), await steward.shown(HANDBOOK)
    await let_it_remove(steward)
    await steward.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS))
    await steward.assign(templateId=str(NO_GUESTS))
    deadly = replace(steward.assignment_jobs, guests=DeadlyGuests(steward.guests, steps))
    with pytest.raises(Killed):
        await deadly.apply(await steward.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))

    await expire_leases(steward.estate)
    await steward.work()

    group, site = await steward.shown(), await steward.shown(HANDBOOK)
    assert group.rules is not None
    assert site.site is not None
    assert (group.template_id, group.rules.allowed, group.guests) == (NO_GUESTS, False, ())
    assert (site.template_id, site.site.sharing) == (NO_GUESTS, Sharing.DISABLED)
    assert await steward.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert await steward.estate.rows("SELECT count(*) FROM chamberlain.job") == [(0,)]
    # Whoever was removed is on record, whenever the worker was killed.
    (finding,) = await steward.found()
    assert (finding.state, finding.action, finding.subject.id) == ("repaired", "remove", ALL_STAFF)
    assert await steward.estate.rows("SELECT count(*) FROM chamberlain.event") == [(2,)]

    # Clearing is killed just as well, and leaves all as it was but for the guest, who is not let in again.
    await steward.assign(HANDBOOK, kind=SubjectType.SITE, templateId=ZERO)
    await steward.assign(templateId=ZERO)
    with pytest.raises(Killed):
        await deadly.apply(await steward.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY]))
    await expire_leases(steward.estate)
    await steward.work()

    assert before.guests != ()
    assert await steward.shown() == replace(before, guests=())
    assert await steward.shown(HANDBOOK) == site_before
    assert await steward.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert await steward.estate.rows("SELECT count(*) FROM chamberlain.job") == [(0,)]


NOT_NOW = TryAgain(timedelta(seconds=10), "The directory does not answer.")


async def test_a_guest_who_was_announced_and_stayed_is_not_told_as_removed(steward: Steward) -> None:
    await let_it_remove(steward)
    await steward.assign(templateId=str(NO_GUESTS))
    steward.guests.faults = {ALL_STAFF: NOT_NOW}
    await steward.work()
    (waiting,) = await steward.found()
    steward.guests.faults = {}

    await steward.assign(templateId=ZERO)
    await steward.work()

    assert (waiting.state, waiting.action) == ("open", "remove")
    assert [guest.id for guest in (await steward.shown()).guests] == [GIL]
    assert [(each.state, each.action) for each in await steward.found()] == [("gone", None)]


@pytest.mark.parametrize(("steps", "told"), [(0, ("gone", None)), (1, ("gone", None)), (2, ("repaired", "remove"))])
async def test_what_is_told_of_a_guest_when_the_worker_was_killed_and_the_template_is_cleared(
    steward: Steward, steps: int, told: tuple[str, str | None]
) -> None:
    await let_it_remove(steward)
    await steward.assign(templateId=str(NO_GUESTS))
    with pytest.raises(Killed):
        await replace(steward.assignment_jobs, guests=DeadlyGuests(steward.guests, steps)).apply(
            await steward.estate.claim()
        )
    await steward.assign(templateId=ZERO)
    await expire_leases(steward.estate)

    await steward.work()

    shown = await steward.shown()
    assert (shown.template_id, shown.rules, len(shown.guests)) == (None, None, 1 if told[0] == "gone" else 0)
    assert [(each.state, each.action) for each in await steward.found()] == [told]


async def test_nobody_is_about_to_be_removed_when_the_request_has_failed(steward: Steward) -> None:
    await let_it_remove(steward)
    await steward.assign(templateId=str(NO_GUESTS))
    steward.guests.faults = {ALL_STAFF: Rejected("notAccepted", "Not today.")}

    await steward.work()

    assert [(each.state, each.action) for each in await steward.found()] == [("open", None)]


async def test_guests_who_are_against_the_rule_are_removed_where_the_template_says_so(steward: Steward) -> None:
    await let_it_remove(steward)
    await steward.assign(templateId=str(NO_GUESTS))

    await steward.work()

    assert (await steward.shown()).guests == ()
    assert [each.state for each in await steward.found(FindingFilter(state=FindingState.REPAIRED))] == ["repaired"]
    assert (await steward.record()).open_findings == 0


async def test_a_guest_of_whom_somebody_has_accepted_that_they_are_there_stays(steward: Steward) -> None:
    """Gil may stay until the project ends, whatever template is assigned or sent again meanwhile."""
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.work()
    (finding,) = await steward.found()
    inspector = inspector_of(steward.estate)
    await inspector.accepted(finding.id, steward.estate.moment + timedelta(days=90))
    await let_it_remove(steward)
    other = await other_guest(steward)

    await steward.assign(policyId=str(NINETY_DAYS), templateId=ZERO)
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.work()

    assert [guest.id for guest in (await steward.shown()).guests] == [GIL]
    assert {each.about: (each.state, each.action) for each in await steward.found()} == {
        str(GIL): ("accepted", None),
        str(other): ("repaired", "remove"),
    }
    assert [each.state for each in (await steward.record()).effects] == ["succeeded"] * 3
    # When that has ended, they go with the next change.
    steward.estate.moment += timedelta(days=90)
    await make_due(steward.estate)
    await inspector.work()
    await steward.assign(templateId=ZERO)
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.work()
    assert (await steward.shown()).guests == ()


async def other_guest(steward: Steward) -> UserId:
    """Another guest in the group."""
    runs = Runs(steward)
    [guest] = await make_guests(runs, 1)
    await runs.join([guest])
    return guest


async def test_a_guest_whom_an_earlier_request_is_just_removing_cannot_be_kept_any_more(steward: Steward) -> None:
    """It brings about what is assigned by now, and the newest request has not been taken up."""
    await let_it_remove(steward)
    await steward.assign(templateId=str(NO_GUESTS))
    earlier = await steward.estate.claim()
    await steward.assign(policyId=str(NINETY_DAYS))
    with pytest.raises(Killed):
        await replace(steward.assignment_jobs, guests=DeadlyGuests(steward.guests, 0)).apply(earlier)
    (finding,) = await steward.found()

    with pytest.raises(Conflict) as refused:
        await inspector_of(steward.estate).accepted(finding.id)

    assert refused.value.code == "stateDoesNotAllow"


async def test_a_guest_who_is_just_being_removed_cannot_be_kept_any_more(steward: Steward) -> None:
    await let_it_remove(steward)
    await steward.assign(templateId=str(NO_GUESTS))
    with pytest.raises(Killed):
        await replace(steward.assignment_jobs, guests=DeadlyGuests(steward.guests, 0)).apply(
            await steward.estate.claim()
        )
    (finding,) = await steward.found()
    inspector = inspector_of(steward.estate)

    with pytest.raises(Conflict) as refused:
        await inspector.accepted(finding.id)

    assert refused.value.code == "stateDoesNotAllow"
    # When it is known that nothing came of it, they can.
    steward.guests.faults = {ALL_STAFF: NOT_NOW}
    await expire_leases(steward.estate)
    await steward.work()
    await inspector.accepted(finding.id)
    steward.guests.faults = {}
    await make_due(steward.estate)
    await steward.work()
    assert [guest.id for guest in (await steward.shown()).guests] == [GIL]


LEAVE_THE_ONLY_OWNER = (
    "DELETE FROM directory.memberships WHERE group_id = $1 AND is_owner",
    # Who is left is Gil, beside groups.
    "UPDATE directory.memberships SET is_owner = true WHERE group_id = $1 AND member_id::text LIKE '9e57%'",
)
FOLLOW_A_RULE = ("UPDATE directory.groups SET membership_rule = 'user.userType -eq \"Guest\"' WHERE id = $1",)


@pytest.mark.parametrize(
    ("statements", "why"),
    [(LEAVE_THE_ONLY_OWNER, "is the last owner of this group"), (FOLLOW_A_RULE, "by its membership rule")],
    ids=["last owner", "dynamic"],
)
async def test_a_guest_who_cannot_be_removed_stays_with_a_warning_and_all_else_is_done(
    steward: Steward, statements: Sequence[str], why: str
) -> None:
    async with steward.estate.databases.worker.across_tenants() as tx:
        for statement in statements:
            await tx.execute(statement, ALL_STAFF)
    await let_it_remove(steward)
    await steward.assign(templateId=str(NO_GUESTS))

    await steward.work()

    shown, record = await steward.shown(), await steward.record()
    assert shown.rules is not None
    assert (shown.template_id, shown.rules.allowed, len(shown.guests)) == (NO_GUESTS, False, 1)
    assert [each.state for each in record.effects] == ["succeeded", "warning", "succeeded"]
    assert why in (record.effects[1].reason or "")
    assert [(each.state, each.action) for each in await steward.found()] == [("open", None)]
    assert record.open_findings == 1
    assert await steward.estate.rows("SELECT state FROM chamberlain.request") == [("succeeded",)]
    # What stayed is looked at again with the next change, and is no trouble when it is cleared.
    await steward.assign(templateId=ZERO)
    await steward.work()
    assert [(each.state, each.action) for each in await steward.found()] == [("gone", None)]


async def test_a_guest_whom_the_rule_allows_is_no_finding(steward: Steward) -> None:
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.work()
    await steward.assign(templateId=str(PARTNERS))
    await steward.work()

    assert [each.state for each in await steward.found()] == ["gone"]


async def test_a_finding_that_comes_again_is_a_new_one(steward: Steward) -> None:
    for template in (str(NO_GUESTS), ZERO, str(NO_GUESTS)):
        later(steward.estate, seconds=1)
        await steward.assign(templateId=template)
        await steward.work()
    newest, oldest = await steward.found()

    assert (newest.state, oldest.state) == ("open", "gone")
    assert newest.id != oldest.id


async def test_two_workers_at_once_end_in_what_was_asked_last(steward: Steward) -> None:
    other = steward_of(steward.estate)
    for number in range(6):
        await steward.assign(templateId=str(NO_GUESTS if number % 2 else PARTNERS))
    claims = [await steward.estate.claim(kinds=[JobKind.ASSIGNMENT_APPLY], most=3) for _ in range(2)]

    await asyncio.gather(
        steward.assignment_jobs.apply(claims[0]),
        other.assignment_jobs.apply(claims[1]),
        steward.assign(templateId=ZERO),
    )
    for _ in range(3):
        await steward.work()

    shown = await steward.shown()
    assert (shown.template_id, shown.rules) == (None, None)
    assert await steward.estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]


async def test_effects_that_were_cancelled_come_with_the_next_change(steward: Steward) -> None:
    record = await steward.assign(templateId=str(NO_GUESTS))
    assert record.assignment_request_id is not None
    await cancel(steward.estate, record.assignment_request_id, administrator(ADA))
    await steward.work()
    untouched = await steward.shown()

    await steward.assign(policyId=str(NINETY_DAYS))
    await steward.work()

    assert untouched.rules is None
    assert (await steward.estate.record(record.assignment_request_id)).state == "cancelled"
    shown = await steward.shown()
    assert shown.rules is not None
    assert (shown.template_id, shown.policy_id, shown.rules.allowed) == (NO_GUESTS, NINETY_DAYS, False)


async def test_a_failed_request_that_is_retried_brings_about_what_is_assigned_now(steward: Steward) -> None:
    record = await steward.assign(templateId=str(NO_GUESTS))
    assert record.assignment_request_id is not None
    steward.guests.faults = {ALL_STAFF: Rejected("notAccepted", "Not today.")}
    await steward.work()
    steward.guests.faults = {}

    await retry(steward.estate, record.assignment_request_id, administrator(ADA))
    await steward.work()

    assert (await steward.estate.record(record.assignment_request_id)).state == "succeeded"
    assert (await steward.shown()).template_id == NO_GUESTS
    assert (await steward.record()).open_findings == 1
