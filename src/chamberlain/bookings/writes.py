# SPDX-License-Identifier: Apache-2.0
"""Look at the calendar of a resource, book and release.

An invitation by a person with an account at the calendar server is booked in the calendar of that person, because the
server refuses it in the calendar of the resource. The server then books the resource itself. Any other invitation is
booked in the calendar of the resource, without organizer and attendees.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chamberlain.bookings.calendar_text import is_booked_by_server, organizer_of, read_booked, version_of
from chamberlain.bookings.components import CalendarUnreadable
from chamberlain.bookings.copies import participating, private_copy, scheduled_copy, without
from chamberlain.bookings.models import (
    WHOLE,
    Answer,
    Booked,
    Decision,
    Invitation,
    Period,
    Put,
    Refusal,
    Resource,
    Stored,
    StoredAnswer,
)
from chamberlain.bookings.port import BookingServers
from chamberlain.bookings.rules import booking_uid, decide, occurrence_uid
from chamberlain.core.errors import Cause, TryAgain

# Optimistic-lock retries of one booking.
_MOST_RETRIES: Final = 5
_RETRY_AFTER: Final = timedelta(seconds=10)

Copy = Callable[[str, Resource, str, Stored | None], str]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BookingWriter:
    """Books one resource at a time `at`.

    Every method raises TryAgain if a server does not answer.
    """

    servers: BookingServers
    resource: Resource
    at: datetime

    async def is_foreign(self, invitation: Invitation) -> bool:
        """Return whether the calendar server has booked this version itself, over CalDAV.

        Its own notices to the resource then need no answer.
        """
        stored = await self.servers.calendars.find(self.resource.login, invitation.uid, self._span(invitation))
        if stored is None or organizer_of(stored) is not None:
            return False
        return await asyncio.to_thread(self._is_booked, stored, invitation)

    async def book(
        self, invitation: Invitation, text: str, owner: str | None, known: Sequence[StoredAnswer]
    ) -> tuple[Decision, str | None]:
        """Decide and book.

        `owner` is the login of an organizer with an account here. Returns the login of the calendar with the booking as
        well. A declined change releases the former booking, because the appointment has moved away from it.
        """
        for _ in range(_MOST_RETRIES):
            decision = await self._decide(invitation)
            if decision.answer is Answer.DECLINED:
                await self.release(invitation, known)
                return decision, None
            outcome = await self._try_put(invitation, text, owner, known)
            match outcome:
                case Put.STORED:
                    return decision, owner or self.resource.login
                case Put.OCCUPIED:
                    await self.release(invitation, known)
                    return Decision(Answer.DECLINED, Refusal.OCCUPIED), None
                case Put.REFUSED:
                    return Decision(Answer.DECLINED, Refusal.CALENDAR_REFUSES), None
                case Put.CHANGED:
                    continue
        raise TryAgain(_RETRY_AFTER, "The calendar of the resource changes too often.", Cause.BUSY)

    async def release(self, invitation: Invitation, known: Sequence[StoredAnswer]) -> None:
        """Remove the bookings of an invitation that this service has written (idempotent)."""
        logins = sorted({each.calendar for each in known if each.calendar is not None}) or [self.resource.login]
        recurrences = {each.recurrence for each in invitation.appointments}
        singles = {each.recurrence for each in known} if WHOLE in recurrences else recurrences
        for login in logins:
            for _ in range(_MOST_RETRIES):
                if await self._remove(login, invitation, recurrences):
                    break
            await self._remove_singles(login, invitation, singles)

    async def _decide(self, invitation: Invitation) -> Decision:
        span = self._span(invitation)
        objects = () if span is None else await self.servers.calendars.between(self.resource.login, span)
        booked = () if span is None else await asyncio.to_thread(self._read, objects, span)
        return decide(invitation, booked, self.resource.most_bookings, self.at)

    def _is_booked(self, stored: Stored, invitation: Invitation) -> bool:
        """Return whether the server has booked at least this version."""
        try:
            if not is_booked_by_server(stored, self.resource):
                return False
            series = version_of(stored, WHOLE, self.resource)
            for each in invitation.appointments:
                booked = version_of(stored, each.recurrence, self.resource) or series
                if booked is None or booked.sequence < each.version.sequence:
                    return False
        except CalendarUnreadable:
            return False
        return True

    def _read(self, objects: Iterable[Stored], span: Period) -> Sequence[Booked]:
        found: list[Booked] = []
        for each in objects:
            try:
                if (booked := read_booked(each, self.resource, span)) is not None:
                    found.append(booked)
            except CalendarUnreadable:
                extra = {"resourceId": str(self.resource.id), "path": each.path}
                logger.warning("An appointment of a resource cannot be read, and counts as free.", extra=extra)
        return found

    async def _try_put(
        self, invitation: Invitation, text: str, owner: str | None, known: Sequence[StoredAnswer]
    ) -> Put:
        try:
            if owner is None:
                return await self._put(self.resource.login, invitation, text, private_copy, known)
            return await self._put_at_organizer(owner, invitation, text, known)
        except CalendarUnreadable:
            return Put.REFUSED

    async def _put_at_organizer(
        self, owner: str, invitation: Invitation, text: str, known: Sequence[StoredAnswer]
    ) -> Put:
        """Book in the calendar of the organizer.

        The server must have booked the resource then.
        """
        calendars, span = self.servers.calendars, self._span(invitation)
        stored = await calendars.find(owner, invitation.uid, span)
        if stored is not None and organizer_of(stored) is None:
            # The organizer's own appointment, with the resource in a role that the server does not book.
            copy = await asyncio.to_thread(participating, stored, self.resource)
            outcome = await calendars.put(owner, invitation.uid, copy, stored)
        else:
            outcome = await self._put(owner, invitation, text, scheduled_copy, known)
        if outcome is not Put.STORED:
            return outcome
        uids = (invitation.uid, booking_uid(invitation, has_series=False))
        for uid in dict.fromkeys(uids):
            if await calendars.find(self.resource.login, uid, span) is not None:
                return Put.STORED
        return Put.REFUSED

    async def _put(
        self, login: str, invitation: Invitation, text: str, copy: Copy, known: Sequence[StoredAnswer]
    ) -> Put:
        calendars = self.servers.calendars
        series = await calendars.find(login, invitation.uid, self._span(invitation))
        has_series = (
            series is not None and await asyncio.to_thread(version_of, series, WHOLE, self.resource) is not None
        )
        uid = booking_uid(invitation, has_series=has_series)
        is_single = uid != invitation.uid
        stored = await calendars.find(login, uid, None) if is_single else series
        if stored is not None and not _is_of(stored, invitation.organizer):
            return Put.REFUSED
        new = await asyncio.to_thread(copy, text, self.resource, uid, None if is_single else stored)
        outcome = await calendars.put(login, uid, new, stored)
        if outcome is Put.STORED and invitation.is_whole:
            await self._remove_singles(login, invitation, {each.recurrence for each in known})
        return outcome

    async def _remove(self, login: str, invitation: Invitation, recurrences: set[str]) -> bool:
        """Remove occurrences, or all. Returns False if the object has changed meanwhile."""
        calendars = self.servers.calendars
        stored = await calendars.find(login, invitation.uid, None)
        if stored is None or not _is_of(stored, invitation.organizer):
            return True
        try:
            left = await asyncio.to_thread(without, stored, recurrences, self.resource)
        except CalendarUnreadable:
            left = None
        if left is None:
            return await calendars.delete(stored)
        return await calendars.put(login, invitation.uid, left, stored) is not Put.CHANGED

    async def _remove_singles(self, login: str, invitation: Invitation, recurrences: Iterable[str]) -> None:
        """Remove the bookings of single occurrences."""
        for recurrence in recurrences:
            if recurrence != WHOLE:
                uid = occurrence_uid(invitation.uid, recurrence)
                stored = await self.servers.calendars.find(login, uid, None)
                if stored is not None and _is_of(stored, invitation.organizer):
                    await self.servers.calendars.delete(stored)

    def _span(self, invitation: Invitation) -> Period | None:
        """Return the time of all occurrences from now on.

        None if there are none.
        """
        left = [each for each in invitation.periods if each.end > self.at]
        if not left:
            return None
        start, end = max(min(each.start for each in left), self.at), max(each.end for each in left)
        return Period(start, max(end, start + timedelta(seconds=1)))


def _is_of(stored: Stored, organizer: str) -> bool:
    """Return whether this service has written a booking for an organizer."""
    return organizer_of(stored) == organizer
