# SPDX-License-Identifier: Apache-2.0
"""Ask approvers in a chat, and decide by their answers.

Both repeat safely: messages have keys, and a decision is taken once, under the lock of its request.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from chamberlain.conversations import store
from chamberlain.conversations.models import Choice, NoChoice, Pending, Question, Said
from chamberlain.conversations.port import Messenger
from chamberlain.conversations.rules import OFFERED, find_question, read_choice
from chamberlain.conversations.texts import ConversationTexts, texts_in
from chamberlain.core.errors import Refusal, Rejected, Unavailable
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import NoticeId, RequestId, TenantId, TraceId, UserId
from chamberlain.core.text import one_line
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database
from chamberlain.directory.models import PeopleQuestion, Person
from chamberlain.directory.port import People
from chamberlain.notifications.models import AboutRequest, Notice, NoticeKind
from chamberlain.notifications.rendering import Asked, RequestNotification, language_for, request_email, to_text
from chamberlain.notifications.texts import Language
from chamberlain.requests import records as request_records
from chamberlain.requests.actions import perform
from chamberlain.requests.approvals import current_level, deciders_of, represented_by
from chamberlain.requests.decisions import Decisions, WantedDecision
from chamberlain.requests.models import RequestRecord, RequestState
from chamberlain.requests.replies import Asking
from chamberlain.requests.rules import Action
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

# The channel of a decision, for the audit trail.
CHANNEL: Final = "matrix"
# Questions of one run, so that a run is short.
MOST_QUESTIONS: Final = 50

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Approver:
    """A user to ask.

    `address` is None without an account in the chat, `person` for a user who has left.
    """

    pending: Pending
    address: str | None
    person: Person | None


@dataclass(frozen=True, slots=True)
class ConversationService:
    """Talks with the approvers of a tenant. Needs the worker's role.

    `workers` are notified of new work, `watchers` of changed requests. `link_of` returns the address of the page to
    decide on a request, or None. Every method raises TryAgain if the chat or the directory does not answer, and
    Unavailable.
    """

    database: Database
    people: People
    workers: Notifier
    watchers: Notifier
    link_of: Callable[[TenantId, RequestId], str | None]
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def has_work(self, tenant_id: TenantId) -> bool:
        """Return whether a user has to decide, or a question is open."""
        async with self.database.transaction(tenant_id) as tx:
            return await store.has_work(tx, tenant_id)

    async def listen(self, tenant_id: TenantId, messenger: Messenger, trace_id: TraceId) -> None:
        """Read the answers to open questions, and decide by them."""
        async with self.database.transaction(tenant_id) as tx:
            questions = await store.find_open(tx, tenant_id)
            position = await store.find_position(tx, tenant_id)
        if not questions:
            return
        received = await messenger.receive(position)
        answers = [(each, found) for each in received.said if (found := find_question(each, questions)) is not None]
        users = {question.user for _, question in answers}
        people = await self._look_up(tenant_id, users)
        # The name of a user who has left may belong to another one by now, and a sign-in may be blocked.
        addresses = await messenger.find_addresses(users) if users else {}
        for said, question in answers:
            if addresses.get(question.user) == said.sender:
                await self._answer(messenger, said, question, _texts(people, question.user), trace_id)
        async with self.database.transaction(tenant_id) as tx:
            await store.save_position(tx, tenant_id, received.position)

    async def ask(self, tenant_id: TenantId, messenger: Messenger) -> bool:
        """Ask users who have to decide.

        Returns whether there may be more of them.
        """
        async with self.database.transaction(tenant_id) as tx:
            settled = await store.close_settled(tx, tenant_id)
            pending = await store.find_pending(tx, MOST_QUESTIONS)
            tenant = await tenant_records.find(tx, tenant_id)
        users = {each.user for each in settled} | {each.user for each in pending}
        if tenant is None or not users:
            return False
        people = await self._look_up(tenant_id, users)
        for question in settled:
            sentence = _texts(people, question.user).settled
            await self._say(messenger, question, sentence, f"settled/{question.event}")
        addresses = await messenger.find_addresses({each.user for each in pending})
        for each in pending:
            approver = Approver(each, addresses.get(each.user), people.get(each.user))
            await self._ask_one(messenger, tenant, approver)
        return len(pending) == MOST_QUESTIONS

    async def _ask_one(self, messenger: Messenger, tenant: Tenant, approver: Approver) -> None:
        pending, address, person, at = approver.pending, approver.address, approver.person, self.now()
        async with self.database.transaction(tenant.id) as tx:
            request = await request_records.find(tx, pending.request_id)
            level = _level_to_decide(request, pending.user)
            if request is None or level is None:
                return
            if level in pending.asked_levels:
                await store.see(tx, pending, request.updated_at)
                return
            if address is None or person is None:
                await store.add_unreachable(tx, pending, level, at=at, seen=request.updated_at)
                return
        language = language_for(person)
        text = self._text(request, level, pending.user, tenant.name, language)
        try:
            room = await messenger.open_room(pending.user, address, texts_in(language).room_name)
            key = f"ask/{pending.request_id}/{level}/{pending.user}"
            event = await messenger.send(room, text, key=key)
            await messenger.offer(room, event, OFFERED)
        except Rejected as fault:
            extra = {"tenantId": str(tenant.id), "requestId": str(pending.request_id), "reason": fault.detail}
            logger.warning("An approver cannot be asked in the chat.", extra=extra)
            async with self.database.transaction(tenant.id) as tx:
                await store.add_unreachable(tx, pending, level, at=at, seen=request.updated_at)
            return
        question = Question(tenant.id, pending.request_id, level, pending.user, address, room, event, at)
        async with self.database.transaction(tenant.id) as tx:
            await store.add(tx, question, seen=request.updated_at)

    def _text(self, request: RequestRecord, level: int, user: UserId, tenant_name: str, language: Language) -> str:
        """Return the text of the approval mail, and how to answer."""
        approver = represented_by(request.approvals, user)
        kind = NoticeKind.APPROVAL_REQUIRED if approver is None else NoticeKind.SUBSTITUTE_REQUIRED
        about, at = AboutRequest(kind, request.request_id, level), request.updated_at
        notice = Notice(request.tenant_id, NoticeId(self.new_id()), about, at, 0, frozenset())
        link = self.link_of(request.tenant_id, request.request_id)
        notification = RequestNotification(notice, about, request, tenant_name, link)
        asked = Asked(None if approver is None else approver.display_name, None)
        content, texts = request_email(notification, language, asked), texts_in(language)
        footer = texts.footer.format(request_id=request.request_id, tenant=one_line(tenant_name))
        body = replace(content, parts=(*content.parts, texts.how_to_answer), footer=footer)
        return f"{content.subject}\n\n{to_text(body)}"

    async def _answer(
        self, messenger: Messenger, said: Said, question: Question, texts: ConversationTexts, trace_id: TraceId
    ) -> None:
        match read_choice(said):
            case None:
                return
            case NoChoice() as reason:
                await self._say(messenger, question, texts.no_choice(reason), f"answer/{said.id}", said.id)
            case Choice() as choice:
                sentence = await self._decide(question, choice, texts, trace_id)
                await self._say(messenger, question, sentence, f"answer/{said.id}", said.id)

    async def _decide(self, question: Question, choice: Choice, texts: ConversationTexts, trace_id: TraceId) -> str:
        """Decide, close the question, and return the sentence about the outcome.

        Raises Unavailable.
        """
        tenant_id, request_id = question.tenant_id, question.request_id
        asking = Asking(tenant_id, request_id, question.level, question.user)
        wanted = WantedDecision(asking, choice.action, choice.reason, CHANNEL)
        decisions = Decisions(self.people, self.new_id, self.now)
        async with self.database.transaction(tenant_id) as tx:
            seen = await request_records.find(tx, request_id)
        sentence = texts.approved if choice.action is Action.APPROVE else texts.rejected
        try:
            if seen is None:
                sentence = texts.settled
            else:
                prepared = await decisions.prepare(seen, wanted, Act(None, None, trace_id), None)
                async with self.database.transaction(tenant_id) as tx:
                    await perform(tx, prepared.deed, prepared.carry)
                    await store.close(tx, question)
                self.watchers.tell((request_id,))
                self.workers.flag()
                return sentence
        except Unavailable:
            raise
        except Refusal as refusal:
            sentence = texts.closed.format(detail=one_line(refusal.detail))
        async with self.database.transaction(tenant_id) as tx:
            await store.close(tx, question)
        return sentence

    async def _say(
        self, messenger: Messenger, question: Question, sentence: str, key: str, about: str | None = None
    ) -> None:
        try:
            await messenger.send(question.room, sentence, key=key, reply_to=about or question.event)
        except Rejected as fault:
            extra = {"tenantId": str(question.tenant_id), "reason": fault.detail}
            logger.warning("An answer of the bot was refused.", extra=extra)

    async def _look_up(self, tenant_id: TenantId, users: set[UserId]) -> Mapping[UserId, Person]:
        if not users:
            return {}
        return (await self.people.look_up(PeopleQuestion(tenant_id, users=frozenset(users)))).people


def _level_to_decide(request: RequestRecord | None, user: UserId) -> int | None:
    """Return the level at which it is the user's turn.

    None if it is not.
    """
    if request is None or request.state is not RequestState.PENDING_APPROVAL:
        return None
    level = current_level(request.approvals)
    return None if level is None or user not in deciders_of(level) else level.level


def _texts(people: Mapping[UserId, Person], user: UserId) -> ConversationTexts:
    return texts_in(language_for(people[user]) if user in people else Language.ENGLISH)
