# SPDX-License-Identifier: Apache-2.0
"""Rules of answers: versions, conflicts and decisions."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from chamberlain.bookings.models import (
    WHOLE,
    Answer,
    AnswerState,
    Appointment,
    Booked,
    Decision,
    Invitation,
    InvitationStatus,
    Method,
    Period,
    Refusal,
    StoredAnswer,
)

# Occurrences of a series are compared with bookings for so long. Our choice: longer than the half year of Exchange
# (BookingWindowInDays), and than the year of SOGo.
HORIZON = timedelta(days=730)
# Most occurrences of a series that a reply lists.
MOST_LISTED = 5


def window_at(now: datetime) -> Period:
    """Return the time in which occurrences are compared."""
    return Period(now, now + HORIZON)


def status_of(
    appointment: Appointment, method: Method, organizer: str, known: Iterable[StoredAnswer]
) -> InvitationStatus:
    """Compare an appointment with the answers to earlier mails about it.

    `known` are those of the same resource and uid. An organizer changes only the own appointments. A newer mail with
    the same sequence is answered again if it asks for an answer.
    """
    newest: StoredAnswer | None = None
    for each in known:
        if each.organizer != organizer:
            return InvitationStatus.OUTDATED
        if each.recurrence == appointment.recurrence and (newest is None or each.version > newest.version):
            newest = each
        if _ends(each, appointment):
            return InvitationStatus.OUTDATED
    if newest is None or appointment.version.sequence > newest.version.sequence:
        return InvitationStatus.NEW
    if appointment.version < newest.version:
        return InvitationStatus.OUTDATED
    if appointment.version == newest.version and method is newest.method:
        return InvitationStatus.DONE if newest.state is AnswerState.DONE else InvitationStatus.CONTINUED
    # Outlook cancels with the sequence of the invitation, and some clients with its stamp.
    if method is Method.CANCEL:
        return InvitationStatus.NEW
    if newest.method is Method.CANCEL or appointment.is_asked:
        return InvitationStatus.NEW if appointment.version > newest.version else InvitationStatus.OUTDATED
    return InvitationStatus.DONE


def _ends(known: StoredAnswer, appointment: Appointment) -> bool:
    """Return whether a newer cancellation of the series includes this occurrence."""
    is_of_series = known.recurrence == WHOLE and appointment.recurrence != WHOLE
    return is_of_series and known.method is Method.CANCEL and known.version.stamp >= appointment.version.stamp


def is_own(booked: Booked, invitation: Invitation) -> bool:
    """Return whether a booking belongs to the appointment of an invitation.

    The bookings of single occurrences have the uid of their series and a suffix.
    """
    is_of_uid = booked.uid == invitation.uid or booked.uid.startswith(f"{invitation.uid}{OCCURRENCE_MARK}")
    return is_of_uid and booked.organizer in {None, invitation.organizer}


# Between the uid of a series and an occurrence, in the uid of the booking of a single occurrence.
OCCURRENCE_MARK = "_occurrence_"


def booking_uid(invitation: Invitation, *, has_series: bool) -> str:
    """Return the uid of the booking.

    An occurrence of a series that is not booked has a booking of its own.
    """
    if invitation.is_whole or has_series:
        return invitation.uid
    return occurrence_uid(invitation.uid, invitation.appointments[0].recurrence)


def occurrence_uid(uid: str, recurrence: str) -> str:
    """Return the uid of the booking of a single occurrence."""
    return f"{uid}{OCCURRENCE_MARK}{recurrence}"


def decide(invitation: Invitation, booked: Iterable[Booked], most_bookings: int, now: datetime) -> Decision:
    """Decide on a request.

    One occupied occurrence declines the whole series, as with Exchange and SOGo by default. Past occurrences do not
    matter.
    """
    if any(not each.is_supported for each in invitation.appointments):
        return Decision(Answer.DECLINED, Refusal.RULE_UNSUPPORTED)
    wanted = [each for each in invitation.periods if each.end > now]
    if not wanted:
        return Decision(Answer.DECLINED, Refusal.PAST)
    others = [period for each in booked if not is_own(each, invitation) for period in each.periods]
    found = tuple(conflicts(wanted, others, most_bookings))
    if found:
        return Decision(Answer.DECLINED, Refusal.OCCUPIED, found)
    return Decision(Answer.ACCEPTED)


def conflicts(wanted: Sequence[Period], booked: Sequence[Period], most: int) -> Iterator[Period]:
    """Yield the wanted periods without a free unit for their whole time.

    `most` is the number of units; zero or less means any number.
    """
    if most <= 0:
        return
    in_order = sorted(booked)
    for each in wanted:
        inside = [other for other in in_order if each.overlaps(other)]
        if len(inside) >= most and peak(inside, each) >= most:
            yield each


def peak(booked: Iterable[Period], within: Period) -> int:
    """Return the largest number of bookings at one moment.

    A booking that ends when the next one begins is not concurrent with it.
    """
    events = sorted(
        event for each in booked for event in ((max(each.start, within.start), 1), (min(each.end, within.end), -1))
    )
    most = running = 0
    for _, step in events:
        running += step
        most = max(most, running)
    return most
