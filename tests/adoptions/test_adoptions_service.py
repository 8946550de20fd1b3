"""Adoptions: what was there before is shown, taken, and given back, whoever does what meanwhile."""

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
from chamberlain.directory.embedded import FaultyAdoptions
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
from tests.adoptions.adopters import RULE, Adopter, TroubledAdoptions, adopter_of, chosen, elsewhere, make_group
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
from tests.guests.assignments.stewards import ALL_STAFF, expire_leases, steward_of
from tests.queue.deadly import Killed
from tests.requests.acts import administrator, application
from tests.troubles import TroubledDirectory

Shown = TypeVar("Shown")


@pytest.fixture
async def adopter(estate: Estate) -> Adopter:
    return adopter_of(estate)


async def record_of(adopter: Adopter, request_id: RequestId) -> MailboxRecord | None:
    async with adopter.estate.databases.application.transaction(ESTATE) as tx:
        return await mailbox_records.find_of_request(tx, request_id)


async def request_of(adopter: Adopter, object_id: UUID) -> RequestId:
    [[request_id]] = await adopter.estate.rows(
        "SELECT request_id FROM chamberlain.adoption_item WHERE object_id = $1 AND state = 'adopted'", object_id
    )
    assert isinstance(request_id, UUID)
    return RequestId(request_id)


async def actions(adopter: Adopter) -> list[str]:
    statement = "SELECT action FROM chamberlain.audit WHERE tenant_id = $1 ORDER BY sequence"
    found = await adopter.estate.rows(statement, ESTATE)
    return [str(action) for [action] in found if not str(action).startswith(("template", "policy", "tenant", "token"))]


async def test_it_works(adopter: Adopter) -> None:
    before = await adopter.mailbox_before(shared())
    shown = await adopter.shown()

    adoption_id = await adopter.confirm()
    await adopter.work()

    view = await adopter.read(adoption_id)
    assert (view.record.state, view.record.total, view.record.adopted) == (AdoptionState.SUCCEEDED, 1, 1)
    request_id = await request_of(adopter, before.id)
    # In the directory nothing has changed but the mark.
    after = (await adopter.shown())[before.id]
    assert after.marks == {"requestId": str(request_id)}
    assert replace(after, marks={}) == shown[before.id]
    # The records are those of a mailbox that was asked for.
    record = await record_of(adopter, request_id)
    assert record is not None
    assert (record.provisioning_state, record.mail) == (ProvisioningState.ACTIVE, before.mail)
    order = record.order
    assert (order.name, order.capacity, order.notes) == (before.name, 500, before.address_fields.notes)
    request = await adopter.estate.record(request_id)
    assert (request.state, request.kind) == (RequestState.SUCCEEDED, "shared")
    assert request.result is not None
    assert request.result.id == record.id
    assert await actions(adopter) == ["adoption.confirm", "mailbox.adopt"]
    # Nobody is told by an event, and nothing is left to be done.
    assert await adopter.estate.rows("SELECT type FROM chamberlain.event") == []
    assert await adopter.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'adoptionRun'") == []


async def test_a_preview_writes_nothing_and_says_what_stands_against_whom(adopter: Adopter) -> None:
    there, of_other_type = await adopter.mailbox_before(plain()), await adopter.mailbox_before(room())
    asked = await adopter.estate.ask_mailbox({"name": "Info", "displayName": "Info", "templateId": str(SHARED_MAILBOX)})
    await adopter.estate.work()
    before = await adopter.records()

    preview = await adopter.preview()

    assert [one.id for one in preview.taken] == [there.id]
    assert {one.id: conflict.code for one, conflict in preview.conflicts} == {
        of_other_type.id: "typeDiffers",
        (await managed(adopter, asked.accepted.request_id)).id: "alreadyManaged",
    }
    assert await adopter.records() == before
    assert await adopter.estate.rows("SELECT state FROM chamberlain.adoption") == []


async def managed(adopter: Adopter, request_id: RequestId) -> ObservedMailbox:
    found = await adopter.estate.mailbox(request_id)
    assert found is not None
    return found


async def test_names_that_are_given_away_are_conflicts(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain(name="Info"))
    await adopter.mailbox_before(plain(mail="sales@estate.example", name="Other"))
    # Neither is in the directory under our mark yet: both are waited for.
    await adopter.estate.ask_mailbox({"name": "INFO", "displayName": "Info", "templateId": str(SHARED_MAILBOX)})
    [row] = await adopter.estate.rows("SELECT request_id FROM chamberlain.request")
    async with adopter.estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.reservation VALUES ($1, 'address', 'sales@estate.example', $2)", ESTATE, row[0]
        )

    preview = await adopter.preview()

    assert preview.conflict_counts == {"addressTaken": 1, "nameTaken": 1}


async def test_what_it_lacks_of_the_template_is_told(adopter: Adopter) -> None:
    there = await adopter.mailbox_before(room(books_automatically=False))

    preview = await adopter.preview(AdoptionRule(TemplateKind.ROOM, ROOM_MAILBOX))

    assert [(one.id, one.differences) for one in preview.taken] == [(there.id, (Step.SET_BOOKING,))]


async def test_a_group_and_a_team_are_taken_as_they_are(adopter: Adopter) -> None:
    team = await make_group(adopter.estate, "Crew", channels=("General",))
    steward = steward_of(adopter.estate)
    await steward.look_around()

    group_adoption = await adopter.confirm(AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP))
    team_adoption = await adopter.confirm(AdoptionRule(TemplateKind.TEAM, PROJECT_TEAM))
    await adopter.work()

    for adoption_id, object_id, kind in ((group_adoption, ALL_STAFF, "group"), (team_adoption, team, "team")):
        assert (await adopter.read(adoption_id)).record.adopted == 1
        request_id = await request_of(adopter, object_id)
        request = await adopter.estate.record(request_id)
        assert (request.state, request.kind) == (RequestState.SUCCEEDED, kind)
        # The first owner stands for whoever asked, and is called by name.
        assert (request.created_by.id, request.created_by.display_name) == (ADA, "Ada Achterberg")
        assert request.result is not None
        assert (request.result.type, request.result.id) == (kind, object_id)
        shown = await adopter.estate.group(request_id)
        assert shown is not None
        assert shown.id == object_id
    assert (await steward.record()).entry.request_id == await request_of(adopter, ALL_STAFF)
    again = await adopter.preview(AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP))
    assert (again.taken, again.conflict_counts) == ((), {"alreadyManaged": 2})


async def test_a_group_that_nobody_owns_is_refused_and_left_as_it_was(adopter: Adopter) -> None:
    group = await make_group(adopter.estate, "Crew", owners=())
    await steward_of(adopter.estate).look_around()

    adoption_id = await adopter.confirm(chosen("crew", TemplateKind.GROUP, PROJECT_GROUP))
    await adopter.work()

    view = await adopter.read(adoption_id)
    assert (view.record.state, view.record.adopted, view.record.refused) == (AdoptionState.SUCCEEDED, 0, 1)
    assert [(each.item.id, each.conflict.code) for each in view.refused] == [(group, "noOwner")]
    has_mark = "SELECT extensions ? 'chamberlain_group' FROM directory.groups WHERE id = $1"
    assert await adopter.estate.rows(has_mark, group) == [(False,)]
    assert await adopter.estate.rows("SELECT value FROM chamberlain.reservation") == []


async def test_undone_everything_is_as_before(adopter: Adopter) -> None:
    await adopter.mailbox_before(shared())
    await adopter.mailbox_before(plain())
    await make_group(adopter.estate, "Crew")
    steward = steward_of(adopter.estate)
    await steward.look_around()
    groups = "SELECT id, extensions FROM directory.groups ORDER BY id"
    values = (
        "SELECT name, member, value FROM directory.extension_values "
        "UNION ALL SELECT name, member, value FROM directory.user_extension_values ORDER BY 1, 2, 3"
    )
    shown, records = await adopter.shown(), await adopter.records()
    marked = (await adopter.estate.rows(groups), await adopter.estate.rows(values))

    first, second = await adopter.confirm(), await adopter.confirm(AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP))
    await adopter.work()
    assert await adopter.shown() != shown
    await adopter.undo(first)
    await adopter.undo(second)
    await adopter.work()

    assert await adopter.shown() == shown
    assert (await adopter.estate.rows(groups), await adopter.estate.rows(values)) == marked
    after = await adopter.records()
    # Jobs that look around have run meanwhile.
    assert {**after, "job": []} == {**records, "job": []}
    assert (await steward.record()).entry.request_id is None
    states = [(each.state, each.total, each.adopted, each.released) for each in await adopter.listed()]
    assert states == [(AdoptionState.UNDONE, 2, 2, 2), (AdoptionState.UNDONE, 2, 2, 2)]
    # The names are free again.
    assert len((await adopter.preview()).taken) == 2


async def test_it_rejects_undoing_twice_and_what_is_not_there(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    await adopter.work()
    await adopter.undo(adoption_id)

    with pytest.raises(Conflict) as refused:
        await adopter.undo(adoption_id)
    assert refused.value.code == "stateDoesNotAllow"
    await adopter.work()
    with pytest.raises(Conflict):
        await adopter.undo(adoption_id)
    for ask in (adopter.undo, adopter.read):
        with pytest.raises(NotFound):
            await ask(AdoptionId(uuid4()))


async def test_it_rejects_what_was_not_shown(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    digest = (await adopter.preview()).digest
    await adopter.mailbox_before(plain())

    with pytest.raises(Conflict) as refused:
        await adopter.confirm(digest=digest)

    assert refused.value.code == "previewChanged"
    assert await adopter.listed() == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (AdoptionRule(TemplateKind.ROOM, SHARED_MAILBOX), "templateOfOtherKind"),
        (replace(RULE, template_id=TemplateId(UUID(int=1))), "templateUnknown"),
        (AdoptionRule(TemplateKind.GROUP, CONFIDENTIAL_TEAM), "templateOfOtherKind"),
        (chosen("nobody is called so"), "nothingToAdopt"),
    ],
)
async def test_it_rejects_rules_that_cannot_be(adopter: Adopter, rule: AdoptionRule, code: str) -> None:
    with pytest.raises(NotPossible) as refused:
        await adopter.confirm(rule)
    assert [fault.code for fault in refused.value.faults] == [code]


async def test_of_two_who_confirm_at_once_one_does(adopter: Adopter) -> None:
    for _ in range(5):
        await adopter.mailbox_before(plain())
    digest = (await adopter.preview()).digest

    ends = await asyncio.gather(*[adopter.confirm(digest=digest) for _ in range(3)], return_exceptions=True)
    await adopter.work()

    done = [end for end in ends if isinstance(end, UUID)]
    assert len(done) == 1
    assert {end.code for end in ends if isinstance(end, Conflict)} == {"previewChanged"}
    assert [each.adopted for each in await adopter.listed()] == [5]


async def test_the_same_key_confirms_once(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    digest = (await adopter.preview()).digest
    first = await adopter.confirm(digest=digest, key="once")
    await adopter.work()

    assert await adopter.confirm(digest=digest, key="once") == first
    assert len(await adopter.listed()) == 1


async def test_a_mailbox_that_goes_meanwhile_is_told_and_gives_its_names_back(adopter: Adopter) -> None:
    gone, there = await adopter.mailbox_before(plain()), await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    async with adopter.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.mailboxes WHERE user_id = $1", gone.id)

    await adopter.work()

    view = await adopter.read(adoption_id)
    assert (view.record.state, view.record.adopted, view.record.refused) == (AdoptionState.SUCCEEDED, 1, 1)
    assert [(each.item.id, each.conflict.code) for each in view.refused] == [(gone.id, "gone")]
    held = await adopter.estate.rows("SELECT value FROM chamberlain.reservation WHERE kind = 'address'")
    assert held == [(there.mail,)]


async def test_one_that_is_gone_when_it_is_undone_is_given_back_all_the_same(adopter: Adopter) -> None:
    gone = await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    await adopter.work()
    async with adopter.estate.databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.mailboxes WHERE user_id = $1", gone.id)

    await adopter.undo(adoption_id)
    await adopter.work()

    assert (await adopter.read(adoption_id)).record.state is AdoptionState.UNDONE
    assert await adopter.estate.rows("SELECT value FROM chamberlain.reservation") == []


async def test_undone_while_it_runs_nothing_stays(adopter: Adopter) -> None:
    slow = adopter_of(adopter.estate, page=2)
    for _ in range(5):
        await adopter.mailbox_before(plain())
    shown = await adopter.shown()
    adoption_id = await slow.confirm()

    class Meanwhile(TroubledAdoptions):
        """Somebody acts just after the second page was marked."""

        async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
            came = await super().mark(markings)
            if len(self.marked) == 4:
                await slow.undo(adoption_id)
            return came

    await replace(slow, run=replace(slow.run, adoptions=Meanwhile(slow.port.adoptions))).work()
    await slow.work()

    view = await slow.read(adoption_id)
    assert (view.record.state, view.record.adopted, view.record.released) == (AdoptionState.UNDONE, 2, 5)
    assert await adopter.shown() == shown
    assert await adopter.estate.rows("SELECT request_id FROM chamberlain.request") == []
    assert await adopter.estate.rows("SELECT value FROM chamberlain.reservation") == []


async def test_what_a_bug_has_stopped_is_undone_all_the_same(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    shown = await adopter.shown()
    adoption_id = await adopter.confirm()
    held = "UPDATE chamberlain.job SET held_reason = 'A bug.', attempts = 20 WHERE kind = 'adoptionRun'"
    async with adopter.estate.databases.worker.across_tenants() as tx:
        await tx.execute(held)

    await adopter.undo(adoption_id)
    await adopter.work()

    assert (await adopter.read(adoption_id)).record.state is AdoptionState.UNDONE
    assert await adopter.shown() == shown
    assert await adopter.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'adoptionRun'") == []


@pytest.mark.parametrize("undone", [False, True], ids=["adopting", "undoing"])
async def test_killed_in_the_middle_it_is_finished_by_another(adopter: Adopter, *, undo_change: bool) -> None:
    for _ in range(5):
        await adopter.mailbox_before(shared())
    before = await adopter.shown()
    adoption_id = await adopter.confirm()
    if undo_change:
        await adopter.work()
        await adopter.undo(adoption_id)
    dying = adopter_of(adopter.estate, page=2)

    class Deadly(TroubledAdoptions):
        """The process ends behind it."""

        async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
            await super().mark(markings)
            raise Killed

        async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
            await super().unmark(markings)
            raise Killed

    with pytest.raises(Killed):
        await replace(dying, run=replace(dying.run, adoptions=Deadly(dying.port.adoptions))).work()
    await expire_leases(adopter.estate)
    await adopter.work()

    record = (await adopter.read(adoption_id)).record
    assert record.state is (AdoptionState.UNDONE if undo_change else AdoptionState.SUCCEEDED)
    assert (record.adopted, record.released) == (5, 5 if undo_change else 0)
    after = await adopter.shown()
    assert all(bool(one.marks) is not undo_change for one in after.values())
    assert {key: replace(one, marks={}) for key, one in after.items()} == before
    audited = await actions(adopter)
    assert audited.count("mailbox.adopt") == 5
    assert audited.count("mailbox.release") == (5 if undo_change else 0)


async def test_two_workers_at_one_job_write_everything_once(adopter: Adopter) -> None:
    for _ in range(3):
        await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    first = await adopter.estate.claim()
    await expire_leases(adopter.estate)
    second = await adopter.estate.claim()

    await asyncio.gather(adopter.run.run(first), adopter.run.run(second))
    await adopter.work()

    assert (await adopter.read(adoption_id)).record.adopted == 3
    assert (await actions(adopter)).count("mailbox.adopt") == 3
    assert len(await adopter.estate.rows("SELECT mailbox_id FROM chamberlain.mailbox")) == 3


async def test_it_handles_a_directory_that_asks_to_wait(adopter: Adopter) -> None:
    slow, quick = await adopter.mailbox_before(plain()), await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    adopter.port.faults[slow.id] = TryAgain(timedelta(seconds=30), "Slow down.")

    await adopter.work()

    assert (await adopter.read(adoption_id)).record.adopted == 1
    await request_of(adopter, quick.id)
    adopter.port.faults.clear()
    await adopter.work()
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.SUCCEEDED


async def test_it_handles_a_directory_that_is_away(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    away = TryAgain(timedelta(seconds=7), "Away.")
    adopter.port.trouble = away
    previewer = replace(adopter.service.previewer, directory=adopter.port)
    service = replace(adopter.service, previewer=previewer)

    with pytest.raises(Unavailable) as refused:
        await service.preview(administrator(ADA), RULE)
    assert refused.value.after == away.after
    adoption_id = await adopter.confirm()
    await adopter.work()
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.RUNNING
    adopter.port.trouble = None
    await adopter.work()
    assert (await adopter.read(adoption_id)).record.adopted == 1


async def test_another_tenant_sees_and_takes_nothing_of_it(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    stranger = application("Mail.Config.ReadWrite.All", OTHER_HOUSE)

    with pytest.raises(NotFound):
        await adopter.service.read(stranger, adoption_id)
    with pytest.raises(NotFound):
        await adopter.undo(adoption_id, stranger)
    page = await adopter.port.mailboxes(OTHER_HOUSE, "chamberlain_mailbox", None)
    assert page.mailboxes == ()
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.RUNNING


async def test_it_rejects_whoever_is_no_administrator(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    dara = administrator(DARA)

    for ask in (
        lambda: adopter.preview(caller=dara),
        lambda: adopter.confirm(caller=dara),
        lambda: adopter.undo(adoption_id, dara),
        lambda: adopter.service.read(dara, adoption_id),
    ):
        with pytest.raises(Forbidden) as refused:
            await ask()
        assert refused.value.code == "notAdministrator"


async def test_what_is_adopted_can_be_asked_for_no_more(adopter: Adopter) -> None:
    before = await adopter.mailbox_before(plain(name="Quay", mail="quay@estate.example"))
    await adopter.confirm()
    await adopter.work()

    with pytest.raises(Conflict) as refused:
        await adopter.estate.ask_mailbox({"name": "quay", "displayName": "Quay", "templateId": str(SHARED_MAILBOX)})

    assert refused.value.code in {"nameTaken", "addressTaken"}
    [shown] = await adopter.estate.directory.observe_mailboxes(
        [MailboxReference(ESTATE, "chamberlain_mailbox", await request_of(adopter, before.id))]
    )
    assert shown is not None


async def test_whoever_is_erased_is_named_in_no_adoption(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()

    await UserEraser(adopter.estate.databases.worker).erase(ADA, ESTATE, actor=OPERATOR, trace_id=TRACE)

    by = (await adopter.read(adoption_id)).record.editor.actor
    assert (by.id, by.display_name) == (ADA, "")


async def test_it_handles_a_difficult_directory(adopter: Adopter) -> None:
    there = await adopter.mailbox_before(shared())
    injection = Injection(Faults(throttle=2), lambda: datetime.now(UTC))
    faulty = FaultyAdoptions(adopter.estate.databases.worker.pool, injection)
    difficult = replace(adopter, run=replace(adopter.run, adoptions=faulty))
    adoption_id = await adopter.confirm()

    for _ in range(3):
        await difficult.work()
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.SUCCEEDED
    await adopter.undo(adoption_id)
    for _ in range(3):
        await difficult.work()

    assert (await adopter.read(adoption_id)).record.state is AdoptionState.UNDONE
    assert (await adopter.shown())[there.id].marks == {}


async def test_many_are_taken_page_by_page(adopter: Adopter) -> None:
    for _ in range(3):
        await adopter.estate.directory.ensure_mailboxes([elsewhere(plain()) for _ in range(200)])

    adoption_id = await adopter.confirm()
    await adopter.work()

    # Twelve pages of fifty, in one run of the job.
    record = (await adopter.read(adoption_id)).record
    assert (record.state, record.total, record.adopted) == (AdoptionState.SUCCEEDED, 600, 600)


async def test_what_is_adopted_is_compared_from_then_on(adopter: Adopter) -> None:
    await adopter.mailbox_before(shared(name="Desk", mail="desk@estate.example"))
    await adopter.mailbox_before(room())
    await make_group(adopter.estate, "Crew", channels=("General", "Planning"))
    await steward_of(adopter.estate).look_around()
    drift = drift_fixture(adopter.estate)
    adoptions = [
        await adopter.confirm(rule)
        for rule in (
            RULE,
            AdoptionRule(TemplateKind.ROOM, ROOM_MAILBOX),
            AdoptionRule(TemplateKind.TEAM, PROJECT_TEAM),
            AdoptionRule(TemplateKind.GROUP, PROJECT_GROUP),
        )
    ]
    await adopter.work()
    await drift.check_all()
    # What was just taken is as it is wanted.
    assert [(each.property, each.subject.display_name) for each in await drift.records()] == []

    await drift.change("UPDATE directory.users SET properties = '{\"city\": \"Elsewhere\"}' WHERE mail LIKE 'desk%'")
    await drift.check_all()
    found = {each.property for each in await drift.records()}
    assert "city" in found
    for adoption_id in adoptions:
        await adopter.undo(adoption_id)
    await adopter.work()

    # What is not managed any more is not compared.
    await drift.check_all()
    assert {each.state for each in await drift.records()} == {FindingState.GONE}


async def test_nothing_is_remembered_of_repairs_of_what_was_given_back(adopter: Adopter) -> None:
    group = await make_group(adopter.estate, "Crew")
    await steward_of(adopter.estate).look_around()
    adoption_id = await adopter.confirm(chosen("crew", TemplateKind.GROUP, PROJECT_GROUP))
    await adopter.work()
    drift = drift_fixture(adopter.estate)
    await drift.set_repair()
    await drift.change("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", group, BEN)
    await drift.check_all()
    known = "SELECT about FROM chamberlain.drift_repair WHERE subject_id = $1 ORDER BY about"
    assert await adopter.estate.rows(known, group) == [("owners",)]
    # What is assigned to a group is compared whoever manages it.
    copy = (
        "INSERT INTO chamberlain.drift_repair "
        "SELECT tenant_id, subject_id, 'policyId', repairs, digest, found_at, has_given_up "
        "FROM chamberlain.drift_repair"
    )
    await drift.change(copy)

    await adopter.undo(adoption_id)
    await adopter.work()

    assert await adopter.estate.rows(known, group) == [("policyId",)]


@dataclass
class Overtaken(TroubledDirectory):
    """Somebody acts just after it was looked at, once."""

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
    adopter: Adopter, rule: AdoptionRule, *, repairs: bool
) -> None:
    there = await adopter.mailbox_before(shared())
    group = await make_group(adopter.estate, "Crew")
    await steward_of(adopter.estate).look_around()
    adoption_id = await adopter.confirm(rule)
    await adopter.work()
    drift = drift_fixture(adopter.estate)
    await drift.set_repair(drift=repairs)
    await drift.change('UPDATE directory.users SET properties = \'{"city": "Elsewhere"}\' WHERE id = $1', there.id)
    await drift.change("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", group, BEN)

    async def undo() -> None:
        await adopter.undo(adoption_id)
        await adopter.work()

    overtaken = Overtaken(adopter.estate.directory, act=undo)
    await replace(drift, jobs=replace(drift.jobs, directory=overtaken)).check_all()

    assert [(each.kind, each.property) for each in await drift.records()] == []
    assert (overtaken.ensured, overtaken.ensured_mailboxes) == ([], [])
    assert await adopter.estate.rows("SELECT subject_id FROM chamberlain.drift_repair") == []


async def test_what_is_called_otherwise_by_now_is_refused(adopter: Adopter) -> None:
    renamed, same = await adopter.mailbox_before(plain()), await adopter.mailbox_before(plain())
    group = await make_group(adopter.estate, "Crew")
    await steward_of(adopter.estate).look_around()
    adoptions = [await adopter.confirm(RULE), await adopter.confirm(chosen("crew", TemplateKind.GROUP, PROJECT_GROUP))]
    async with adopter.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE directory.users SET mail = 'another@estate.example' WHERE id = $1", renamed.id)
        await tx.execute("UPDATE directory.groups SET mail = 'other@estate.example' WHERE id = $1", group)

    await adopter.work()

    views = [await adopter.read(adoption_id) for adoption_id in adoptions]
    assert [[(each.item.id, each.conflict.code) for each in view.refused] for view in views] == [
        [(renamed.id, "changedSince")],
        [(group, "changedSince")],
    ]
    assert {one.id for one in (await adopter.shown()).values() if one.marks} == {same.id}
    assert await adopter.estate.rows("SELECT DISTINCT kind FROM chamberlain.request") == [("shared",)]


async def test_what_is_at_no_domain_of_ours_by_now_is_refused(adopter: Adopter) -> None:
    moved = await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    async with adopter.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE directory.users SET mail = 'sales@elsewhere.example' WHERE id = $1", moved.id)

    await adopter.work()

    assert [each.conflict.code for each in (await adopter.read(adoption_id)).refused] == ["domainNotVerified"]
    assert (await adopter.shown())[moved.id].marks == {}


@dataclass
class Lagging(TroubledDirectory):
    """A directory whose search does not show what was just written."""

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return [None for _ in references]


async def test_what_the_search_shows_late_is_waited_for(adopter: Adopter) -> None:
    there = await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    lagging = Lagging(adopter.estate.directory)

    await replace(adopter, run=replace(adopter.run, directory=lagging)).work()

    record = (await adopter.read(adoption_id)).record
    assert (record.state, record.refused) == (AdoptionState.RUNNING, 0)
    await adopter.work()
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.SUCCEEDED
    await request_of(adopter, there.id)


async def test_what_the_search_never_shows_is_refused_after_a_day(adopter: Adopter) -> None:
    there = await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    blind = replace(adopter, run=replace(adopter.run, directory=Lagging(adopter.estate.directory)))

    await blind.work()
    adopter.estate.moment += timedelta(days=1)
    await blind.work()

    view = await adopter.read(adoption_id)
    assert view.record.state is AdoptionState.SUCCEEDED
    assert [each.conflict.code for each in view.refused] == ["gone"]
    assert (await adopter.shown())[there.id].marks == {}


async def test_those_that_wait_keep_nobody_else_waiting_and_do_not_wait_for_ever(adopter: Adopter) -> None:
    narrow = adopter_of(adopter.estate, page=2)
    there = sorted([(await narrow.mailbox_before(plain())).id for _ in range(6)])
    adoption_id = await narrow.confirm()
    for slow in there[:3]:
        narrow.port.faults[slow] = TryAgain(timedelta(seconds=30), "Slow down.")

    await narrow.work()
    assert (await narrow.read(adoption_id)).record.adopted == 3
    adopter.estate.moment += timedelta(days=1)
    await narrow.work()

    view = await narrow.read(adoption_id)
    assert (view.record.state, view.record.refused) == (AdoptionState.SUCCEEDED, 3)
    assert {(each.item.id, each.conflict.code) for each in view.refused} == {(each, "noAnswer") for each in there[:3]}
    # Undone it goes on in the same way.
    narrow.port.faults = {there[3]: TryAgain(timedelta(seconds=30), "Slow down.")}
    await narrow.undo(adoption_id)
    await narrow.work()
    assert (await narrow.read(adoption_id)).record.released == 2


async def test_a_mark_that_the_directory_keeps_ends_the_undoing_after_a_day_and_is_told(adopter: Adopter) -> None:
    stuck, other = await adopter.mailbox_before(plain()), await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    adopter.port.faults[stuck.id] = TryAgain(timedelta(seconds=30), "Slow down.")
    await adopter.work()
    adopter.port.faults.clear()
    await adopter.work()
    # It has waited for its mark; that says nothing about how long it waits to lose it.
    adopter.estate.moment += timedelta(days=1)
    adopter.port.faults[stuck.id] = TryAgain(timedelta(seconds=30), "Slow down.")
    await adopter.undo(adoption_id)

    await adopter.work()
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.UNDOING
    adopter.estate.moment += timedelta(days=1)
    await adopter.work()

    view = await adopter.read(adoption_id)
    assert (view.record.state, view.record.released) == (AdoptionState.UNDONE, 2)
    assert [(each.item.id, each.conflict.code) for each in view.refused] == [(stuck.id, "markStays")]
    marks = {key: bool(one.marks) for key, one in (await adopter.shown()).items()}
    assert marks == {stuck.id: True, other.id: False}
    assert await adopter.estate.rows("SELECT request_id FROM chamberlain.request") == []
    assert await adopter.estate.rows("SELECT value FROM chamberlain.reservation") == []
    assert await adopter.estate.rows("SELECT kind FROM chamberlain.job WHERE kind = 'adoptionRun'") == []


@dataclass
class Keeping(TroubledAdoptions):
    """A directory that takes marks, and asks to wait whenever one is to be taken away."""

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return [TryAgain(timedelta(seconds=30), "Slow down.") for _ in markings]


async def test_one_that_is_refused_and_keeps_its_mark_keeps_nobody_else_waiting(adopter: Adopter) -> None:
    nobodys = await make_group(adopter.estate, "Nobodys", owners=())
    taken = await make_group(adopter.estate, "Crew")
    await steward_of(adopter.estate).look_around()
    adoption_id = await adopter.confirm(chosen("", TemplateKind.GROUP, PROJECT_GROUP))
    keeping = replace(adopter, run=replace(adopter.run, adoptions=Keeping(adopter.port.adoptions)))

    await keeping.work()
    await request_of(adopter, taken)
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.RUNNING
    adopter.estate.moment += timedelta(days=2)
    await keeping.work()

    view = await adopter.read(adoption_id)
    assert view.record.state is AdoptionState.SUCCEEDED
    [refused] = [each for each in view.refused if each.item.id == nobodys]
    assert refused.conflict.code == "noOwner"
    assert "mark" in refused.conflict.detail


async def test_the_audit_trail_says_who_took_and_who_gave_back(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm()
    await adopter.work()
    program = application("Mail.Config.ReadWrite.All")

    await adopter.undo(adoption_id, program)
    await adopter.work()

    statement = (
        "SELECT action, payload::json -> 'actor' ->> 'type' FROM chamberlain.audit "
        "WHERE action LIKE 'mailbox.%' OR action LIKE 'adoption.%' ORDER BY sequence"
    )
    assert await adopter.estate.rows(statement) == [
        ("adoption.confirm", "user"),
        ("mailbox.adopt", "user"),
        ("adoption.undo", "application"),
        ("mailbox.release", "application"),
    ]


async def test_the_call_is_on_record_with_its_address_and_the_work_without(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    adoption_id = await adopter.confirm(client_address="192.0.2.1")
    await adopter.work()
    await adopter.undo(adoption_id, client_address="192.0.2.2")
    await adopter.work()

    statement = (
        "SELECT action, payload::json ->> 'clientAddress' FROM chamberlain.audit "
        "WHERE action LIKE 'mailbox.%' OR action LIKE 'adoption.%' ORDER BY sequence"
    )
    assert await adopter.estate.rows(statement) == [
        ("adoption.confirm", "192.0.2.1"),
        ("mailbox.adopt", None),
        ("adoption.undo", "192.0.2.2"),
        ("mailbox.release", None),
    ]


async def test_marks_are_found_again_when_the_tenant_has_another_prefix(adopter: Adopter) -> None:
    await adopter.mailbox_before(plain())
    shown = await adopter.shown()
    adoption_id = await adopter.confirm()
    async with adopter.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.tenant SET extension_prefix = 'other' WHERE tenant_id = $1", ESTATE)
    await adopter.work()
    assert await adopter.shown() != shown

    await adopter.undo(adoption_id)
    await adopter.work()

    assert await adopter.shown() == shown
    assert (await adopter.read(adoption_id)).record.state is AdoptionState.UNDONE
