"""The guest rules that a template names for the groups made with it: assigned as they are when the group is ready, and
told of where they cannot be."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.database.transactions import Overtaken
from chamberlain.guests.assignments import store as assignment_store
from chamberlain.guests.assignments.rules import AssignmentDraft
from chamberlain.guests.assignments.store import Assigner
from chamberlain.guests.models import Assignment
from chamberlain.templates.rules import COLLAB
from tests.databases import Databases
from tests.estates import ADA, PROJECT_GROUP, changed_estate, open_estate
from tests.guests.assignments.stewards import (
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    Steward,
    expire_leases,
    later,
    make_due,
    steward_of,
)
from tests.queue.deadly import DeadlyDirectory, Killed
from tests.requests.acts import administrator
from tests.template_admin.template_keepers import Keeper

AWAY = TryAgain(timedelta(seconds=1), "The directory does not answer.")


@pytest.fixture
async def steward(databases: Databases) -> Steward:
    """Of an estate whose project groups get a guest template and a guest policy."""
    rules = {"guestTemplateId": str(PARTNERS), "guestPolicyId": str(NINETY_DAYS)}
    return steward_of(await open_estate(databases, changed_estate(project_group=rules)))


async def test_it_works(steward: Steward) -> None:
    accepted = await steward.estate.request("Apollo")
    await steward.estate.work()
    await steward.work()

    request, group = await steward.estate.record(accepted.request_id), await steward.estate.group(accepted.request_id)
    assert group is not None
    assert request.warnings == ()
    assert [(each.step, each.state) for each in request.steps if each.step == "assignGuestRules"] == [
        ("assignGuestRules", "succeeded")
    ]
    assert (await steward.record(group.id)).assignment == Assignment(PARTNERS, NINETY_DAYS)
    shown = await steward.shown(group.id)
    assert (shown.template_id, shown.policy_id) == (PARTNERS, NINETY_DAYS)


async def delete_it(steward: Steward) -> None:
    """As administrators do: the template that names it is replaced, and then nothing does."""
    keeper = Keeper(steward.estate, administrator(ADA), COLLAB)
    await keeper.replace(PROJECT_GROUP, {"name": "Project group", "guestPolicyId": str(NINETY_DAYS)})
    await keeper.delete(PARTNERS)


async def switch_it_off(steward: Steward) -> None:
    async with steward.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.template SET active = false WHERE template_id = $1", PARTNERS)


@pytest.mark.parametrize(
    ("take_away", "warning"),
    [
        (delete_it, "The guest template of this request's template no longer exists."),
        (switch_it_off, "The guest template of this request's template is inactive."),
    ],
)
async def test_a_guest_template_that_is_gone_when_the_group_is_ready_is_told_of_and_not_marked(
    steward: Steward, take_away: Callable[[Steward], Awaitable[None]], warning: str
) -> None:
    steward.estate.directory.trouble = AWAY
    accepted = await steward.estate.request("Apollo")
    await steward.estate.work()
    await take_away(steward)
    steward.estate.directory.trouble = None
    later(steward.estate, minutes=1)
    await make_due(steward.estate)

    await steward.estate.work()
    await steward.work()

    request, group = await steward.estate.record(accepted.request_id), await steward.estate.group(accepted.request_id)
    assert group is not None
    assert request.state == "succeeded"
    (told,) = request.warnings
    assert told.startswith(warning)
    (step,) = [each for each in request.steps if each.step == "assignGuestRules"]
    assert (step.state, step.reason) == ("warning", told)
    assert (await steward.record(group.id)).assignment == Assignment(None, NINETY_DAYS)
    shown = await steward.shown(group.id)
    assert (shown.template_id, shown.policy_id, shown.rules) == (None, NINETY_DAYS, None)


async def test_the_marks_go_where_nothing_at_all_can_be_assigned(steward: Steward) -> None:
    accepted = await steward.estate.request("Apollo")
    async with steward.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.template SET active = false WHERE template_id = $1", PARTNERS)
        await tx.execute("UPDATE chamberlain.policy SET active = false WHERE policy_id = $1", NINETY_DAYS)

    await steward.estate.work()
    await steward.work()

    request, group = await steward.estate.record(accepted.request_id), await steward.estate.group(accepted.request_id)
    assert group is not None
    assert len(request.warnings) == 2
    record, shown = await steward.record(group.id), await steward.shown(group.id)
    assert (record.assignment, shown.template_id, shown.policy_id) == (Assignment(), None, None)
    assert [(each.step, each.state) for each in record.effects] == [("markAssignment", "succeeded")]
    # Nothing is assigned that was not before: nobody is told of a change.
    assert await steward.estate.rows("SELECT type FROM chamberlain.event") == [("group.created",)]


async def test_what_somebody_assigns_before_the_group_is_ready_stays_and_is_marked(steward: Steward) -> None:
    accepted = await steward.estate.request("Apollo")
    provision = replace(steward.estate.provision_groups, directory=DeadlyDirectory(steward.estate.directory))
    with pytest.raises(Killed):
        await provision.provision(await steward.estate.claim())
    group = await steward.estate.group(accepted.request_id)
    assert group is not None
    await steward.assign(group.id, templateId=str(NO_GUESTS))
    await steward.work()

    await expire_leases(steward.estate)
    await steward.estate.work()
    await steward.work()

    record, shown = await steward.record(group.id), await steward.shown(group.id)
    assert record.assignment == Assignment(NO_GUESTS, None)
    assert Assignment(shown.template_id, shown.policy_id) == record.assignment
    assert (await steward.estate.record(accepted.request_id)).warnings == ()


class Drafter(Assigner):
    """Keeps what is to be written, for somebody else to write."""

    draft: AssignmentDraft

    async def change(self, draft: AssignmentDraft) -> bool:
        self.draft = draft
        return True


async def test_a_worker_that_meets_somebody_who_holds_what_it_needs_comes_again(steward: Steward) -> None:
    """It is no bug of the job, which would be held for a person."""
    worker = steward.estate.databases.worker
    drafter = Drafter(steward.estate.databases.application)
    steward.assignments = replace(steward.assignments, assigner=drafter)
    await steward.assign(templateId=str(PARTNERS))
    async with worker.across_tenants() as other:
        await other.execute("SELECT FROM chamberlain.template WHERE template_id = $1 FOR UPDATE", PARTNERS)

        with pytest.raises(Overtaken):
            async with worker.across_tenants() as tx:
                await assignment_store.write(tx, [drafter.draft])

    async with worker.across_tenants() as tx:
        await assignment_store.write(tx, [drafter.draft])
    assert (await steward.record()).assignment == Assignment(PARTNERS, None)
