# SPDX-License-Identifier: Apache-2.0
"""Write calendars: bookings, their changes, and replies."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from itertools import chain
from typing import Final, cast

from chamberlain.bookings.components import (
    DAY_FORMAT,
    TIME_FORMAT,
    Component,
    Moment,
    Property,
    address_of,
    dates_of,
    find_attendee,
    is_cancelled,
    key_of,
    library,
    moment_of,
    parsed,
    recurrence_of,
    values_of,
    zone_of,
)
from chamberlain.bookings.models import KEPT_PROPERTIES, ORGANIZER_MARK, WHOLE, Answer, Resource, Stored
from chamberlain.bookings.occurrences import period_of

PRODUCT: Final = "-//Chamberlain//Bookings//EN"


def private_copy(text: str, resource: Resource, uid: str, stored: Stored | None) -> str:
    """Return the text for the calendar of the resource.

    It has neither organizer nor attendees. `stored` is the booking that it changes. Raises CalendarUnreadable.
    """
    return _copy(text, resource, uid, stored, _private)


def scheduled_copy(text: str, resource: Resource, uid: str, stored: Stored | None) -> str:
    """Return the text for the calendar of an internal organizer.

    The server then books the resource, its only attendee here, and sends no invitations. Raises CalendarUnreadable.
    """
    return _copy(text, resource, uid, stored, lambda event: _scheduled(event, resource))


def participating(stored: Stored, resource: Resource) -> str:
    """Return the organizer's event with the resource as participant.

    The calendar server does not book resources with another role. Raises CalendarUnreadable.
    """
    with parsed(stored.text) as calendar:
        for event in calendar.walk("VEVENT"):
            me = find_attendee(event, resource)
            if me is not None:
                me.params["ROLE"] = "REQ-PARTICIPANT"
                me.params["PARTSTAT"] = "NEEDS-ACTION"
        return calendar.to_ical().decode()


def without(stored: Stored, recurrences: Iterable[str], resource: Resource) -> str | None:
    """Remove occurrences from a booking.

    Returns None if nothing remains. Raises CalendarUnreadable.
    """
    gone, zone = frozenset(recurrences), zone_of(resource)
    with parsed(stored.text) as calendar:
        events = calendar.walk("VEVENT")
        kept = [each for each in events if recurrence_of(each, zone) not in gone]
        series = next((each for each in kept if "RECURRENCE-ID" not in each), None)
        if WHOLE in gone or not kept:
            return None
        if series is not None:
            for recurrence in sorted(gone):
                _exclude(series, recurrence)
            if "RRULE" not in series and "RDATE" not in series:
                return None
        calendar.subcomponents = [each for each in calendar.subcomponents if each not in events or each in kept]
        return calendar.to_ical().decode()


def reply_text(text: str, resource: Resource, answer: Answer, comment: str, at: datetime) -> str:
    """Return the calendar of a reply (RFC 5546, 3.2.3). Raises CalendarUnreadable."""
    with parsed(text) as calendar:
        reply = _new_calendar()
        reply.add("METHOD", "REPLY")
        for each in calendar.walk("VTIMEZONE"):
            reply.add_component(each)
        for event in calendar.walk("VEVENT"):
            me = find_attendee(event, resource)
            if me is None:
                continue
            answered = library().Event()
            for name in _REPLIED:
                if name in event:
                    answered[name] = event.get(name)
            me.params.pop("RSVP", None)
            me.params["PARTSTAT"] = answer.value
            answered["ATTENDEE"] = me
            answered.add("DTSTAMP", at)
            answered.add("COMMENT", comment)
            reply.add_component(answered)
        return reply.to_ical().decode()


# Besides the required ones, Exchange matches a reply by its times, and clients show the summary.
_REPLIED: Final = ("UID", "SEQUENCE", "ORGANIZER", "RECURRENCE-ID", "DTSTART", "DTEND", "DURATION", "SUMMARY", "RRULE")


def _copy(
    text: str, resource: Resource, uid: str, stored: Stored | None, copy: Callable[[Component], Component]
) -> str:
    zone = zone_of(resource)
    with parsed(text) as calendar:
        named = [each for each in calendar.walk("VEVENT") if find_attendee(each, resource) and not is_cancelled(each)]
        left = [recurrence_of(each, zone) for each in calendar.walk("VEVENT") if each not in named]
        changed = {recurrence_of(each, zone): copy(each) for each in named}
        zones = calendar.walk("VTIMEZONE")
        before = [] if stored is None else _events(stored)
        if WHOLE in changed:
            _keep_occurrences(changed, before, zone)
            for recurrence in left:
                _exclude(changed[WHOLE], recurrence)
        elif before:
            for each in before:
                changed.setdefault(recurrence_of(each, zone), each)
            if WHOLE in changed:
                _include(changed[WHOLE], changed.keys() - {WHOLE}, zone)
        else:
            for each in changed.values():
                each.pop("RECURRENCE-ID", None)
        result = _new_calendar()
        names = {str(each.get("TZID", "")) for each in zones}
        older = [] if stored is None else library().Calendar.from_ical(stored.text).walk("VTIMEZONE")
        for each in chain(zones, (one for one in older if str(one.get("TZID", "")) not in names)):
            result.add_component(each)
        for _, each in sorted(changed.items()):
            each["UID"] = uid
            result.add_component(each)
        return result.to_ical().decode()


def _events(stored: Stored) -> list[Component]:
    return library().Calendar.from_ical(stored.text).walk("VEVENT")


def _keep_occurrences(changed: dict[str, Component], before: list[Component], zone: tzinfo) -> None:
    """Keep changed and excluded occurrences of a series with the same times.

    Outlook sends a series without its occurrences.
    """
    series = next((each for each in before if "RECURRENCE-ID" not in each), None)
    if series is None or _pattern(series, zone) != _pattern(changed[WHOLE], zone):
        return
    for each in before:
        changed.setdefault(recurrence_of(each, zone), each)
    mine = {key_of(each, zone) for each in dates_of(changed[WHOLE], "EXDATE") if not isinstance(each, tuple)}
    before_excluded = [each for each in dates_of(series, "EXDATE") if not isinstance(each, tuple)]
    for key in dict.fromkeys(key_of(each, zone) for each in before_excluded):
        if key not in mine:
            _exclude(changed[WHOLE], key)


def _pattern(event: Component, zone: tzinfo) -> tuple[object, ...]:
    start = moment_of(event.get("DTSTART"))
    rules = sorted(cast("Component", each).to_ical() for each in values_of(event.get("RRULE")))
    return key_of(start, zone), period_of(event, start, zone), tuple(rules)


def _exclude(series: Component, recurrence: str) -> None:
    """Exclude an occurrence by its key."""
    moment: Moment = (
        datetime.strptime(recurrence, TIME_FORMAT).replace(tzinfo=UTC)
        if "T" in recurrence
        else datetime.strptime(recurrence, DAY_FORMAT).replace(tzinfo=UTC).date()
    )
    excluded = library().vDDDLists([moment])
    if not isinstance(moment, datetime):
        excluded.params["VALUE"] = "DATE"
    series.add("EXDATE", excluded)


def _include(series: Component, recurrences: Iterable[str], zone: tzinfo) -> None:
    """Include occurrences again that were excluded."""
    wanted = set(recurrences)
    kept = [each for each in dates_of(series, "EXDATE") if not isinstance(each, tuple)]
    series.pop("EXDATE", None)
    for each in kept:
        if (key := key_of(each, zone)) not in wanted:
            _exclude(series, key)


def _private(event: Component) -> Component:
    copy = library().Event()
    for name in event.keys():  # noqa: SIM118 - keys of the library's mapping.
        if name.upper() in KEPT_PROPERTIES:
            copy[name] = event.get(name)
    copy.add("TRANSP", "OPAQUE")
    copy.add(ORGANIZER_MARK, address_of(event.get("ORGANIZER")) or "")
    return copy


def _scheduled(event: Component, resource: Resource) -> Component:
    copy, me = _private(event), cast("Property", find_attendee(event, resource))
    organizer = cast("Property", event.get("ORGANIZER"))
    organizer.params["SCHEDULE-AGENT"] = "CLIENT"
    me.params.pop("RSVP", None)
    me.params["ROLE"], me.params["PARTSTAT"] = "REQ-PARTICIPANT", "NEEDS-ACTION"
    copy["ORGANIZER"], copy["ATTENDEE"] = organizer, me
    return copy


def _new_calendar() -> Component:
    calendar = library().Calendar()
    calendar.add("VERSION", "2.0")
    calendar.add("PRODID", PRODUCT)
    return calendar
