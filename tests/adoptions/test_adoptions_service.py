# SPDX-License-Identifier: Apache-2.0
"""Adoptions: preview, adopt and undo, with other changes in between."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID, uuid4

import pytest

from chamberlain.adoptions.models import AdoptionRule, AdoptionState
from chamberlain.audit.erasure import UserEraser
from chamberlain.core.errors import Conflict, Forbidden, NotFound, NotPossible, OutsideFault, TryAgain, Unavailable
from chamberlain.core.ids import AdoptionId, RequestId, TemplateId
from chamberlain.directory.embedded.adoptions import FaultyAdoptions
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import Marking
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.faults import Faults, Injection
from chamberlain.guests.models import FindingState
from chamberlain.mailboxes import records as mailbox_records
from chamberlain.mailboxes.models import MailboxRecord, ProvisioningState
from chamberlain.requests.models import RequestState
from chamberlain.templates.models import TemplateKind
from tests.adoptions.adoption_fixture import (
    RULE,
    AdoptionFixture,
    AdoptionsWithFaults,
    adoption_fixture,
    chosen,
    elsewhere,
    make_group,
)
from tests.directory.mailbox_work import plain, room, shared
from tests.drift.drift_fixture import drift_fixture
from tests.estates import (
    ADA,
    BEN,
    CONFIDENTIAL_TEAM,
    DARA,
    ESTATE,
    OPERATOR,
    OTHER_HOUSE,
    PROJECT_GROUP,
    PROJECT_TEAM,
    ROOM_MAILBOX,
    SHARED_MAILBOX,
    TRACE,
    Estate,
)
from tests.faulty_directory import FaultyDirectory
from tests.guests.assignments.guest_fixture import ALL_STAFF, expire_leases, guest_fixture
from tests.queue.crash_injection import InjectedCrash
from tests.requests.request_services import administrator, application

Shown = TypeVar("Shown")


@pytest.fixture
async def adoption(estate: Estate) -> AdoptionFixture:
    return adoption_fixture(estate)


async def record_of(adoption: AdoptionFixture, request_id: RequestId) -> MailboxRecord | None:
    async with adoption.estate.databases.application.transaction(ESTATE) as tx:
        return await mailbox_records.find_of_request(tx, request_id)


async def request_of(adoption: AdoptionFixture, object_id: UUID) -> RequestId:
    [[request_id]] = await adoption.estate.rows(
        "SELECT request_id FROM chamberlain.adoption_item WHERE object_id = $1 AND state = 'adopted'", object_id
    )
    assert isinstance(request_id, UUID)
    return RequestId(request_id)


async def actions(adoption: AdoptionFixture) -> list[str]:
    statement = "SELECT action FROM chamberlain.audit WHERE tenant_id = $1 ORDER BY sequence"
    found = await adoption.estate.rows(statement, ESTATE)
    return [str(action) for [action] in found if not str(action).startswith(("template", "policy", "tenant", "token"))]


async def test_it_works(adoption: AdoptionFixture) -> None:
    before = await adoption.mailbox_before(shared())
    shown = await adoption.shown()

    adoption_id = await adoption.confirm()
    await adoption.work()

    view = await adoption.read(adoption_id)
    assert (view.record.state, view.record.total, view.record.adopted) == (AdoptionState.SUCCEEDED, 1, 1)
    request_id = await request_of(adoption, before.id)
    # In the directory nothing has changed but the mark.
    after = (await adoption.shown())[before.id]
    assert after.marks == {"requestId": str(request_id)}
    assert replace(after, marks={}) == shown[before.id]
    # The records are those of a mailbox that was asked for.
    record = await record_of(adoption, request_id)
    assert record is not None
    assert (record.provisioning_state, record.mail) == (ProvisioningState.ACTIVE, before.mail)
    order = record.order
    assert (order.name, order.capacity, order.notes) == (before.name, 500, before.address_fields.notes)
    request = await adoption.estate.record(request_id)
    assert (request.state, request.kind) == (RequestState.SUCCEEDED, "shared")
    assert request.result is not None
    assert request.result.id == record.id
    assert await actions(adoption) == ["adoption.confirm", "mailbox.adopt"]
    # The adopted objects have no events, and no job is left.
    assert await adoption.estate.rows("SELECT type FROM chamberlain.event") == [("adoption.confirmed",)]
    assert await adoption.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'adoptionRun'") == []


async def test_a_preview_writes_nothing_and_says_what_stands_against_whom(adoption: AdoptionFixture) -> None:
    there, of_other_type = await adoption.mailbox_before(plain()), await adoption.mailbox_before(room())
    asked = await adoption.estate.ask_mailbox(
        {"name": "Info", "displayName": "Info", "templateId": str(SHARED_MAILBOX)}
    )
    await adoption.estate.work()
    before = await adoption.records()

    preview = await adoption.preview()

    assert [one.id for one in preview.taken] == [there.id]
    assert {one.id: conflict.code for one, conflict in preview.conflicts} == {
        of_other_type.id: "typeDiffers",
        (await managed(adoption, asked.accepted.request_id)).id: "alreadyManaged",
    }
    assert await adoption.records() == before
    assert await adoption.estate.rows("SELECT state FROM chamberlain.adoption") == []


async def managed(adoption: AdoptionFixture, request_id: RequestId) -> ObservedMailbox:
    found = await adoption.estate.mailbox(request_id)
    assert found is not None
    return found


async def test_names_that_are_given_away_are_conflicts(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain(name="Info"))
    await adoption.mailbox_before(plain(mail="sales@estate.example", name="Other"))
    # Neither is in the directory under our mark yet: both are waited for.
    await adoption.estate.ask_mailbox({"name": "INFO", "displayName": "Info", "templateId": str(SHARED_MAILBOX)})
    [row] = await adoption.estate.rows("SELECT request_id FROM chamberlain.request")
    async with adoption.estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.reservation VALUES ($1, 'address', 'sales@estate.example', $2)", ESTATE, row[0]
        )

    preview = await adoption.preview()

    assert preview.conflict_counts == {"addressTaken": 1, "nameTaken": 1}


async def test_what_it_lacks_of_the_template_is_reported(adoption: AdoptionFixture) -> None:
    there = await adoption.mailbox_before(room(books_automatically=False))

    preview = await adoption.preview(AdoptionRule(TemplateKind.ROOM, ROOM_MAILBOX))

    assert [(one.id, one.differences) for one in preview.taken] == [(there.id, (Step.SET_BOOKING,))]


async def test_a_group_and_a_team_are_taken_as_they_are(adoption: AdoptionFixture) -> None:
    team = await make_group(adoption.estate, "Crew", channels=("General",))
    guest_rules = guest_fixture(adoption.estate)
    await guest_rules.discover()

    group_adoption = await adoption.confirm(AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP))
    team_adoption = await adoption.confirm(AdoptionRule(TemplateKind.TEAM, PROJECT_TEAM))
    await adoption.work()

    for adoption_id, object_id, kind in ((group_adoption, ALL_STAFF, "group"), (team_adoption, team, "team")):
        assert (await adoption.read(adoption_id)).record.adopted == 1
        request_id = await request_of(adoption, object_id)
        request = await adoption.estate.record(request_id)
        assert (request.state, request.kind) == (RequestState.SUCCEEDED, kind)
        # The first owner is recorded as the requester, with a display name.
        assert (request.created_by.id, request.created_by.display_name) == (ADA, "Ada Achterberg")
        assert request.result is not None
        assert (request.result.type, request.result.id) == (kind, object_id)
        shown = await adoption.estate.group(request_id)
        assert shown is not None
        assert shown.id == object_id
    assert (await guest_rules.record()).entry.request_id == await request_of(adoption, ALL_STAFF)
    again = await adoption.preview(AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP))
    assert (again.taken, again.conflict_counts) == ((), {"alreadyManaged": 2})


async def test_a_group_that_nobody_owns_is_refused_and_left_as_it_was(adoption: AdoptionFixture) -> None:
    group = await make_group(adoption.estate, "Crew", owners=())
    await guest_fixture(adoption.estate).discover()

    adoption_id = await adoption.confirm(chosen("crew", TemplateKind.GROUP, PROJECT_GROUP))
    await adoption.work()

    view = await adoption.read(adoption_id)
    assert (view.record.state, view.record.adopted, view.record.refused) == (AdoptionState.SUCCEEDED, 0, 1)
    assert [(each.item.id, each.conflict.code) for each in view.refused] == [(group, "noOwner")]
    has_mark = "SELECT extensions ? 'chamberlain_group' FROM directory.groups WHERE id = $1"
    assert await adoption.estate.rows(has_mark, group) == [(False,)]
    assert await adoption.estate.rows("SELECT value FROM chamberlain.reservation") == []


async def test_undone_everything_is_as_before(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(shared())
    await adoption.mailbox_before(plain())
    await make_group(adoption.estate, "Crew")
    guest_rules = guest_fixture(adoption.estate)
    await guest_rules.discover()
    groups = "SELECT id, extensions FROM directory.groups ORDER BY id"
    values = (
        "SELECT name, member, value FROM directory.extension_values "
        "UNION ALL SELECT name, member, value FROM directory.user_extension_values ORDER BY 1, 2, 3"
    )
    shown, records = await adoption.shown(), await adoption.records()
    marked = (await adoption.estate.rows(groups), await adoption.estate.rows(values))

    first, second = await adoption.confirm(), await adoption.confirm(AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP))
    await adoption.work()
    assert await adoption.shown() != shown
    await adoption.undo(first)
    await adoption.undo(second)
    await adoption.work()

    assert await adoption.shown() == shown
    assert (await adoption.estate.rows(groups), await adoption.estate.rows(values)) == marked
    after = await adoption.records()
    # Jobs that look around have run meanwhile.
    assert {**after, "job": []} == {**records, "job": []}
    assert (await guest_rules.record()).entry.request_id is None
    states = [(each.state, each.total, each.adopted, each.released) for each in await adoption.listed()]
    assert states == [(AdoptionState.UNDONE, 2, 2, 2), (AdoptionState.UNDONE, 2, 2, 2)]
    undone = (
        "SELECT data -> 'adoption' ->> 'id', data -> 'changedBy' ->> 'id' FROM chamberlain.event "
        "WHERE type = 'adoption.undone'"
    )
    assert sorted(await adoption.estate.rows(undone)) == sorted([(str(first), str(ADA)), (str(second), str(ADA))])
    # The names are free again.
    assert len((await adoption.preview()).taken) == 2


async def test_it_rejects_undoing_twice_and_what_is_not_there(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    await adoption.work()
    await adoption.undo(adoption_id)

    with pytest.raises(Conflict) as refused:
        await adoption.undo(adoption_id)
    assert refused.value.code == "stateDoesNotAllow"
    await adoption.work()
    with pytest.raises(Conflict):
        await adoption.undo(adoption_id)
    for ask in (adoption.undo, adoption.read):
        with pytest.raises(NotFound):
            await ask(AdoptionId(uuid4()))


async def test_it_rejects_what_was_not_shown(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    digest = (await adoption.preview()).digest
    await adoption.mailbox_before(plain())

    with pytest.raises(Conflict) as refused:
        await adoption.confirm(digest=digest)

    assert refused.value.code == "previewChanged"
    assert await adoption.listed() == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (AdoptionRule(TemplateKind.ROOM, SHARED_MAILBOX), "templateOfOtherKind"),
        (replace(RULE, template_id=TemplateId(UUID(int=1))), "templateUnknown"),
        (AdoptionRule(TemplateKind.GROUP, CONFIDENTIAL_TEAM), "templateOfOtherKind"),
        (chosen("nobody is called so"), "nothingToAdopt"),
    ],
)
async def test_it_rejects_rules_that_cannot_be(adoption: AdoptionFixture, rule: AdoptionRule, code: str) -> None:
    with pytest.raises(NotPossible) as refused:
        await adoption.confirm(rule)
    assert [fault.code for fault in refused.value.faults] == [code]


async def test_of_two_who_confirm_at_once_one_does(adoption: AdoptionFixture) -> None:
    for _ in range(5):
        await adoption.mailbox_before(plain())
    digest = (await adoption.preview()).digest

    ends = await asyncio.gather(*[adoption.confirm(digest=digest) for _ in range(3)], return_exceptions=True)
    await adoption.work()

    done = [end for end in ends if isinstance(end, UUID)]
    assert len(done) == 1
    assert {end.code for end in ends if isinstance(end, Conflict)} == {"previewChanged"}
    assert [each.adopted for each in await adoption.listed()] == [5]


async def test_the_same_key_confirms_once(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    digest = (await adoption.preview()).digest
    first = await adoption.confirm(digest=digest, key="once")
    await adoption.work()

    assert await adoption.confirm(digest=digest, key="once") == first
    assert len(await adoption.listed()) == 1


async def test_the_same_key_undoes_once(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    await adoption.work()
    first = await adoption.undo(adoption_id, key="once")
    await adoption.work()

    assert await adoption.undo(adoption_id, key="once") == replace(first, replayed=True)
    with pytest.raises(Conflict):
        await adoption.undo(adoption_id, key="twice")


async def test_a_mailbox_that_goes_meanwhile_is_reported_and_gives_its_names_back(adoption: AdoptionFixture) -> None:
    gone, there = await adoption.mailbox_before(plain()), await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    async with adoption.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.mailboxes WHERE user_id = $1", gone.id)

    await adoption.work()

    view = await adoption.read(adoption_id)
    assert (view.record.state, view.record.adopted, view.record.refused) == (AdoptionState.SUCCEEDED, 1, 1)
    assert [(each.item.id, each.conflict.code) for each in view.refused] == [(gone.id, "gone")]
    held = await adoption.estate.rows("SELECT value FROM chamberlain.reservation WHERE kind = 'address'")
    assert held == [(there.mail,)]


async def test_one_that_is_gone_when_it_is_undone_is_given_back_all_the_same(adoption: AdoptionFixture) -> None:
    gone = await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    await adoption.work()
    async with adoption.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.mailboxes WHERE user_id = $1", gone.id)

    await adoption.undo(adoption_id)
    await adoption.work()

    assert (await adoption.read(adoption_id)).record.state is AdoptionState.UNDONE
    assert await adoption.estate.rows("SELECT value FROM chamberlain.reservation") == []


async def test_undone_while_it_runs_nothing_stays(adoption: AdoptionFixture) -> None:
    slow = adoption_fixture(adoption.estate, page=2)
    for _ in range(5):
        await adoption.mailbox_before(plain())
    shown = await adoption.shown()
    adoption_id = await slow.confirm()

    class ConcurrentMark(AdoptionsWithFaults):
        """An adoption port that runs an action after the second page is marked."""

        async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
            came = await super().mark(markings)
            if len(self.marked) == 4:
                await slow.undo(adoption_id)
            return came

    await replace(slow, run=replace(slow.run, adoptions=ConcurrentMark(slow.port.adoptions))).work()
    await slow.work()

    view = await slow.read(adoption_id)
    assert (view.record.state, view.record.adopted, view.record.released) == (AdoptionState.UNDONE, 2, 5)
    assert await adoption.shown() == shown
    assert await adoption.estate.rows("SELECT request_id FROM chamberlain.request") == []
    assert await adoption.estate.rows("SELECT value FROM chamberlain.reservation") == []


async def test_what_a_bug_has_stopped_is_undone_all_the_same(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    shown = await adoption.shown()
    adoption_id = await adoption.confirm()
    held = "UPDATE chamberlain.job SET held_reason = 'A bug.', attempts = 20 WHERE kind = 'adoptionRun'"
    async with adoption.estate.databases.worker.across_tenants() as tx:
        await tx.execute(held)

    await adoption.undo(adoption_id)
    await adoption.work()

    assert (await adoption.read(adoption_id)).record.state is AdoptionState.UNDONE
    assert await adoption.shown() == shown
    assert await adoption.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'adoptionRun'") == []


@pytest.mark.parametrize("undone", [False, True], ids=["adopting", "undoing"])
async def test_killed_in_the_middle_it_is_finished_by_another(adoption: AdoptionFixture, *, undone: bool) -> None:
    for _ in range(5):
        await adoption.mailbox_before(shared())
    before = await adoption.shown()
    adoption_id = await adoption.confirm()
    if undone:
        await adoption.work()
        await adoption.undo(adoption_id)
    dying = adoption_fixture(adoption.estate, page=2)

    class CrashAfterMark(AdoptionsWithFaults):
        """The process ends behind it."""

        async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
            await super().mark(markings)
            raise InjectedCrash

        async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
            await super().unmark(markings)
            raise InjectedCrash

    with pytest.raises(InjectedCrash):
        await replace(dying, run=replace(dying.run, adoptions=CrashAfterMark(dying.port.adoptions))).work()
    await expire_leases(adoption.estate)
    await adoption.work()

    record = (await adoption.read(adoption_id)).record
    assert record.state is (AdoptionState.UNDONE if undone else AdoptionState.SUCCEEDED)
    assert (record.adopted, record.released) == (5, 5 if undone else 0)
    after = await adoption.shown()
    assert all(bool(one.marks) is not undone for one in after.values())
    assert {key: replace(one, marks={}) for key, one in after.items()} == before
    audited = await actions(adoption)
    assert audited.count("mailbox.adopt") == 5
    assert audited.count("mailbox.release") == (5 if undone else 0)


async def test_two_workers_at_one_job_write_everything_once(adoption: AdoptionFixture) -> None:
    for _ in range(3):
        await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    first = await adoption.estate.claim()
    await expire_leases(adoption.estate)
    second = await adoption.estate.claim()

    await asyncio.gather(adoption.run.run(first), adoption.run.run(second))
    await adoption.work()

    assert (await adoption.read(adoption_id)).record.adopted == 3
    assert (await actions(adoption)).count("mailbox.adopt") == 3
    assert len(await adoption.estate.rows("SELECT mailbox_id FROM chamberlain.mailbox")) == 3


async def test_it_handles_a_directory_that_asks_to_wait(adoption: AdoptionFixture) -> None:
    slow, quick = await adoption.mailbox_before(plain()), await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    adoption.port.faults[slow.id] = TryAgain(timedelta(seconds=30), "Slow down.")

    await adoption.work()

    assert (await adoption.read(adoption_id)).record.adopted == 1
    await request_of(adoption, quick.id)
    adoption.port.faults.clear()
    await adoption.work()
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.SUCCEEDED


async def test_it_handles_a_directory_that_is_away(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    away = TryAgain(timedelta(seconds=7), "Away.")
    adoption.port.error = away
    previewer = replace(adoption.service.previewer, directory=adoption.port)
    service = replace(adoption.service, previewer=previewer)

    with pytest.raises(Unavailable) as refused:
        await service.preview(administrator(ADA), RULE)
    assert (refused.value.code, refused.value.after) == ("overloaded", away.after)
    adoption_id = await adoption.confirm()
    await adoption.work()
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.RUNNING
    adoption.port.error = None
    await adoption.work()
    assert (await adoption.read(adoption_id)).record.adopted == 1


async def test_another_tenant_sees_and_takes_nothing_of_it(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    stranger = application("Mail.Config.ReadWrite.All", OTHER_HOUSE)

    with pytest.raises(NotFound):
        await adoption.service.read(stranger, adoption_id)
    with pytest.raises(NotFound):
        await adoption.undo(adoption_id, stranger)
    page = await adoption.port.mailboxes(OTHER_HOUSE, "chamberlain_mailbox", None)
    assert page.mailboxes == ()
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.RUNNING


async def test_it_rejects_callers_without_the_administrator_role(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    dara = administrator(DARA)

    for ask in (
        lambda: adoption.preview(caller=dara),
        lambda: adoption.confirm(caller=dara),
        lambda: adoption.undo(adoption_id, dara),
        lambda: adoption.service.read(dara, adoption_id),
    ):
        with pytest.raises(Forbidden) as refused:
            await ask()
        assert refused.value.code == "notAdministrator"


async def test_what_is_adopted_can_be_asked_for_no_more(adoption: AdoptionFixture) -> None:
    before = await adoption.mailbox_before(plain(name="Quay", mail="quay@estate.example"))
    await adoption.confirm()
    await adoption.work()

    with pytest.raises(Conflict) as refused:
        await adoption.estate.ask_mailbox({"name": "quay", "displayName": "Quay", "templateId": str(SHARED_MAILBOX)})

    assert refused.value.code in {"nameTaken", "addressTaken"}
    [shown] = await adoption.estate.directory.observe_mailboxes(
        [MailboxReference(ESTATE, "chamberlain_mailbox", await request_of(adoption, before.id))]
    )
    assert shown is not None


async def test_whoever_is_erased_is_named_in_no_adoption(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()

    await UserEraser(adoption.estate.databases.worker).erase(ADA, ESTATE, actor=OPERATOR, trace_id=TRACE)

    by = (await adoption.read(adoption_id)).record.editor.actor
    assert (by.id, by.display_name) == (ADA, "")


async def test_it_handles_a_difficult_directory(adoption: AdoptionFixture) -> None:
    there = await adoption.mailbox_before(shared())
    injection = Injection(Faults(throttle=2), lambda: datetime.now(UTC))
    faulty = FaultyAdoptions(adoption.estate.databases.worker.pool, injection)
    difficult = replace(adoption, run=replace(adoption.run, adoptions=faulty))
    adoption_id = await adoption.confirm()

    for _ in range(3):
        await difficult.work()
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.SUCCEEDED
    await adoption.undo(adoption_id)
    for _ in range(3):
        await difficult.work()

    assert (await adoption.read(adoption_id)).record.state is AdoptionState.UNDONE
    assert (await adoption.shown())[there.id].marks == {}


@pytest.mark.heavy
async def test_many_are_taken_page_by_page(adoption: AdoptionFixture) -> None:
    for _ in range(3):
        await adoption.estate.directory.ensure_mailboxes([elsewhere(plain()) for _ in range(200)])

    adoption_id = await adoption.confirm()
    await adoption.work()

    # Twelve pages of fifty, in one run of the job.
    record = (await adoption.read(adoption_id)).record
    assert (record.state, record.total, record.adopted) == (AdoptionState.SUCCEEDED, 600, 600)


async def test_what_is_adopted_is_compared_from_then_on(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(shared(name="Desk", mail="desk@estate.example"))
    await adoption.mailbox_before(room())
    await make_group(adoption.estate, "Crew", channels=("General", "Planning"))
    await guest_fixture(adoption.estate).discover()
    drift = drift_fixture(adoption.estate)
    adoptions = [
        await adoption.confirm(rule)
        for rule in (
            RULE,
            AdoptionRule(TemplateKind.ROOM, ROOM_MAILBOX),
            AdoptionRule(TemplateKind.TEAM, PROJECT_TEAM),
            AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP),
        )
    ]
    await adoption.work()
    await drift.check_all()
    # An object is in its desired state right after its adoption.
    assert [(each.property, each.subject.display_name) for each in await drift.records()] == []

    await drift.change("UPDATE directory.users SET properties = '{\"city\": \"Elsewhere\"}' WHERE mail LIKE 'desk%'")
    await drift.check_all()
    found = {each.property for each in await drift.records()}
    assert "city" in found
    for adoption_id in adoptions:
        await adoption.undo(adoption_id)
    await adoption.work()

    # An object that is no longer managed is not compared.
    await drift.check_all()
    assert {each.state for each in await drift.records()} == {FindingState.GONE}


async def test_nothing_is_remembered_of_repairs_of_what_was_given_back(adoption: AdoptionFixture) -> None:
    group = await make_group(adoption.estate, "Crew")
    await guest_fixture(adoption.estate).discover()
    adoption_id = await adoption.confirm(chosen("crew", TemplateKind.GROUP, PROJECT_GROUP))
    await adoption.work()
    drift = drift_fixture(adoption.estate)
    await drift.set_repair()
    await drift.change("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", group, BEN)
    await drift.check_all()
    known = "SELECT about FROM chamberlain.drift_repair WHERE subject_id = $1 ORDER BY about"
    assert await adoption.estate.rows(known, group) == [("owners",)]
    # An assignment of a group is compared, whether or not the group is managed.
    copy = (
        "INSERT INTO chamberlain.drift_repair "
        "SELECT tenant_id, subject_id, 'policyId', repairs, digest, found_at, has_given_up "
        "FROM chamberlain.drift_repair"
    )
    await drift.change(copy)

    await adoption.undo(adoption_id)
    await adoption.work()

    assert await adoption.estate.rows(known, group) == [("policyId",)]


@dataclass
class ConcurrentChangeDirectory(FaultyDirectory):
    """A directory that runs an action once, just after a read."""

    act: Callable[[], Awaitable[object]] | None = None

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        return await self._then(await super().observe(references))

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return await self._then(await super().observe_mailboxes(references))

    async def _then(self, shown: Sequence[Shown]) -> Sequence[Shown]:
        act, self.act = self.act, None
        if act is not None:
            await act()
        return shown


@pytest.mark.parametrize("rule", [RULE, AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP)], ids=["mailbox", "group"])
@pytest.mark.parametrize("repairs", [False, True], ids=["told", "repaired"])
async def test_undone_while_it_is_compared_nothing_is_found(
    adoption: AdoptionFixture, rule: AdoptionRule, *, repairs: bool
) -> None:
    there = await adoption.mailbox_before(shared())
    group = await make_group(adoption.estate, "Crew")
    await guest_fixture(adoption.estate).discover()
    adoption_id = await adoption.confirm(rule)
    await adoption.work()
    drift = drift_fixture(adoption.estate)
    await drift.set_repair(drift=repairs)
    await drift.change('UPDATE directory.users SET properties = \'{"city": "Elsewhere"}\' WHERE id = $1', there.id)
    await drift.change("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", group, BEN)

    async def undo() -> None:
        await adoption.undo(adoption_id)
        await adoption.work()

    overtaken = ConcurrentChangeDirectory(adoption.estate.directory, act=undo)
    await replace(drift, jobs=replace(drift.jobs, directory=overtaken)).check_all()

    assert [(each.kind, each.property) for each in await drift.records()] == []
    assert (overtaken.ensured, overtaken.ensured_mailboxes) == ([], [])
    assert await adoption.estate.rows("SELECT subject_id FROM chamberlain.drift_repair") == []


async def test_what_is_called_otherwise_by_now_is_refused(adoption: AdoptionFixture) -> None:
    renamed, same = await adoption.mailbox_before(plain()), await adoption.mailbox_before(plain())
    group = await make_group(adoption.estate, "Crew")
    await guest_fixture(adoption.estate).discover()
    adoptions = [
        await adoption.confirm(RULE),
        await adoption.confirm(chosen("crew", TemplateKind.GROUP, PROJECT_GROUP)),
    ]
    async with adoption.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE directory.users SET mail = 'another@estate.example' WHERE id = $1", renamed.id)
        await tx.execute("UPDATE directory.groups SET mail = 'other@estate.example' WHERE id = $1", group)

    await adoption.work()

    views = [await adoption.read(adoption_id) for adoption_id in adoptions]
    assert [[(each.item.id, each.conflict.code) for each in view.refused] for view in views] == [
        [(renamed.id, "changedSince")],
        [(group, "changedSince")],
    ]
    assert {one.id for one in (await adoption.shown()).values() if one.marks} == {same.id}
    assert await adoption.estate.rows("SELECT DISTINCT kind FROM chamberlain.request") == [("shared",)]


async def test_what_is_at_no_domain_of_ours_by_now_is_refused(adoption: AdoptionFixture) -> None:
    moved = await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    async with adoption.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE directory.users SET mail = 'sales@elsewhere.example' WHERE id = $1", moved.id)

    await adoption.work()

    assert [each.conflict.code for each in (await adoption.read(adoption_id)).refused] == ["domainNotVerified"]
    assert (await adoption.shown())[moved.id].marks == {}


@dataclass
class LaggingDirectory(FaultyDirectory):
    """A directory whose search does not show what was just written."""

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return [None for _ in references]


async def test_what_the_search_shows_late_is_waited_for(adoption: AdoptionFixture) -> None:
    there = await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    lagging = LaggingDirectory(adoption.estate.directory)

    await replace(adoption, run=replace(adoption.run, directory=lagging)).work()

    record = (await adoption.read(adoption_id)).record
    assert (record.state, record.refused) == (AdoptionState.RUNNING, 0)
    await adoption.work()
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.SUCCEEDED
    await request_of(adoption, there.id)


async def test_what_the_search_never_shows_is_refused_after_a_day(adoption: AdoptionFixture) -> None:
    there = await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    blind = replace(adoption, run=replace(adoption.run, directory=LaggingDirectory(adoption.estate.directory)))

    await blind.work()
    adoption.estate.moment += timedelta(days=1)
    await blind.work()

    view = await adoption.read(adoption_id)
    assert view.record.state is AdoptionState.SUCCEEDED
    assert [each.conflict.code for each in view.refused] == ["gone"]
    assert (await adoption.shown())[there.id].marks == {}


async def test_those_that_wait_keep_nobody_else_waiting_and_do_not_wait_for_ever(adoption: AdoptionFixture) -> None:
    narrow = adoption_fixture(adoption.estate, page=2)
    there = sorted([(await narrow.mailbox_before(plain())).id for _ in range(6)])
    adoption_id = await narrow.confirm()
    for slow in there[:3]:
        narrow.port.faults[slow] = TryAgain(timedelta(seconds=30), "Slow down.")

    await narrow.work()
    assert (await narrow.read(adoption_id)).record.adopted == 3
    adoption.estate.moment += timedelta(days=1)
    await narrow.work()

    view = await narrow.read(adoption_id)
    assert (view.record.state, view.record.refused) == (AdoptionState.SUCCEEDED, 3)
    assert {(each.item.id, each.conflict.code) for each in view.refused} == {(each, "noAnswer") for each in there[:3]}
    # Undone it goes on in the same way.
    narrow.port.faults = {there[3]: TryAgain(timedelta(seconds=30), "Slow down.")}
    await narrow.undo(adoption_id)
    await narrow.work()
    assert (await narrow.read(adoption_id)).record.released == 2


async def test_a_mark_that_the_directory_keeps_ends_the_undoing_after_a_day_and_is_reported(
    adoption: AdoptionFixture,
) -> None:
    stuck, other = await adoption.mailbox_before(plain()), await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    adoption.port.faults[stuck.id] = TryAgain(timedelta(seconds=30), "Slow down.")
    await adoption.work()
    adoption.port.faults.clear()
    await adoption.work()
    # It has waited for its mark; that says nothing about how long it waits to lose it.
    adoption.estate.moment += timedelta(days=1)
    adoption.port.faults[stuck.id] = TryAgain(timedelta(seconds=30), "Slow down.")
    await adoption.undo(adoption_id)

    await adoption.work()
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.UNDOING
    adoption.estate.moment += timedelta(days=1)
    await adoption.work()

    view = await adoption.read(adoption_id)
    assert (view.record.state, view.record.released) == (AdoptionState.UNDONE, 2)
    assert [(each.item.id, each.conflict.code) for each in view.refused] == [(stuck.id, "markStays")]
    marks = {key: bool(one.marks) for key, one in (await adoption.shown()).items()}
    assert marks == {stuck.id: True, other.id: False}
    assert await adoption.estate.rows("SELECT request_id FROM chamberlain.request") == []
    assert await adoption.estate.rows("SELECT value FROM chamberlain.reservation") == []
    assert await adoption.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'adoptionRun'") == []


@dataclass
class DelayedUnmark(AdoptionsWithFaults):
    """A directory that takes marks, and asks to wait whenever one is to be taken away."""

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return [TryAgain(timedelta(seconds=30), "Slow down.") for _ in markings]


async def test_one_that_is_refused_and_keeps_its_mark_keeps_nobody_else_waiting(adoption: AdoptionFixture) -> None:
    nobodys = await make_group(adoption.estate, "Nobodys", owners=())
    taken = await make_group(adoption.estate, "Crew")
    await guest_fixture(adoption.estate).discover()
    adoption_id = await adoption.confirm(chosen("", TemplateKind.GROUP, PROJECT_GROUP))
    keeping = replace(adoption, run=replace(adoption.run, adoptions=DelayedUnmark(adoption.port.adoptions)))

    await keeping.work()
    await request_of(adoption, taken)
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.RUNNING
    adoption.estate.moment += timedelta(days=2)
    await keeping.work()

    view = await adoption.read(adoption_id)
    assert view.record.state is AdoptionState.SUCCEEDED
    [refused] = [each for each in view.refused if each.item.id == nobodys]
    assert refused.conflict.code == "noOwner"
    assert "mark" in refused.conflict.detail


async def test_the_audit_trail_says_who_took_and_who_gave_back(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm()
    await adoption.work()
    program = application("Mail.Config.ReadWrite.All")

    await adoption.undo(adoption_id, program)
    await adoption.work()

    statement = (
        "SELECT action, payload::json -> 'actor' ->> 'type' FROM chamberlain.audit "
        "WHERE action LIKE 'mailbox.%' OR action LIKE 'adoption.%' ORDER BY sequence"
    )
    assert await adoption.estate.rows(statement) == [
        ("adoption.confirm", "user"),
        ("mailbox.adopt", "user"),
        ("adoption.undo", "application"),
        ("mailbox.release", "application"),
    ]


async def test_the_call_is_on_record_with_its_address_and_the_work_without(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    adoption_id = await adoption.confirm(client_address="192.0.2.1")
    await adoption.work()
    await adoption.undo(adoption_id, client_address="192.0.2.2")
    await adoption.work()

    statement = (
        "SELECT action, payload::json ->> 'clientAddress' FROM chamberlain.audit "
        "WHERE action LIKE 'mailbox.%' OR action LIKE 'adoption.%' ORDER BY sequence"
    )
    assert await adoption.estate.rows(statement) == [
        ("adoption.confirm", "192.0.2.1"),
        ("mailbox.adopt", None),
        ("adoption.undo", "192.0.2.2"),
        ("mailbox.release", None),
    ]


async def test_marks_are_found_again_when_the_tenant_has_another_prefix(adoption: AdoptionFixture) -> None:
    await adoption.mailbox_before(plain())
    shown = await adoption.shown()
    adoption_id = await adoption.confirm()
    async with adoption.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.tenant SET extension_prefix = 'other' WHERE tenant_id = $1", ESTATE)
    await adoption.work()
    assert await adoption.shown() != shown

    await adoption.undo(adoption_id)
    await adoption.work()

    assert await adoption.shown() == shown
    assert (await adoption.read(adoption_id)).record.state is AdoptionState.UNDONE
