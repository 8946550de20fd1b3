# SPDX-License-Identifier: Apache-2.0
"""Provisioning: a queued request becomes a mailbox that is found by the request's id, once, whatever happens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec
import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import MailboxId, TenantId
from chamberlain.core.paging import PageWanted
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.embedded.directory import FaultyDirectory
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import (
    Directory,
    GroupOutcome,
    GroupWork,
    MailboxOutcome,
    MailboxWork,
)
from chamberlain.embedded.directory.faults import Faults, FaultyGroups, FaultyMailboxes, Injection
from chamberlain.mailboxes import records as mailboxes
from chamberlain.mailboxes import store as mailbox_lists
from chamberlain.mailboxes.models import MailboxFilter, MailboxRecord
from chamberlain.mailboxes.wire import write_mailbox_order
from chamberlain.queue import jobs
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import RequestState
from tests.databases import Databases
from tests.directory.retries import Clock
from tests.estates import ADA, BEN, CLEO, ESTATE, NOBODY, TRACE, Estate, mail_caller_of, open_estate
from tests.example import configuration_in, example_document
from tests.mailboxes.mailbox_bodies import BODIES, EQUIPMENT, ROOM, SHARED, SMALL
from tests.queue.crash_injection import CrashingDirectory, InjectedCrash
from tests.requests.request_services import cancel, retry

AS_IF_QUEUED = """
UPDATE chamberlain.request SET state = 'queued', steps = $2::text::json, result = NULL, finished_at = NULL
WHERE request_id = $1
"""
AWAY = TryAgain(timedelta(seconds=10), "The directory does not answer.")


@dataclass
class CrashAfterStepsDirectory(Directory):
    """A directory that brings about so many steps of each work, and then the process is killed."""

    directory: Directory
    steps: int

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        return await self.directory.capabilities(tenant_id)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        return await self.directory.observe(references)

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        return await self.directory.ensure(works)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return await self.directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        if self.steps:
            await self.directory.ensure_mailboxes([replace(work, steps=work.steps[: self.steps]) for work in works])
        raise InjectedCrash


@dataclass
class RefusingDirectory(CrashAfterStepsDirectory):
    """A directory that brings about so many steps of each work, and then refuses the next."""

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        begun = await self.directory.ensure_mailboxes([replace(work, steps=work.steps[: self.steps]) for work in works])
        return [replace(outcome, fault=Rejected("addressTaken", "Somebody has it.")) for outcome in begun]


def step_by_step(estate: Estate) -> None:
    """A directory that does one step after the other, each in a call of its own, as a suite does."""
    injection = Injection(Faults(), Clock())
    pool = estate.databases.worker.pool
    estate.directory.directory = FaultyDirectory(
        FaultyGroups(pool, injection, key_member=KEY_MEMBER), FaultyMailboxes(pool, injection, key_member=KEY_MEMBER)
    )


async def expire_leases(estate: Estate) -> None:
    """Expire the leases, as after ten seconds without a renewal."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET lease_until = now() - interval '1 s' WHERE lease_id IS NOT NULL")


async def make_due(estate: Estate) -> None:
    """Let what waits be due."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.job SET run_at = now()")


async def estate_with(databases: Databases, **shared: object) -> Estate:
    """The example estate with its template of shared mailboxes changed."""
    document = example_document()
    document["tenants"][0]["templates"][0].update(shared)
    return await open_estate(databases, configuration_in(document))


async def mailbox(estate: Estate, mailbox_id: MailboxId) -> MailboxRecord:
    """The mailbox as it is read."""
    async with estate.databases.application.transaction(ESTATE) as tx:
        record = await mailboxes.find(tx, mailbox_id, reader=None)
    assert record is not None
    return record


async def listed(estate: Estate) -> Sequence[MailboxRecord]:
    """The newest mailboxes as they are listed."""
    async with estate.databases.application.transaction(ESTATE) as tx:
        page = await mailbox_lists.find_page(tx, MailboxFilter(), reader=None, page=PageWanted(10, None))
    return page.items


async def ask_and_work(estate: Estate, body: Mapping[str, object]) -> tuple[MailboxRecord, ObservedMailbox]:
    """A mailbox that was asked for and brought about, as it is read and as the directory shows it."""
    accepted = await estate.ask_mailbox(body)
    await estate.work()
    shown = await estate.mailbox(accepted.record.request_id)
    assert shown is not None
    return await mailbox(estate, accepted.record.id), shown


@pytest.mark.parametrize("kind", BODIES)
async def test_it_works_and_reads_back_equal(estate: Estate, kind: str) -> None:
    accepted = await estate.ask_mailbox(BODIES[kind])
    before = await estate.mailbox(accepted.record.request_id)
    await estate.work()

    record, shown = await mailbox(estate, accepted.record.id), await estate.mailbox(accepted.record.request_id)
    request = await estate.record(accepted.record.request_id)
    assert before is None
    assert shown is not None
    assert (record.provisioning_state, record.updated_at) == ("active", estate.moment)
    assert msgspec.json.decode(write_mailbox_order(record.order)) == BODIES[kind]
    assert record == replace(accepted.record, provisioning_state=record.provisioning_state, updated_at=estate.moment)
    assert request.result is not None
    assert (request.result.type, request.result.id, request.result.mail) == ("mailbox", record.id, record.mail)
    assert (shown.type, shown.name, shown.display_name, shown.mail) == (
        kind,
        BODIES[kind]["name"],
        BODIES[kind]["displayName"],
        record.mail,
    )
    assert {step.state for step in request.steps} == {"succeeded"}
    assert (await estate.counts())["job"] == 0


async def test_what_the_directory_does_not_show_is_not_made(estate: Estate) -> None:
    accepted = await estate.ask_mailbox(SHARED)
    estate.directory.acknowledges_only = True
    await estate.work()
    waiting = await estate.record(accepted.record.request_id)
    estate.directory.acknowledges_only = False
    await make_due(estate)
    await estate.work()

    record, shown = await mailbox(estate, accepted.record.id), await estate.mailbox(accepted.record.request_id)
    assert waiting.state == "waiting"
    assert "mailboxMadeNotShown" in {step.cause.code for step in waiting.steps if step.cause}
    assert (record.provisioning_state, shown is not None) == ("active", True)


async def test_each_type_gets_what_is_its_own(estate: Estate) -> None:
    _, shared = await ask_and_work(estate, SHARED)
    _, equipment = await ask_and_work(estate, EQUIPMENT)
    _, room = await ask_and_work(estate, ROOM)

    assert (shared.quota_megabytes, shared.aliases, shared.books_automatically) == (12, ("desk@estate.example",), False)
    assert shared.permissions == {BEN: "FullAccess", CLEO: "SendAs"}
    assert shared.auto_mapped == frozenset()
    assert shared.owners == (BEN, CLEO)
    assert (equipment.capacity, equipment.books_automatically) == (12, True)
    assert room.place is not None
    assert (room.place.capacity, room.place.equipment.has_whiteboard) == (12, True)
    assert (room.address_fields.office_location, room.is_hidden) == ("HQ - Floor 5", True)


async def test_the_event_tells_of_the_mailbox(estate: Estate) -> None:
    record, _ = await ask_and_work(estate, EQUIPMENT)

    ((kind, request_id, data),) = await estate.rows("SELECT type, request_id, data FROM chamberlain.event")
    assert (kind, request_id) == ("mailbox.created", record.request_id)
    told = msgspec.json.decode(str(data))
    assert told["mailbox"] == {
        "id": str(record.id),
        "type": "equipment",
        "name": "Projector 7",
        "displayName": "Projector",
        "primarySmtpAddress": "projector-7@estate.example",
    }
    assert told["metadata"] == {"equipmentType": "projector"}
    assert (told["templateId"], told["createdBy"]["id"]) == (str(record.template_id), str(ADA))


async def test_the_event_tells_the_metadata_of_the_template_where_none_was_sent(databases: Databases) -> None:
    estate = await estate_with(databases, defaults={"metadata": {"el-text-1": "Acme"}})

    await ask_and_work(estate, SMALL)

    ((data,),) = await estate.rows("SELECT data FROM chamberlain.event")
    assert msgspec.json.decode(str(data))["metadata"] == {"el-text-1": "Acme"}


async def test_a_batch_goes_through_beside_groups(estate: Estate) -> None:
    for number in range(20):
        await estate.ask_mailbox({**SMALL, "name": f"Info {number}"})
        await estate.request(f"Group {number}")

    await estate.work()

    assert await estate.rows("SELECT DISTINCT state FROM chamberlain.request") == [("succeeded",)]
    assert (await estate.counts())["event"] == 40


@pytest.mark.parametrize("kind", BODIES)
async def test_running_it_twice_is_boring(estate: Estate, kind: str) -> None:
    accepted = await estate.ask_mailbox(BODIES[kind])
    claim = await estate.claim(kinds=[JobKind.MAILBOX_PROVISION])
    await estate.provision_mailboxes.provision(claim)
    before = await estate.mailbox(accepted.record.request_id), await estate.rows("SELECT * FROM chamberlain.request")

    await estate.provision_mailboxes.provision(claim)

    after = await estate.mailbox(accepted.record.request_id), await estate.rows("SELECT * FROM chamberlain.request")
    assert after == before
    assert (await estate.counts())["event"] == 1
    assert len(estate.directory.ensured_mailboxes) == 1


@pytest.mark.parametrize("kind", BODIES)
async def test_killed_between_any_two_steps_it_ends_in_the_same_mailbox(estate: Estate, kind: str) -> None:
    whole, wanted = await ask_and_work(estate, BODIES[kind])
    steps = len((await estate.record(whole.request_id)).steps)
    step_by_step(estate)

    for number in range(steps + 1):
        record, shown = await ask_and_die(estate, {**BODIES[kind], **name_of(kind, number)}, number)

        assert record.provisioning_state == "active"
        assert shown == replace(
            wanted,
            id=shown.id,
            name=record.order.name,
            mail=record.mail,
            aliases=tuple(f"desk-{number}@estate.example" for _ in wanted.aliases),
            marks={"requestId": str(record.request_id)},
        )
    assert steps > 5
    assert await estate.rows("SELECT type FROM chamberlain.event") == [("mailbox.created",)] * (steps + 2)


def name_of(kind: str, number: int) -> Mapping[str, str]:
    """The unique properties of a mailbox."""
    return {"name": f"Basel {number}"} | ({"alias": f"desk-{number}"} if kind == "shared" else {})


async def ask_and_die(estate: Estate, body: Mapping[str, object], steps: int) -> tuple[MailboxRecord, ObservedMailbox]:
    """A mailbox whose first worker was killed behind so many steps, and that another one has completed."""
    accepted = await estate.ask_mailbox(body)
    dying = replace(estate.provision_mailboxes, directory=CrashAfterStepsDirectory(estate.directory, steps))
    with pytest.raises(InjectedCrash):
        await dying.provision(await estate.claim())
    await expire_leases(estate)
    await estate.work()
    shown = await estate.mailbox(accepted.record.request_id)
    assert shown is not None
    return await mailbox(estate, accepted.record.id), shown


@pytest.mark.parametrize("kind", BODIES)
async def test_a_request_that_runs_again_from_its_beginning_changes_nothing(estate: Estate, kind: str) -> None:
    accepted = await estate.ask_mailbox(BODIES[kind])
    request_id = accepted.record.request_id
    ((steps,),) = await estate.rows("SELECT steps::text FROM chamberlain.request WHERE request_id = $1", request_id)
    await estate.work()
    before = await mailbox(estate, accepted.record.id), await estate.mailbox(request_id)
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(AS_IF_QUEUED, request_id, steps)
        await tx.execute(jobs.QUEUE, ESTATE, JobKind.MAILBOX_PROVISION, request_id, TRACE)
    queued = await mailbox(estate, accepted.record.id)

    await estate.work()

    assert queued.provisioning_state == "queued"
    assert (await mailbox(estate, accepted.record.id), await estate.mailbox(request_id)) == before
    # A worker had begun with it: it was observed, and all of it was there.
    assert len(estate.directory.ensured_mailboxes) == 1


async def test_a_run_that_is_killed_before_it_records_ends_in_one_mailbox_and_one_event(estate: Estate) -> None:
    accepted = await estate.ask_mailbox(SHARED)
    crashing = replace(estate.provision_mailboxes, directory=CrashingDirectory(estate.directory))
    with pytest.raises(InjectedCrash):
        await crashing.provision(await estate.claim())
    state = (await mailbox(estate, accepted.record.id)).provisioning_state
    made = await estate.mailbox(accepted.record.request_id)
    await expire_leases(estate)

    await estate.work()

    assert (state, (await mailbox(estate, accepted.record.id)).provisioning_state) == ("provisioning", "active")
    assert await estate.mailbox(accepted.record.request_id) == made is not None
    assert await estate.rows("SELECT type FROM chamberlain.event") == [("mailbox.created",)]
    assert estate.directory.ensured_mailboxes[-1:] == estate.directory.ensured_mailboxes[:1]


async def test_while_the_directory_is_away_it_waits_and_goes_on(estate: Estate) -> None:
    accepted = await estate.ask_mailbox(SMALL)
    estate.directory.error = AWAY
    await estate.work()
    request = await estate.record(accepted.record.request_id)
    waiting = await mailbox(estate, accepted.record.id)
    estate.directory.error = None
    await make_due(estate)

    await estate.work()

    assert request.waiting is not None
    assert (request.waiting.step, waiting.provisioning_state) == ("createMailbox", "provisioning")
    assert (await mailbox(estate, accepted.record.id)).provisioning_state == "active"


async def test_what_was_not_checked_at_submission_is_checked_first(estate: Estate) -> None:
    estate.people.error = AWAY
    right = await estate.ask_mailbox(SMALL)
    wrong = await estate.ask_mailbox({**SMALL, "name": "Other", "primaryOwner": str(NOBODY)})
    estate.people.error = None

    await estate.work()

    made, failed = await mailbox(estate, right.record.id), await mailbox(estate, wrong.record.id)
    assert (made.provisioning_state, made.created_by.display_name) == ("active", "Ada Achterberg")
    assert (failed.provisioning_state, await estate.mailbox(wrong.record.request_id)) == ("failed", None)
    assert failed.error is not None
    assert [(fault.pointer, fault.code) for fault in failed.error.faults] == [("/primaryOwner", "userUnknown")]
    # The display name of the caller was unknown then.
    assert (right.record.created_by.display_name, failed.created_by.display_name) == ("", "Ada Achterberg")


async def test_who_may_not_use_the_template_is_found_out_when_the_directory_is_back(databases: Databases) -> None:
    estate = await estate_with(databases, audience={"users": [str(CLEO)], "groups": []})
    estate.people.error = AWAY
    refused = await estate.ask_mailbox(SMALL)
    allowed = await estate.ask_mailbox({**SMALL, "name": "Other"}, caller=mail_caller_of(CLEO))
    estate.people.error = None

    await estate.work()

    failed = await mailbox(estate, refused.record.id)
    assert (failed.provisioning_state, await estate.mailbox(refused.record.request_id)) == ("failed", None)
    assert failed.error is not None
    assert (failed.error.step, failed.error.code) == ("checkPeople", "templateNotAllowed")
    assert (await mailbox(estate, allowed.record.id)).provisioning_state == "active"


async def test_a_failed_one_keeps_its_name_may_be_retried_and_gives_it_back_when_it_is_cancelled(
    estate: Estate,
) -> None:
    accepted = await estate.ask_mailbox({**SMALL, "alias": "desk"})
    caller = mail_caller_of(ADA)
    estate.directory.faults["Information"] = Rejected("addressTaken", "Somebody has it.")
    await estate.work()
    failed = await mailbox(estate, accepted.record.id)
    await retry(estate, accepted.record.request_id, caller)
    queued = await mailbox(estate, accepted.record.id)
    await estate.work()
    kept = (await estate.counts())["reservation"]

    await cancel(estate, accepted.record.request_id, caller)

    assert (failed.provisioning_state, queued.provisioning_state, kept) == ("failed", "queued", 3)
    assert (await mailbox(estate, accepted.record.id)).provisioning_state == "cancelled"
    assert (await estate.record(accepted.record.request_id)).state is RequestState.CANCELLED
    assert (await estate.counts())["reservation"] == 0


async def test_a_cancelled_mailbox_says_what_it_has_left_in_the_directory(estate: Estate) -> None:
    accepted = await estate.ask_mailbox(SHARED, key="k1")
    await replace(estate.provision_mailboxes, directory=RefusingDirectory(estate.directory, 1)).provision(
        await estate.claim()
    )
    await cancel(estate, accepted.record.request_id, mail_caller_of(ADA))

    cancelled, request = await mailbox(estate, accepted.record.id), await estate.record(accepted.record.request_id)
    page = await listed(estate)
    again = await estate.ask_mailbox(SHARED, key="k1")

    assert cancelled.provisioning_state == "cancelled"
    assert len(request.warnings) == 1
    assert request.warnings[0].code == "objectLeftBehind"
    assert (cancelled.warnings, [each.warnings for each in page]) == (request.warnings, [request.warnings])
    # The first answer is given again as it was.
    assert again.record == accepted.record


async def test_what_is_retried_goes_through(estate: Estate) -> None:
    accepted = await estate.ask_mailbox(SMALL)
    estate.directory.faults["Information"] = Rejected("addressTaken", "Somebody has it.")
    await estate.work()
    estate.directory.faults.clear()
    await retry(estate, accepted.record.request_id, mail_caller_of(ADA))

    await estate.work()

    assert (await mailbox(estate, accepted.record.id)).provisioning_state == "active"
