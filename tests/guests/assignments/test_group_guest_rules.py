# SPDX-License-Identifier: Apache-2.0
"""The guest rules of a template for its groups.

They are assigned when the group is ready, and reported where they cannot be.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.database.transactions import Overtaken
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.assignments import store as assignment_store
from chamberlain.guests.assignments.rules import AssignmentDraft
from chamberlain.guests.assignments.store import Assigner
from chamberlain.guests.models import Assignment
from chamberlain.guests.subjects.models import SubjectFilter
from chamberlain.template_admin.models import COLLAB
from tests.databases import Databases
from tests.estates import ADA, PROJECT_GROUP, changed_estate, open_estate
from tests.guests.assignments.guest_fixture import (
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    GuestFixture,
    expire_leases,
    guest_fixture,
    later,
    make_due,
)
from tests.queue.crash_injection import CrashingDirectory, InjectedCrash
from tests.requests.request_services import administrator
from tests.template_admin.template_fixture import TemplateFixture

AWAY = TryAgain(timedelta(seconds=1), "The directory does not answer.")


@pytest.fixture
async def guest_rules(databases: Databases) -> GuestFixture:
    """Of an estate whose project groups get a guest template and a guest policy."""
    rules = {"guestTemplateId": str(PARTNERS), "guestPolicyId": str(NINETY_DAYS)}
    return guest_fixture(await open_estate(databases, changed_estate(project_group=rules)))


async def test_it_works(guest_rules: GuestFixture) -> None:
    accepted = await guest_rules.estate.request("Apollo")
    await guest_rules.estate.work()
    await guest_rules.work()

    request, group = (
        await guest_rules.estate.record(accepted.request_id),
        await guest_rules.estate.group(accepted.request_id),
    )
    assert group is not None
    assert request.warnings == ()
    assert [(each.step, each.state) for each in request.steps if each.step == "assignGuestRules"] == [
        ("assignGuestRules", "succeeded")
    ]
    assert (await guest_rules.record(group.id)).assignment == Assignment(PARTNERS, NINETY_DAYS)
    shown = await guest_rules.shown(group.id)
    assert (shown.template_id, shown.policy_id) == (PARTNERS, NINETY_DAYS)


async def delete_it(guest_rules: GuestFixture) -> None:
    """As administrators do: the template that names it is replaced, and then nothing does."""
    template_fixture = TemplateFixture(guest_rules.estate, administrator(ADA), COLLAB)
    await template_fixture.replace(PROJECT_GROUP, {"name": "Project group", "guestPolicyId": str(NINETY_DAYS)})
    await template_fixture.delete(PARTNERS)


async def switch_it_off(guest_rules: GuestFixture) -> None:
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.template SET active = false WHERE template_id = $1", PARTNERS)


@pytest.mark.parametrize(
    ("take_away", "warning"),
    [
        (delete_it, "The guest template of this request's template no longer exists."),
        (switch_it_off, "The guest template of this request's template is inactive."),
    ],
)
async def test_a_guest_template_that_is_gone_when_the_group_is_ready_is_reported_and_not_marked(
    guest_rules: GuestFixture, take_away: Callable[[GuestFixture], Awaitable[None]], warning: str
) -> None:
    guest_rules.estate.directory.error = AWAY
    accepted = await guest_rules.estate.request("Apollo")
    await guest_rules.estate.work()
    await take_away(guest_rules)
    guest_rules.estate.directory.error = None
    later(guest_rules.estate, minutes=1)
    await make_due(guest_rules.estate)

    await guest_rules.estate.work()
    await guest_rules.work()

    request, group = (
        await guest_rules.estate.record(accepted.request_id),
        await guest_rules.estate.group(accepted.request_id),
    )
    assert group is not None
    assert request.state == "succeeded"
    (told,) = request.warnings
    assert told.sentence.startswith(warning)
    (step,) = [each for each in request.steps if each.step == "assignGuestRules"]
    assert (step.state, step.shown_reason) == ("warning", told)
    assert (await guest_rules.record(group.id)).assignment == Assignment(None, NINETY_DAYS)
    shown = await guest_rules.shown(group.id)
    assert (shown.template_id, shown.policy_id, shown.rules) == (None, NINETY_DAYS, None)


async def test_the_marks_go_where_nothing_at_all_can_be_assigned(guest_rules: GuestFixture) -> None:
    accepted = await guest_rules.estate.request("Apollo")
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.template SET active = false WHERE template_id = $1", PARTNERS)
        await tx.execute("UPDATE chamberlain.policy SET active = false WHERE policy_id = $1", NINETY_DAYS)

    await guest_rules.estate.work()
    await guest_rules.work()

    request, group = (
        await guest_rules.estate.record(accepted.request_id),
        await guest_rules.estate.group(accepted.request_id),
    )
    assert group is not None
    assert len(request.warnings) == 2
    record, shown = await guest_rules.record(group.id), await guest_rules.shown(group.id)
    assert (record.assignment, shown.template_id, shown.policy_id) == (Assignment(), None, None)
    assert [(each.step, each.state) for each in record.effects] == [("markAssignment", "succeeded")]
    # The assignment is the same as before: no event reports a change.
    assert await guest_rules.estate.rows("SELECT type FROM chamberlain.event") == [("group.created",)]


async def test_what_somebody_assigns_before_the_group_is_ready_stays_and_is_marked(guest_rules: GuestFixture) -> None:
    accepted = await guest_rules.estate.request("Apollo")
    provision = replace(guest_rules.estate.provision_groups, directory=CrashingDirectory(guest_rules.estate.directory))
    with pytest.raises(InjectedCrash):
        await provision.provision(await guest_rules.estate.claim())
    group = await guest_rules.estate.group(accepted.request_id)
    assert group is not None
    await guest_rules.assign(group.id, templateId=str(NO_GUESTS))
    await guest_rules.work()

    await expire_leases(guest_rules.estate)
    await guest_rules.estate.work()
    await guest_rules.work()

    record, shown = await guest_rules.record(group.id), await guest_rules.shown(group.id)
    assert record.assignment == Assignment(NO_GUESTS, None)
    assert Assignment(shown.template_id, shown.policy_id) == record.assignment
    assert (await guest_rules.estate.record(accepted.request_id)).warnings == ()


class RecordingAssigner(Assigner):
    """Keeps the draft for another caller to write."""

    draft: AssignmentDraft

    async def change(self, draft: AssignmentDraft) -> bool:
        self.draft = draft
        return True


async def test_a_worker_that_meets_somebody_who_holds_what_it_needs_comes_again(guest_rules: GuestFixture) -> None:
    """It is no bug of the job, which would be held for a person."""
    worker = guest_rules.estate.databases.worker
    drafter = RecordingAssigner(guest_rules.estate.databases.application)
    guest_rules.assignments = replace(guest_rules.assignments, assigner=drafter)
    await guest_rules.assign(templateId=str(PARTNERS))
    async with worker.across_tenants() as other:
        await other.execute("SELECT FROM chamberlain.template WHERE template_id = $1 FOR UPDATE", PARTNERS)

        with pytest.raises(Overtaken):
            async with worker.across_tenants() as tx:
                await assignment_store.write(tx, [drafter.draft])

    async with worker.across_tenants() as tx:
        await assignment_store.write(tx, [drafter.draft])
    assert (await guest_rules.record()).assignment == Assignment(PARTNERS, None)


async def test_a_group_without_guest_rules_is_listed_as_soon_as_its_request_succeeds(databases: Databases) -> None:
    guests = guest_fixture(await open_estate(databases))
    accepted = await guests.estate.request("Apollo")

    await guests.estate.work()

    group = await guests.estate.group(accepted.request_id)
    assert group is not None
    assert "Apollo" in await guests.names(SubjectFilter(SubjectType.GROUP))
    record = await guests.record(group.id)
    assert (record.assignment, record.entry.request_id) == (Assignment(), accepted.request_id)
    assert await guests.estate.rows("SELECT type FROM chamberlain.event") == [("group.created",)]


async def test_a_listed_group_that_was_deleted_before_it_was_discovered_leaves_the_list(databases: Databases) -> None:
    guests = guest_fixture(await open_estate(databases))
    await guests.discover()
    await guests.estate.request("Apollo")
    await guests.estate.work()
    async with databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.groups WHERE display_name = 'Apollo'")

    await guests.discover()

    assert "Apollo" not in await guests.names(SubjectFilter(SubjectType.GROUP))


async def test_a_group_of_a_tenant_that_was_deleted_meanwhile_leaves_no_row(databases: Databases) -> None:
    guests = guest_fixture(await open_estate(databases))
    await guests.estate.request("Apollo")
    claim = await guests.estate.claim()
    async with guests.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.tenant")

    await guests.estate.provision_groups.provision(claim)

    assert await guests.estate.rows("SELECT FROM chamberlain.subject") == []
