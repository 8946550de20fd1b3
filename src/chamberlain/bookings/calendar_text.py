# SPDX-License-Identifier: Apache-2.0
"""Read invitations and bookings from the texts of calendars."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Final

from chamberlain.bookings.components import (
    CalendarUnreadable,
    Component,
    Property,
    RuleUnsupported,
    address_of,
    find_attendee,
    is_cancelled,
    moment_of,
    parameter_of,
    parsed,
    recurrence_of,
    to_utc,
    unfolded,
    zone_of,
)
from chamberlain.bookings.models import (
    ORGANIZER_MARK,
    Answer,
    Appointment,
    Booked,
    Ignored,
    Invitation,
    Method,
    Period,
    Resource,
    Stored,
    Version,
)
from chamberlain.bookings.occurrences import all_periods
from chamberlain.bookings.rules import HORIZON

# Characters of an invitation. Those of the usual clients have some thousand.
LONGEST_TEXT: Final = 262_144
LONGEST_UID: Final = 512
_UID = re.compile(r"^UID(?:;[^:\n]*)?:(.*)$", re.MULTILINE)
_ORGANIZER = re.compile(rf"^{ORGANIZER_MARK}(?:;[^:\n]*)?:(.*)$", re.MULTILINE)
# Of an integer of the database.
_LARGEST_SEQUENCE: Final = 2**31 - 1


def read_invitation(text: str, resource: Resource, window: Period) -> Invitation | Ignored:
    """Read an invitation for a resource from the text of a calendar."""
    if len(text) > LONGEST_TEXT:
        return Ignored.TOO_LONG
    try:
        with parsed(text) as calendar:
            return _invitation(calendar, resource, window)
    except CalendarUnreadable:
        return Ignored.UNREADABLE


def read_booked(stored: Stored, resource: Resource, window: Period) -> Booked | None:
    """Read the booking in an object of the resource's calendar.

    None if the resource does not take part. Raises CalendarUnreadable.
    """
    with parsed(stored.text) as calendar:
        events = [each for each in calendar.walk("VEVENT") if not is_cancelled(each)]
        taken = [each for each in events if not _has_declined(each, resource)]
        if not taken:
            return None
        taken_ids = {id(each) for each in taken}
        free = [recurrence_of(each, zone_of(resource)) for each in events if id(each) not in taken_ids]
        periods = all_periods(taken, zone_of(resource), window, free)
        return Booked(str(taken[0].get("UID", "")), organizer_of(stored), tuple(sorted(periods)))


def version_of(stored: Stored, recurrence: str, resource: Resource) -> Version | None:
    """Return the version of an appointment in a calendar.

    None if it is not there. Raises CalendarUnreadable.
    """
    with parsed(stored.text) as calendar:
        for each in calendar.walk("VEVENT"):
            if recurrence_of(each, zone_of(resource)) == recurrence:
                return _version(each)
    return None


def organizer_of(stored: Stored) -> str | None:
    """Return the organizer of a booking that this service has written.

    None for one of the calendar server or of a user. The text is not parsed, which takes longer.
    """
    found = _ORGANIZER.search(unfolded(stored.text))
    return None if found is None else found[1].strip().lower()


def has_uid(stored: Stored, uid: str) -> bool:
    """Return whether an object is the appointment with this uid."""
    wanted = {uid, uid.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")}
    return any(each.strip() in wanted for each in _UID.findall(unfolded(stored.text)))


def is_booked_by_server(stored: Stored, resource: Resource) -> bool:
    """Return whether the calendar server has booked the resource in this object.

    It books nothing for a resource with the role NON-PARTICIPANT. Raises CalendarUnreadable.
    """
    with parsed(stored.text) as calendar:
        named = [me for each in calendar.walk("VEVENT") if (me := find_attendee(each, resource)) is not None]
        return bool(named) and all(parameter_of(me, "ROLE") != "NON-PARTICIPANT" for me in named)


def _invitation(calendar: Component, resource: Resource, window: Period) -> Invitation | Ignored:
    method = str(calendar.get("METHOD", "")).strip().upper()
    if method not in list(Method):
        return Ignored.OTHER_METHOD
    events, zone = calendar.walk("VEVENT"), zone_of(resource)
    named = [(each, me) for each in events if (me := find_attendee(each, resource)) is not None]
    if not named:
        return Ignored.NOT_INVITED
    uids = {str(each.get("UID", "")) for each in events}
    recurrences = {recurrence_of(each, zone) for each in events}
    organizers = {address_of(each.get("ORGANIZER")) for each in events if "ORGANIZER" in each}
    if len(recurrences) < len(events) or len(uids) != 1:
        return Ignored.UNREADABLE
    if not 0 < len(uid := uids.pop()) <= LONGEST_UID or not uid.isprintable():
        return Ignored.UNREADABLE
    if len(organizers) != 1 or (organizer := organizers.pop()) is None:
        return Ignored.NO_ORGANIZER
    if organizer in resource.addresses:
        return Ignored.FROM_RESOURCE
    taken = [(each, me) for each, me in named if not is_cancelled(each)]
    if not taken:
        method = Method.CANCEL
    asked = [] if method == Method.CANCEL else taken
    # A series that begins later has the same horizon.
    starts = [to_utc(moment_of(each.get("DTSTART")), zone) for each, _ in asked]
    window = Period(window.start, max([window.end, *(each + HORIZON for each in starts)]))
    asked_ids = {id(event) for event, _ in asked}
    free = [recurrence_of(each, zone) for each in events if id(each) not in asked_ids]
    is_supported, periods = _supported([each for each, _ in asked], zone, window, free)
    return Invitation(
        uid=uid,
        method=Method(method),
        organizer=organizer,
        invited_as=address_of(named[0][1]) or resource.mail,
        summary=str(events[0].get("SUMMARY", "")),
        appointments=tuple(
            Appointment(recurrence_of(each, zone), _version(each), (), _is_asked(me), is_supported)
            for each, me in (asked or named)
        ),
        periods=tuple(sorted(periods)),
    )


def _supported(events: list[Component], zone: tzinfo, window: Period, free: list[str]) -> tuple[bool, Iterable[Period]]:
    """Return whether the occurrences can be computed, and them."""
    if any("RECURRENCE-ID" in each and ("RRULE" in each or "RDATE" in each) for each in events):
        return False, ()
    if any(parameter_of(each.get("RECURRENCE-ID"), "RANGE") for each in events):
        return False, ()
    try:
        return True, all_periods(events, zone, window, free)
    except RuleUnsupported:
        return False, ()


def _has_declined(event: Component, resource: Resource) -> bool:
    me = find_attendee(event, resource)
    return me is not None and parameter_of(me, "PARTSTAT") == Answer.DECLINED


def _is_asked(me: Property) -> bool:
    return (parameter_of(me, "PARTSTAT") or "NEEDS-ACTION").upper() == "NEEDS-ACTION"


def _version(event: Component) -> Version:
    stamp = event.get("DTSTAMP") or event.get("LAST-MODIFIED")
    at = datetime.fromtimestamp(0, UTC) if stamp is None else to_utc(moment_of(stamp), UTC)
    return Version(min(max(int(str(event.get("SEQUENCE", 0))), 0), _LARGEST_SEQUENCE), at)
