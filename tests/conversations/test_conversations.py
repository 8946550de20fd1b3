# SPDX-License-Identifier: Apache-2.0
"""Approvers decide in a chat, by the same rules as by mail."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

import pytest

from chamberlain.conversations.models import Message, Reaction, Received, Said
from chamberlain.conversations.rules import OFFERED
from chamberlain.conversations.service import ConversationService
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import RequestId, UserId
from tests.databases import Databases
from tests.estates import BEN, DARA, ESTATE, TRACE
from tests.requests.approval_fixture import ApprovalFixture, all_of, any_of, open_approval_fixture, user
from tests.requests.request_services import watchers, workers
from tests.substitutes.substitute_fixture import open_substitute_fixture


@dataclass(slots=True)
class FakeMessenger:
    """A chat in memory.

    Users in `absent` cannot sign in, and those in `renamed` have another id now. `fault` is raised once by the next
    sending.
    """

    said: list[Said] = field(default_factory=list)
    sent: dict[str, tuple[str, str, str | None]] = field(default_factory=dict)
    offered: list[tuple[str, str]] = field(default_factory=list)
    absent: set[UserId] = field(default_factory=set)
    renamed: dict[UserId, str] = field(default_factory=dict)
    fault: TryAgain | Rejected | None = None

    def texts(self, user_id: UserId) -> list[str]:
        """The messages of the bot in the room of a user."""
        return [text for room, text, _ in self.sent.values() if room == f"!{user_id}"]

    def question(self, user_id: UserId) -> str:
        """The id of the first message in the room of a user."""
        return next(f"${key}" for key, (room, _, __) in self.sent.items() if room == f"!{user_id}")

    def react(self, user_id: UserId, key: str = OFFERED) -> None:
        event = f"$said{len(self.said)}"
        self.said.append(Reaction(event, f"!{user_id}", f"@{user_id}", self.question(user_id), key))

    def reply(self, user_id: UserId, text: str) -> None:
        event = f"$said{len(self.said)}"
        self.said.append(Message(event, f"!{user_id}", f"@{user_id}", self.question(user_id), text))

    async def find_addresses(self, users: Collection[UserId]) -> Mapping[UserId, str]:
        return {each: self.renamed.get(each, f"@{each}") for each in users if each not in self.absent}

    async def open_room(self, user: UserId, address: str, name: str) -> str:
        assert (address, bool(name)) == (f"@{user}", True)
        return f"!{user}"

    async def send(self, room: str, text: str, *, key: str, reply_to: str | None = None) -> str:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        self.sent.setdefault(key, (room, text, reply_to))
        return f"${key}"

    async def offer(self, room: str, message: str, reaction: str) -> None:
        assert room.startswith("!")
        self.offered.append((message, reaction))

    async def receive(self, position: str | None) -> Received:
        begin = 0 if position is None else int(position)
        return Received(tuple(self.said[begin:]), str(len(self.said)))


@dataclass(slots=True)
class Conversation:
    """The conversations of a tenant, and its approvals."""

    approvals: ApprovalFixture
    chat: FakeMessenger
    service: ConversationService

    async def run(self) -> None:
        """Run what the job of the tenant does."""
        await self.service.listen(ESTATE, self.chat, TRACE)
        await self.service.ask(ESTATE, self.chat)

    async def state(self, request_id: RequestId) -> str:
        return (await self.approvals.estate.record(request_id)).state


def conversation(approvals: ApprovalFixture) -> Conversation:
    estate = approvals.estate
    service = ConversationService(
        database=estate.databases.worker,
        people=estate.people,
        workers=workers(estate),
        watchers=watchers(estate),
        link_of=lambda _, request_id: f"https://portal.estate.example/{request_id}",
        new_id=uuid4,
        now=estate.now,
    )
    return Conversation(approvals, FakeMessenger(), service)


async def test_it_works(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA))))
    request_id = await it.approvals.ask()

    await it.run()
    it.chat.react(DARA)
    await it.run()

    question, answer = it.chat.texts(DARA)
    assert "Apollo" in question
    assert str(request_id) in question
    assert it.chat.offered == [(it.chat.question(DARA), OFFERED)]
    assert answer == "You have approved the request."
    assert await it.state(request_id) == "queued"
    assert await it.approvals.audit(request_id) == [
        ("request.approve", {"state": "queued", "level": 1, "channel": "matrix"}),
    ]


async def test_a_reply_rejects_with_its_reason(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA))))
    request_id = await it.approvals.ask()

    await it.run()
    it.chat.reply(DARA, "reject: There is such a group.")
    await it.run()

    assert await it.state(request_id) == "rejected"
    ((_, after),) = await it.approvals.audit(request_id)
    assert after == {"state": "rejected", "level": 1, "comment": "There is such a group.", "channel": "matrix"}


@pytest.mark.parametrize(("key", "text"), [("\N{CROSS MARK}", None), (None, "maybe")])
async def test_an_unclear_answer_decides_nothing(databases: Databases, key: str | None, text: str | None) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA))))
    request_id = await it.approvals.ask()

    await it.run()
    if key is not None:
        it.chat.react(DARA, key)
    if text is not None:
        it.chat.reply(DARA, text)
    await it.run()
    it.chat.reply(DARA, "approve")
    await it.run()

    assert it.chat.texts(DARA)[1].startswith("Nothing was decided.")
    assert await it.state(request_id) == "queued"


async def test_it_asks_once(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA), user(BEN))))
    await it.approvals.ask()

    for _ in range(3):
        await it.run()

    assert (len(it.chat.texts(DARA)), len(it.chat.texts(BEN))) == (1, 1)


async def test_a_decision_of_another_approver_closes_the_question(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA), user(BEN))))
    request_id = await it.approvals.ask()
    await it.run()

    await it.approvals.approve(request_id, BEN)
    await it.run()
    it.chat.reply(DARA, "reject: no")
    await it.run()

    assert it.chat.texts(DARA)[1:] == ["This question is closed: no decision of yours is needed any more."]
    assert await it.state(request_id) == "queued"


async def test_an_answer_after_the_decision_is_refused_by_its_rules(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA), user(BEN))))
    request_id = await it.approvals.ask()
    await it.run()

    it.chat.react(DARA)
    it.chat.reply(BEN, "reject: no")
    await it.run()

    assert it.chat.texts(BEN)[1].startswith("This question is closed: ")
    assert await it.state(request_id) == "queued"


async def test_the_next_level_is_asked(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, all_of(user(DARA)), any_of(user(DARA), user(BEN))))
    request_id = await it.approvals.ask()
    await it.run()

    await it.approvals.wait_for(timedelta(seconds=1))
    it.chat.react(DARA)
    await it.run()
    await it.approvals.look_again()
    await it.run()

    assert any(key == f"ask/{request_id}/2/{BEN}" for key in it.chat.sent)


async def test_a_substitute_is_asked_and_decides(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    talk = conversation(it.approvals)
    request_id = await it.approvals.ask()
    await it.approvals.look()

    await talk.run()
    talk.chat.react(BEN)
    await talk.run()

    ((decision,),) = [level.decisions for level in await it.approvals.levels(request_id)]
    assert decision.on_behalf_of is not None
    assert (decision.by.id, decision.on_behalf_of.id) == (BEN, DARA)


@pytest.mark.parametrize("change", ["blocked", "renamed"])
async def test_an_account_that_is_not_the_approvers_any_more_decides_nothing(databases: Databases, change: str) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA))))
    request_id = await it.approvals.ask()
    await it.run()

    if change == "blocked":
        it.chat.absent.add(DARA)
    else:
        it.chat.renamed[DARA] = "@dara.new"
    it.chat.react(DARA)
    await it.run()

    assert await it.state(request_id) == "pendingApproval"


async def test_a_tenant_without_questions_has_no_work(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA))))
    assert not await it.service.has_work(ESTATE)

    await it.approvals.ask()
    assert await it.service.has_work(ESTATE)
    await it.run()
    it.chat.react(DARA)
    await it.run()

    assert not await it.service.has_work(ESTATE)


async def test_an_approver_without_an_account_is_left_to_mail(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA), user(BEN))))
    it.chat.absent.add(DARA)
    await it.approvals.ask()

    await it.run()

    assert (it.chat.texts(DARA), len(it.chat.texts(BEN))) == ([], 1)


async def test_a_chat_that_does_not_answer_is_asked_again(databases: Databases) -> None:
    it = conversation(await open_approval_fixture(databases, any_of(user(DARA))))
    await it.approvals.ask()
    it.chat.fault = TryAgain(timedelta(0), "It does not answer.")

    with pytest.raises(TryAgain):
        await it.run()
    await it.run()

    assert len(it.chat.texts(DARA)) == 1
