# SPDX-License-Identifier: Apache-2.0
"""Answer one invitation by mail: claim, decide and book, reply.

Each step is saved before the next one begins, and every step can be repeated. The worker holds a lease of the resource,
so that no two workers decide at the same time. The reply has a copy to the resource. After a crash while sending, this
copy tells whether the reply was sent.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chamberlain.bookings import store
from chamberlain.bookings.calendar_text import read_invitation
from chamberlain.bookings.components import CalendarUnreadable
from chamberlain.bookings.copies import reply_text
from chamberlain.bookings.mails import Incoming, compose_reply, is_address, read_mail, reply_id, sentence_of
from chamberlain.bookings.models import (
    AnswerState,
    Decision,
    Ignored,
    Invitation,
    InvitationStatus,
    Method,
    Resource,
    StoredAnswer,
)
from chamberlain.bookings.port import BookingServers
from chamberlain.bookings.rules import status_of, window_at
from chamberlain.bookings.writes import BookingWriter
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database

# After this time without a copy, a reply whose sending was cut short is sent again. The queue of the mail server needs
# some seconds.
SETTLED_AFTER: Final = timedelta(minutes=2)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A resource with its servers, under a lease of this worker."""

    tenant_id: TenantId
    resource: Resource
    servers: BookingServers
    lease_id: UUID


class LeaseLost(Exception):
    """Another worker has the resource."""


@dataclass(frozen=True, slots=True)
class Answering:
    """An invitation whose answer is not finished, with its saved progress.

    `owner` is the login of an organizer with an account here.
    """

    invitation: Invitation
    mail: Incoming
    owner: str | None
    known: Sequence[StoredAnswer]
    is_continued: bool

    @property
    def own(self) -> StoredAnswer | None:
        """Return the saved answer to this mail, or None."""
        keys = {(each.recurrence, each.version.sequence) for each in self.invitation.appointments}
        return next((each for each in self.known if (each.recurrence, each.version.sequence) in keys), None)


@dataclass(frozen=True, slots=True)
class BookingService:
    """Answers the mail of resources. Needs the worker's role."""

    database: Database
    now: Callable[[], datetime]

    async def answer(self, place: Place, uid: int) -> bool:
        """Handle one mail.

        Returns False if it has to be handled again later. Raises TryAgain if a server does not answer, LeaseLost, and
        Unavailable.
        """
        message = await place.servers.inboxes.read(place.resource, uid)
        if message is None:
            return True
        mail = await asyncio.to_thread(read_mail, message.raw)
        if isinstance(mail, Ignored):
            return self._ignore(place, mail)
        # A hostile calendar can take a second.
        window = window_at(self.now())
        invitation = await asyncio.to_thread(read_invitation, mail.calendar, place.resource, window)
        if isinstance(invitation, Ignored):
            return self._ignore(place, invitation)
        if not is_address(invitation.organizer):
            return self._ignore(place, Ignored.NO_ORGANIZER)
        owner = await place.servers.resources.login_of(invitation.organizer)
        if not await self._is_sent_by_organizer(place, mail, invitation.organizer, owner):
            return self._ignore(place, Ignored.SENDER_DIFFERS)
        answering = await self._claim(place, invitation, mail, owner)
        return True if answering is None else await self._continue(place, answering)

    async def _is_sent_by_organizer(self, place: Place, mail: Incoming, organizer: str, owner: str | None) -> bool:
        """Return whether the organizer has sent a mail.

        The mail server permits a person with an account to send as the own addresses only, which it compares with the
        sender of the envelope.
        """
        if mail.sender != organizer:
            return False
        if owner is None or mail.envelope_sender == organizer:
            return True
        return mail.envelope_sender is not None and owner == await place.servers.resources.login_of(
            mail.envelope_sender
        )

    def _ignore(self, place: Place, reason: Ignored) -> bool:
        extra = {"tenantId": str(place.tenant_id), "resourceId": str(place.resource.id), "reason": reason}
        logger.info("A mail to a resource is no invitation to answer.", extra=extra)
        return True

    async def _claim(self, place: Place, invitation: Invitation, mail: Incoming, owner: str | None) -> Answering | None:
        """Save that the answer begins.

        Returns None if there is nothing to answer.
        """
        resource = place.resource
        async with self.database.transaction(place.tenant_id) as tx:
            if not await store.hold(tx, resource.id, place.lease_id):
                raise LeaseLost
            known = await store.find(tx, resource.id, invitation.uid)
            statuses = {
                status_of(each, invitation.method, invitation.organizer, known) for each in invitation.appointments
            }
            if InvitationStatus.OUTDATED in statuses or statuses <= {InvitationStatus.DONE}:
                return None
            is_continued = InvitationStatus.NEW not in statuses
            if not is_continued:
                await store.claim(tx, resource.id, invitation)
        return Answering(invitation, mail, owner, known, is_continued)

    async def _continue(self, place: Place, answering: Answering) -> bool:
        own = answering.own if answering.is_continued else None
        if own is None or own.state is AnswerState.CLAIMED:
            decided = await self._decide(place, answering)
            return True if decided is None else await self._reply(place, answering, *decided)
        if own.answer is None or own.decided_at is None:
            return True
        if own.state is AnswerState.SENDING:
            return await self._settle(place, answering, own.updated_at)
        return await self._reply(place, answering, Decision(own.answer, own.refusal), own.decided_at)

    async def _decide(self, place: Place, answering: Answering) -> tuple[Decision, datetime] | None:
        """Book or release, and save the decision.

        Returns None if no reply is due.
        """
        invitation, at = answering.invitation, self.now()
        writer = BookingWriter(place.servers, place.resource, at)
        if invitation.method is Method.CANCEL:
            await writer.release(invitation, answering.known)
            await self._finish(place, invitation, AnswerState.CLAIMED)
            return None
        # A booking that was begun before may be in the calendar by now, and is not foreign.
        if not answering.is_continued and await writer.is_foreign(invitation):
            await self._finish(place, invitation, AnswerState.CLAIMED)
            return None
        decision, calendar = await writer.book(invitation, answering.mail.calendar, answering.owner, answering.known)
        async with self.database.transaction(place.tenant_id) as tx:
            is_held = await store.hold(tx, place.resource.id, place.lease_id)
            if not is_held or not await store.decide(
                tx, place.resource.id, invitation, decision, calendar=calendar, at=at
            ):
                raise LeaseLost
        self._log("A resource has decided on an invitation.", place, decision.answer)
        return decision, at

    async def _reply(self, place: Place, answering: Answering, decision: Decision, at: datetime) -> bool:
        """Send the reply once.

        Raises TryAgain if the mail server does not take it now.
        """
        resource, invitation = place.resource, answering.invitation
        text = sentence_of(resource, decision)
        try:
            calendar = await asyncio.to_thread(reply_text, answering.mail.calendar, resource, decision.answer, text, at)
        except CalendarUnreadable:
            return await self._finish(place, invitation, AnswerState.DECIDED)
        reply = compose_reply(
            resource,
            invitation,
            decision.answer,
            text=text,
            calendar=calendar,
            message_id=reply_id(place.tenant_id, resource, invitation),
            to=answering.mail.message_id,
            at=at,
        )
        await self._move(place, invitation, AnswerState.DECIDED, AnswerState.SENDING)
        fault = await place.servers.outbox.send(reply)
        if isinstance(fault, TryAgain):
            # The server may have accepted it before the connection broke off: its copy tells.
            raise fault
        if isinstance(fault, Rejected):
            self._log("The reply of a resource was refused permanently.", place, fault.detail)
        return await self._finish(place, invitation, AnswerState.SENDING)

    async def _settle(self, place: Place, answering: Answering, since: datetime) -> bool:
        """Find out whether a reply was sent whose sending was cut short.

        Returns True if it was. Otherwise the next run sends it, once its copy had the time to arrive.
        """
        invitation = answering.invitation
        if await place.servers.inboxes.has_copy(place.resource, reply_id(place.tenant_id, place.resource, invitation)):
            return await self._finish(place, invitation, AnswerState.SENDING)
        if since + SETTLED_AFTER < self.now():
            await self._move(place, invitation, AnswerState.SENDING, AnswerState.DECIDED)
        return False

    async def _finish(self, place: Place, invitation: Invitation, *before: AnswerState) -> bool:
        async with self.database.transaction(place.tenant_id) as tx:
            await store.move(tx, place.resource.id, invitation, before, AnswerState.DONE)
        return True

    async def _move(self, place: Place, invitation: Invitation, before: AnswerState, after: AnswerState) -> None:
        """Change the state (compare and swap).

        Raises LeaseLost if another worker has changed it.
        """
        async with self.database.transaction(place.tenant_id) as tx:
            is_held = await store.hold(tx, place.resource.id, place.lease_id)
            if not is_held or not await store.move(tx, place.resource.id, invitation, [before], after):
                raise LeaseLost

    def _log(self, sentence: str, place: Place, outcome: str) -> None:
        extra = {"tenantId": str(place.tenant_id), "resourceId": str(place.resource.id), "outcome": outcome}
        logger.info(sentence, extra=extra)
