# SPDX-License-Identifier: Apache-2.0
"""A directory whose writes are trusted: an acknowledged write completes its step and is not read back."""

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.core.ids import GroupId, RequestId
from chamberlain.directory.groups import GroupReference, remaining, written_group
from chamberlain.directory.mailboxes import MailboxReference, remaining_of_mailbox, written_mailbox
from chamberlain.directory.steps import Step
from tests.directory import group_work, mailbox_work
from tests.estates import BEN, CLEO, PROJECT_TEAM, Estate
from tests.groups.test_group_provision import make_due
from tests.mailboxes.mailbox_bodies import SMALL

BUSY = TryAgain(timedelta(seconds=10), "Slow down.", Cause.BUSY)
EVENT = "SELECT type, data FROM chamberlain.event WHERE request_id = $1"


@pytest.fixture
def remote(estate: Estate) -> Estate:
    """An estate whose directory trusts writes and shows no object."""
    estate.directory.trusts_writes = estate.directory.shows_nothing = True
    return estate


@pytest.mark.pure
def test_the_written_state_shows_every_step() -> None:
    group = group_work.work()
    mailboxes = [mailbox_work.shared(), mailbox_work.room(), mailbox_work.equipment()]

    left = remaining(group.wanted, written_group(group.wanted, GroupId(UUID(int=7))), group.steps)
    left_of_mailboxes = [
        remaining_of_mailbox(each.wanted, written_mailbox(each.wanted, UUID(int=7)), each.steps) for each in mailboxes
    ]

    assert (left, left_of_mailboxes) == ((), [()] * 3)


async def shown_id(estate: Estate, request_id: RequestId) -> object:
    """The id in the directory."""
    estate.directory.shows_nothing = False
    found = await estate.group(request_id) or await estate.mailbox(request_id)
    assert found is not None
    return found.id


async def test_a_team_that_is_not_shown_yet_succeeds(remote: Estate) -> None:
    accepted = await remote.request("Apollo", templateId=str(PROJECT_TEAM), owners=[str(BEN)], members=[str(CLEO)])

    await remote.work()

    record = await remote.record(accepted.request_id)
    assert [(step.state, step.attempts) for step in record.steps] == [("succeeded", 1)] * 5
    assert record.result is not None
    assert (record.result.type, record.result.mail) == ("team", "apollo@estate.example")
    assert record.result.id == await shown_id(remote, accepted.request_id)
    [(kind, data)] = await remote.rows(EVENT, accepted.request_id)
    told = msgspec.json.decode(str(data))["group"]
    assert (kind, told["id"], told["mailNickname"]) == ("team.created", str(record.result.id), "apollo")


async def test_a_mailbox_that_is_not_shown_yet_succeeds(remote: Estate) -> None:
    accepted = (await remote.ask_mailbox(SMALL)).accepted

    await remote.work()

    record = await remote.record(accepted.request_id)
    assert record.state == "succeeded"
    [(kind, data)] = await remote.rows(EVENT, accepted.request_id)
    assert (kind, msgspec.json.decode(str(data))["mailbox"]["displayName"]) == ("mailbox.created", "Information")


async def test_without_an_id_it_waits_for_the_object(remote: Estate) -> None:
    remote.directory.acknowledges_only = True
    accepted = await remote.request("Apollo")

    await remote.work()

    record = await remote.record(accepted.request_id)
    assert record.waiting is not None
    assert record.waiting.shown_reason.code == "groupMadeNotShown"


async def test_a_recorded_step_is_not_repeated(remote: Estate) -> None:
    accepted = await remote.request("Apollo", owners=[str(BEN)], members=[str(CLEO)])
    remote.directory.faults["Apollo"] = BUSY
    remote.directory.done = (Step.CREATE_GROUP, Step.ADD_OWNERS)
    await remote.work()
    remote.directory.faults.clear()
    remote.directory.ensured.clear()

    await make_due(remote)
    await remote.work()

    assert [work.steps for work in remote.directory.ensured] == [(Step.ADD_MEMBERS,)]
    record = await remote.record(accepted.request_id)
    assert [(step.state, step.attempts) for step in record.steps] == [
        ("succeeded", 1), ("succeeded", 1), ("succeeded", 2)
    ]  # fmt: skip


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_later_runs_read_by_the_id_of_the_created_object(estate: Estate, is_trusted: bool) -> None:  # noqa: FBT001 - parametrised
    estate.directory.trusts_writes = is_trusted
    accepted = await estate.request("Apollo", members=[str(BEN)])
    mailbox = (await estate.ask_mailbox(SMALL)).accepted
    made = {"type": "group", "id": "00000000-0000-0000-0000-000000000007", "display_name": "Apollo", "mail": None}
    async with estate.databases.worker.across_tenants() as tx:
        written = msgspec.json.encode(made).decode()
        await tx.execute("UPDATE chamberlain.request SET state = 'running', made = $1", written)

    await estate.work()

    ids = {type(each): each.id for each in estate.directory.observed}
    assert ids.keys() == {GroupReference, MailboxReference}
    assert {str(each) for each in ids.values()} == {made["id"]}
    for each in (accepted, mailbox):
        assert (await estate.record(each.request_id)).state == "succeeded"
