# SPDX-License-Identifier: Apache-2.0
"""Changing assignments: one after the other however many come, durable with all that belongs to it, or without a
trace."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import asyncpg
import msgspec
import pytest

from chamberlain.core.errors import NotFound, NotPossible, Rejected, Stale, TryAgain, Unavailable
from chamberlain.core.ids import GroupId, PolicyId, TemplateId
from chamberlain.database.connection import WatchfulPool
from chamberlain.database.transactions import Connection, Database
from chamberlain.directory.port import Subjects
from chamberlain.directory.subjects import ObservedSubject, Sharing, SubjectReference, SubjectType
from chamberlain.guests.assignments.store import LOCK_TIMEOUT, Assigner
from chamberlain.guests.models import Assignment
from chamberlain.guests.policies import store as policy_store
from chamberlain.guests.subjects import records as subject_records
from chamberlain.guests.subjects.models import SubjectRecord
from chamberlain.requests.steps import CANCELLED
from tests.estates import ADA, ESTATE, NOBODY, OTHER_HOUSE, TRACE, Estate
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    SUPPLIERS,
    YEARLY_REVIEW,
    ZERO,
    GuestFixture,
    guest_fixture,
    later,
)
from tests.postgres import connected
from tests.requests.request_services import administrator, application, cancel

TOGETHER = 500


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    return guest_fixture(estate)


async def test_it_works(guest_rules: GuestFixture) -> None:
    record = await guest_rules.assign(templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))

    assert record.assignment == Assignment(NO_GUESTS, NINETY_DAYS)
    assert (record.template_name, record.policy_name) == ("No guests", "90 days")
    assert record.assigned_at == guest_rules.estate.moment
    assert record == await guest_rules.record()
    ((action, trace, request_id, payload),) = await guest_rules.estate.rows(
        "SELECT action, trace_id, request_id, payload FROM chamberlain.audit WHERE action LIKE '%.assign'"
    )
    assert (action, trace, request_id) == ("group.assign", TRACE, record.assignment_request_id)
    assert msgspec.json.decode(str(payload)) == {
        "actor": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
        "client": {"id": "c11e0000-0000-4000-8000-000000000001"},
        "subject": {"type": "group", "id": str(ALL_STAFF), "displayName": "All staff"},
        "before": {"templateId": None, "policyId": None},
        "after": {"templateId": str(NO_GUESTS), "policyId": str(NINETY_DAYS)},
    }
    ((kind, at, data),) = await guest_rules.estate.rows("SELECT type, at, data FROM chamberlain.event")
    assert (kind, at) == ("group.assignmentChanged", guest_rules.estate.moment)
    assert msgspec.json.decode(str(data)) == {
        "group": {"id": str(ALL_STAFF), "displayName": "All staff"},
        "before": {"templateId": None, "policyId": None},
        "after": {"templateId": str(NO_GUESTS), "policyId": str(NINETY_DAYS)},
        "changedBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    }


async def test_whoever_assigns_again_and_again_is_asked_for_once_a_minute(guest_rules: GuestFixture) -> None:
    for template in (str(NO_GUESTS), ZERO, str(PARTNERS)):
        await guest_rules.assign(templateId=template)
    asked = len(guest_rules.estate.people.questions)
    later(guest_rules.estate, seconds=61)
    record = await guest_rules.assign(templateId=ZERO)

    assert (asked, len(guest_rules.estate.people.questions)) == (1, 2)
    assert record.assigned_by is not None
    assert record.assigned_by.display_name == "Ada Achterberg"


async def test_somebody_whose_name_cannot_be_asked_for_now_has_one_later(guest_rules: GuestFixture) -> None:
    guest_rules.estate.people.error = TryAgain(timedelta(seconds=1), "The directory does not answer.")
    nameless = await guest_rules.assign(templateId=str(NO_GUESTS))
    guest_rules.estate.people.error = None
    named_again = await guest_rules.assign(templateId=ZERO)

    assert nameless.assigned_by is not None
    assert named_again.assigned_by is not None
    assert (nameless.assigned_by.display_name, named_again.assigned_by.display_name) == ("", "Ada Achterberg")


async def test_the_audit_row_holds_what_changed_only(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS))
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))

    rows = await guest_rules.estate.rows(
        "SELECT action, payload -> 'before', payload -> 'after' FROM chamberlain.audit "
        "WHERE action LIKE '%.assign' ORDER BY sequence"
    )
    events = await guest_rules.estate.rows("SELECT type, data -> 'site' ->> 'id' FROM chamberlain.event")
    assert [(action, msgspec.json.decode(str(old)), msgspec.json.decode(str(new))) for action, old, new in rows] == [
        ("site.assign", {"templateId": None}, {"templateId": str(NO_GUESTS)}),
        ("site.assign", {"policyId": None}, {"policyId": str(NINETY_DAYS)}),
    ]
    assert events == [("site.assignmentChanged", str(HANDBOOK))] * 2


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"templateId": str(NO_GUESTS)},
        {"policyId": ZERO},
        {"templateId": str(NO_GUESTS).upper(), "policyId": ZERO},
    ],
)
async def test_what_is_so_already_leaves_no_trace(guest_rules: GuestFixture, sent: dict[str, object]) -> None:
    before = await guest_rules.assign(templateId=str(NO_GUESTS))
    traces, rows = await guest_rules.traces(), await guest_rules.estate.rows("SELECT * FROM chamberlain.subject")
    later(guest_rules.estate, seconds=1)

    after = await guest_rules.ask(sent)

    assert after == before
    assert await guest_rules.traces() == traces
    assert await guest_rules.estate.rows("SELECT * FROM chamberlain.subject") == rows


@pytest.mark.parametrize("template", [str(NO_GUESTS), ZERO])
async def test_the_same_again_brings_about_what_was_cancelled(guest_rules: GuestFixture, template: str) -> None:
    await guest_rules.assign(templateId=str(PARTNERS))
    await guest_rules.work()
    record = await guest_rules.assign(templateId=template)
    assert record.assignment_request_id is not None
    await cancel(guest_rules.estate, record.assignment_request_id, administrator(ADA))
    cancelled = await guest_rules.record()
    nothing = await guest_rules.ask({})

    again = await guest_rules.assign(templateId=template, if_match=cancelled.etag)
    await guest_rules.work()

    assert nothing == cancelled
    assert {(each.state, each.shown_reason) for each in cancelled.effects} == {("pending", CANCELLED)}
    assert again.assignment == record.assignment
    assert again.assignment_request_id != record.assignment_request_id
    assert [each.reason for each in again.effects] == [None, None, None]
    shown = await guest_rules.shown()
    assert shown.template_id == (None if template == ZERO else NO_GUESTS)
    assert (shown.rules is None) is (template == ZERO)
    # The request is on record, and no event reports a change.
    assert [(each["before"], each["after"]) for each in await trail(guest_rules)][2:] == [({}, {})]
    assert (
        len(await guest_rules.estate.rows("SELECT 1 FROM chamberlain.event WHERE type = 'group.assignmentChanged'"))
        == 2
    )
    # Now it is so, and the same leaves no trace.
    assert await guest_rules.assign(templateId=template) == await guest_rules.record()
    assert len(await trail(guest_rules)) == 3


async def test_the_same_again_brings_about_what_has_failed(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    guest_rules.guests.faults = {ALL_STAFF: Rejected("notAccepted", "Not today.")}
    await guest_rules.work()
    guest_rules.guests.faults = {}

    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()

    assert [each.state for each in (await guest_rules.record()).effects] == ["succeeded"] * 3


async def test_the_same_again_is_nothing_new_while_its_effects_are_under_way(guest_rules: GuestFixture) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    guest_rules.guests.error = TryAgain(timedelta(seconds=10), "The directory does not answer.")
    await guest_rules.work()
    waiting = await guest_rules.record()

    assert await guest_rules.assign(templateId=str(NO_GUESTS)) == waiting
    assert len(await trail(guest_rules)) == 1


async def test_one_good_and_one_bad_field_change_nothing(guest_rules: GuestFixture) -> None:
    with pytest.raises(NotPossible) as refusal:
        await guest_rules.assign(templateId=str(NO_GUESTS), policyId=str(NOBODY))

    assert [(fault.pointer, fault.code) for fault in refusal.value.faults] == [("/policyId", "policyUnknown")]
    assert (await guest_rules.record()).assignment == Assignment()
    assert await guest_rules.traces() == []


async def test_what_is_assigned_and_switched_off_since_stays_beside_a_change_of_the_other(
    guest_rules: GuestFixture,
) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.template SET active = false WHERE template_id = $1", NO_GUESTS)

    record = await guest_rules.assign(templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))

    assert record.assignment == Assignment(NO_GUESTS, NINETY_DAYS)


@pytest.mark.heavy
async def test_five_hundred_at_once_end_in_a_state_that_one_of_them_asked_for(guest_rules: GuestFixture) -> None:
    """And the last audit row says so, and the directory agrees, with two processes that assign and two that work."""
    other = guest_fixture(guest_rules.estate)
    asked = [
        {"templateId": str(NO_GUESTS), "policyId": str(NINETY_DAYS)},
        {"templateId": str(PARTNERS), "policyId": str(YEARLY_REVIEW)},
        {"templateId": ZERO, "policyId": ZERO},
        {"templateId": str(PARTNERS), "policyId": ZERO},
    ]
    wanted = [
        Assignment(NO_GUESTS, NINETY_DAYS),
        Assignment(PARTNERS, YEARLY_REVIEW),
        Assignment(),
        Assignment(PARTNERS),
    ]
    working = [asyncio.create_task(work_for_ever(each)) for each in (guest_rules, other)]

    answers = await asyncio.gather(
        *[(other if number % 2 else guest_rules).ask(asked[number % 4]) for number in range(TOGETHER)]
    )
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    while await guest_rules.estate.rows("SELECT 1 FROM chamberlain.job WHERE kind = 'assignmentApply'"):
        await guest_rules.work()

    # Each was answered with what it asked for.
    assert all(answer.assignment == wanted[number % 4] for number, answer in enumerate(answers))
    last = (await guest_rules.record()).assignment
    assert last in wanted
    changes = await trail(guest_rules)
    assert changes[-1]["after"].items() <= named(last).items()
    assert replayed(changes) == named(last)
    shown = await guest_rules.shown()
    assert Assignment(shown.template_id, shown.policy_id) == last
    assert (shown.rules is None) is (last.template_id is None)
    if shown.rules is not None:
        assert shown.rules.allowed is (last.template_id == PARTNERS)
    generation = await guest_rules.estate.rows("SELECT generation::bigint FROM chamberlain.subject")
    assert generation == await guest_rules.estate.rows("SELECT count(*) FROM chamberlain.request")


async def work_for_ever(guest_rules: GuestFixture) -> None:
    while True:
        await guest_rules.work()
        await asyncio.sleep(0.001)


async def trail(guest_rules: GuestFixture) -> list[dict[str, dict[str, object]]]:
    """Before and after of all changes, in their order."""
    rows = await guest_rules.estate.rows(
        "SELECT payload FROM chamberlain.audit WHERE action = 'group.assign' ORDER BY sequence"
    )
    return [msgspec.json.decode(str(payload)) for (payload,) in rows]


def replayed(changes: list[dict[str, dict[str, object]]]) -> dict[str, object]:
    """The assignment after all changes; each must begin where the one before has ended."""
    now: dict[str, object] = {"templateId": None, "policyId": None}
    for change in changes:
        assert change["before"].items() <= now.items()
        now |= change["after"]
    return now


def named(assignment: Assignment) -> dict[str, object]:
    ids = {"templateId": assignment.template_id, "policyId": assignment.policy_id}
    return {name: None if each is None else str(each) for name, each in ids.items()}


async def test_of_two_who_have_read_the_same_one_is_refused(guest_rules: GuestFixture) -> None:
    read = await guest_rules.record()

    answers = await asyncio.gather(
        guest_rules.assign(templateId=str(NO_GUESTS), if_match=read.etag),
        guest_fixture(guest_rules.estate).assign(templateId=str(PARTNERS), if_match=read.etag),
        return_exceptions=True,
    )

    assert sorted(isinstance(answer, Stale) for answer in answers) == [False, True]


async def test_a_group_that_nobody_had_met_is_looked_up(guest_rules: GuestFixture) -> None:
    accepted = await guest_rules.estate.request("Apollo")
    await guest_rules.estate.work()
    group = await guest_rules.estate.group(accepted.request_id)
    assert group is not None

    record = await guest_rules.assign(group.id, templateId=str(PARTNERS))

    assert record.entry.display_name == "Apollo"
    assert record.entry.request_id == accepted.request_id


async def test_a_group_that_has_got_a_site_is_found_as_one(guest_rules: GuestFixture) -> None:
    await guest_rules.record()
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE directory.sites SET security_group_id = $1 WHERE security_group_id = $2", ALL_STAFF, HANDBOOK
        )

    record = await guest_rules.assign(ALL_STAFF, kind=SubjectType.SITE, templateId=str(NO_GUESTS))

    assert (record.entry.type, record.entry.display_name) == (SubjectType.SITE, "Handbook")


@pytest.mark.parametrize("sent", [{"templateId": str(NO_GUESTS)}, {"policyId": str(NINETY_DAYS)}])
async def test_a_group_that_gets_a_site_after_the_assignment_shares_as_the_template_says(
    guest_rules: GuestFixture, sent: dict[str, object]
) -> None:
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE directory.sites SET security_group_id = $1 WHERE security_group_id = $2", ALL_STAFF, HANDBOOK
        )

    await guest_rules.ask(sent, kind=SubjectType.SITE)
    await guest_rules.work()

    site = (await guest_rules.shown()).site
    assert site is not None
    assert site.sharing == Sharing.DISABLED
    record = await guest_rules.record(ALL_STAFF, SubjectType.SITE)
    assert [(each.step, each.state) for each in record.effects][-1] == ("setSharingCapability", "succeeded")
    # Once is enough: the same again leaves no trace, and a policy alone has its mark as the only step.
    assert await guest_rules.ask(sent, kind=SubjectType.SITE) == record
    marked = await guest_rules.assign(kind=SubjectType.SITE, policyId=str(YEARLY_REVIEW))
    assert [each.step for each in marked.effects] == ["markAssignment"]


async def test_it_rejects_what_is_not_there(guest_rules: GuestFixture) -> None:
    for kind in SubjectType:
        with pytest.raises(NotFound):
            await guest_rules.assign(GroupId(NOBODY), kind=kind, templateId=str(NO_GUESTS))
        caller = application("Collab.Manage.ReadWrite.All", OTHER_HOUSE)
        with pytest.raises(NotFound):
            await guest_rules.assign(ALL_STAFF, kind=kind, caller=caller, templateId=str(NO_GUESTS))
    assert await guest_rules.traces() == []
    assert await guest_rules.estate.rows("SELECT 1 FROM chamberlain.subject") == []


async def test_an_id_of_another_tenant_is_not_to_be_assigned(guest_rules: GuestFixture) -> None:
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        theirs = "SET tenant_id = $1 WHERE"
        await tx.execute(f"UPDATE chamberlain.template {theirs} template_id = $2", OTHER_HOUSE, PARTNERS)
        await tx.execute(f"UPDATE chamberlain.policy {theirs} policy_id = $2", OTHER_HOUSE, YEARLY_REVIEW)

    with pytest.raises(NotPossible) as refusal:
        await guest_rules.assign(templateId=str(PARTNERS), policyId=str(YEARLY_REVIEW))

    assert [fault.code for fault in refusal.value.faults] == ["templateUnknown", "policyUnknown"]


class UnavailableSubjects(Subjects):
    """A directory that does not answer."""

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        assert references
        raise TryAgain(timedelta(seconds=7), "The directory does not answer.")


async def test_it_says_so_when_the_directory_cannot_be_asked_for_an_unknown_group(guest_rules: GuestFixture) -> None:
    guest_rules.assignments = replace(guest_rules.assignments, directory=UnavailableSubjects())

    with pytest.raises(Unavailable) as refusal:
        await guest_rules.assign(templateId=str(NO_GUESTS))

    assert (refusal.value.code, refusal.value.after) == ("overloaded", timedelta(seconds=7))


async def test_what_is_assigned_is_in_use_until_it_is_cleared(guest_rules: GuestFixture) -> None:
    async def is_assigned(**what: TemplateId | PolicyId) -> bool:
        async with guest_rules.estate.databases.application.transaction(ESTATE) as tx:
            return await subject_records.is_assigned(tx, ESTATE, **what)  # type: ignore[arg-type]  # one of the two

    await guest_rules.assign(templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))
    assert await is_assigned(template_id=NO_GUESTS)
    assert await is_assigned(policy_id=NINETY_DAYS)
    assert not await is_assigned(template_id=PARTNERS)
    assert not await is_assigned(policy_id=YEARLY_REVIEW)

    await guest_rules.assign(templateId=ZERO)
    assert not await is_assigned(template_id=NO_GUESTS)
    assert await is_assigned(policy_id=NINETY_DAYS)


async def test_nobody_waits_for_a_group_that_somebody_holds(guest_rules: GuestFixture) -> None:
    """The run of a large group's policy holds its row: no other change waits, not even in the same batch."""
    for group in (ALL_STAFF, SUPPLIERS, HANDBOOK):
        await guest_rules.assignments.read(
            administrator(ADA), group, SubjectType.GROUP if group == ALL_STAFF else SubjectType.SITE
        )
    order: list[str] = []

    async def assign(name: str, group: GroupId, kind: SubjectType) -> SubjectRecord:
        record = await guest_rules.assign(group, kind=kind, templateId=str(PARTNERS))
        order.append(name)
        return record

    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await policy_store.lock(tx, [(ESTATE, ALL_STAFF)])
        waiting = asyncio.create_task(assign("held", ALL_STAFF, SubjectType.GROUP))
        together = asyncio.create_task(assign("together", HANDBOOK, SubjectType.SITE))
        await asyncio.wait_for(together, timeout=LOCK_TIMEOUT.total_seconds() / 2)
        await asyncio.wait_for(assign("later", SUPPLIERS, SubjectType.SITE), timeout=LOCK_TIMEOUT.total_seconds() / 2)
    record = await waiting

    assert order == ["together", "later", "held"]
    assert record.assignment.template_id == PARTNERS


async def test_a_caller_who_waits_for_a_held_group_gets_the_reason(guest_rules: GuestFixture) -> None:
    await guest_rules.record()
    impatient = replace(
        guest_rules,
        assignments=replace(
            guest_rules.assignments, assigner=Assigner(guest_rules.assignments.database, timeout=timedelta(0))
        ),
    )

    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await policy_store.lock(tx, [(ESTATE, ALL_STAFF)])
        with pytest.raises(Unavailable) as refused:
            await impatient.assign(templateId=str(PARTNERS))

    assert refused.value.code == "overloaded"
    assert (await guest_rules.record()).assignment.template_id is None


async def test_those_who_wait_for_a_held_group_together_get_the_reason(guest_rules: GuestFixture) -> None:
    """Not one after the other, each when their own patience has ended in turn."""
    await guest_rules.record()
    timeout, number = timedelta(seconds=1), 12
    assigner = Assigner(guest_rules.assignments.database, timeout=timeout)
    impatient = replace(guest_rules, assignments=replace(guest_rules.assignments, assigner=assigner))

    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await policy_store.lock(tx, [(ESTATE, ALL_STAFF)])
        waiting = [impatient.assign(templateId=str(PARTNERS)) for _ in range(number)]
        came = await asyncio.wait_for(
            asyncio.gather(*waiting, return_exceptions=True), timeout=number * timeout.total_seconds() / 2
        )

    assert [type(each) for each in came] == [Unavailable] * number
    assert (await impatient.assign(templateId=str(PARTNERS))).assignment.template_id == PARTNERS


class LockTimeoutCounter(Database):
    """Counts the statements that have given up waiting for locked rows."""

    def __init__(self, pool: WatchfulPool) -> None:
        super().__init__(pool)
        self.given_up = 0

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[Connection]:
        try:
            async with super().statement() as connection:
                yield connection
        except asyncpg.LockNotAvailableError:
            self.given_up += 1
            raise


@pytest.mark.parametrize("what", ["templateId", "policyId"])
async def test_nobody_waits_for_a_template_or_policy_that_somebody_is_removing(
    guest_rules: GuestFixture, what: str
) -> None:
    """Not even those whose changes arrive together with its: the database is asked for all of them at once."""
    for group in (HANDBOOK, SUPPLIERS):
        await guest_rules.record(group, SubjectType.SITE)
    await guest_rules.record()
    database = LockTimeoutCounter(guest_rules.assignments.database.pool)
    assigner = Assigner(database)
    guest_rules = replace(guest_rules, assignments=replace(guest_rules.assignments, assigner=assigner))
    held: dict[str, TemplateId | PolicyId] = {"templateId": PARTNERS, "policyId": NINETY_DAYS}
    free = {"templateId": str(NO_GUESTS), "policyId": str(YEARLY_REVIEW)}

    async with guest_rules.estate.databases.application.transaction(ESTATE) as tx:
        await subject_records.is_assigned(tx, ESTATE, template_id=PARTNERS, policy_id=NINETY_DAYS)
        waiting = asyncio.create_task(guest_rules.ask({what: str(held[what])}))
        others = [guest_rules.ask({what: free[what]}, site, kind=SubjectType.SITE) for site in (HANDBOOK, SUPPLIERS)]
        await asyncio.wait_for(asyncio.gather(*others), timeout=LOCK_TIMEOUT.total_seconds() / 2)
        has_waited = not waiting.done()
    record = await waiting

    assert has_waited
    assert held[what] in (record.assignment.template_id, record.assignment.policy_id)
    assert database.given_up == 0


async def test_nobody_assigns_what_is_just_being_removed(guest_rules: GuestFixture) -> None:
    await guest_rules.record()
    impatient = replace(
        guest_rules,
        assignments=replace(
            guest_rules.assignments, assigner=Assigner(guest_rules.assignments.database, timeout=timedelta(0))
        ),
    )
    async with guest_rules.estate.databases.application.transaction(ESTATE) as tx:
        assert not await subject_records.is_assigned(tx, ESTATE, template_id=PARTNERS)
        await tx.execute("DELETE FROM chamberlain.template WHERE template_id = $1", PARTNERS)
        with pytest.raises(Unavailable) as refused:
            await impatient.assign(templateId=str(PARTNERS))
        assert refused.value.code == "overloaded"
        assigning = asyncio.create_task(guest_rules.assign(templateId=str(PARTNERS)))

    with pytest.raises(NotPossible) as refusal:
        await assigning
    assert [fault.code for fault in refusal.value.faults] == ["templateUnknown"]


async def test_nobody_is_looked_for_when_nobody_can_write(guest_rules: GuestFixture) -> None:
    """A migration changes a table: all concurrent callers get the error at once."""
    groups = {ALL_STAFF: SubjectType.GROUP, HANDBOOK: SubjectType.SITE, SUPPLIERS: SubjectType.SITE}
    for group, kind in groups.items():
        await guest_rules.record(group, kind)
    database = LockTimeoutCounter(guest_rules.assignments.database.pool)
    assigner = Assigner(database, timeout=timedelta(0))
    impatient = replace(guest_rules, assignments=replace(guest_rules.assignments, assigner=assigner))

    async with connected(guest_rules.estate.databases.addresses.owner) as owner, owner.transaction():
        await owner.execute("LOCK TABLE chamberlain.audit IN SHARE MODE")
        assigning = [impatient.assign(group, kind=kind, templateId=str(PARTNERS)) for group, kind in groups.items()]
        came = await asyncio.gather(*assigning, return_exceptions=True)

    assert [type(each) for each in came] == [Unavailable] * len(groups)
    assert database.given_up <= len(groups)
    assert (await guest_rules.assign(templateId=str(PARTNERS))).assignment.template_id == PARTNERS
