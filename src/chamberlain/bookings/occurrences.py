# SPDX-License-Identifier: Apache-2.0
"""Compute the occurrences of appointments and series (RFC 5545, 3.8.5)."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cache
from importlib import import_module
from typing import Final, Protocol, cast

from chamberlain.bookings.components import (
    Component,
    Moment,
    RuleUnsupported,
    dates_of,
    key_of,
    moment_of,
    recurrence_of,
    to_utc,
    value_of,
    values_of,
)
from chamberlain.bookings.models import Period

# Occurrences of one series, from its first one on: fifty years of days.
MOST_OCCURRENCES: Final = 20_000
# Rules with several of these repeat more often than daily.
_TIMES_OF_DAY: Final = frozenset({"BYHOUR", "BYMINUTE", "BYSECOND"})
# Other parts are rare, as are days of the month in a daily rule, and some rules with them take minutes to expand.
_OF_DAYS: Final = _TIMES_OF_DAY | {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTH"}
_PARTS: Final = {
    "DAILY": _OF_DAYS,
    "WEEKLY": _OF_DAYS,
    "MONTHLY": _OF_DAYS | {"BYMONTHDAY", "BYSETPOS"},
    "YEARLY": _OF_DAYS | {"BYMONTHDAY", "BYSETPOS"},
}
_MONTHS: Final = 12
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9_000


class Rules(Protocol):
    """The used part of dateutil.rrule, which icalendar depends on."""

    def rrulestr(self, text: str, *, dtstart: datetime, ignoretz: bool) -> Iterable[datetime]: ...


@cache
def _rules() -> Rules:
    return cast("Rules", import_module("dateutil.rrule"))


def all_periods(events: list[Component], zone: tzinfo, window: Period, free: Iterable[str]) -> Iterable[Period]:
    """Return the periods of a series with its replaced occurrences.

    Those in `free` do not count.
    """
    found: dict[str, Period] = {}
    replaced = {recurrence_of(each, zone) for each in events} | set(free)
    for each in events:
        occurrences = _occurrences(each, zone, window)
        if "RECURRENCE-ID" in each:
            found.update({f"{recurrence_of(each, zone)}/{key}": period for key, period in occurrences.items()})
        else:
            found.update({key: period for key, period in occurrences.items() if key not in replaced})
    return [each for each in found.values() if each.end > window.start]


def _occurrences(event: Component, zone: tzinfo, window: Period) -> Mapping[str, Period]:
    """Return the occurrences of an event until the end of the window."""
    start = moment_of(event.get("DTSTART"))
    first = period_of(event, start, zone)
    found = {key_of(start, zone): first}
    rules = values_of(event.get("RRULE"))
    if len(rules) > 1:
        raise RuleUnsupported
    for rule in rules:
        # Conversions from other time zones take long. A day is longer than the difference of two zones.
        since = window.start - (first.end - first.start) - timedelta(days=2)
        for moment in _expand(cast("Component", rule), start, zone, Period(since, window.end)):
            found[key_of(moment, zone)] = period_of(event, moment, zone)
    for each in dates_of(event, "RDATE"):
        if isinstance(each, tuple):
            begin, end = each
            until = to_utc(begin, zone) + end if isinstance(end, timedelta) else to_utc(end, zone)
            found[key_of(begin, zone)] = Period(to_utc(begin, zone), until)
        else:
            found[key_of(each, zone)] = period_of(event, each, zone)
    for each in dates_of(event, "EXDATE"):
        if not isinstance(each, tuple):
            found.pop(key_of(each, zone), None)
    return found


def _expand(rule: Component, start: Moment, zone: tzinfo, window: Period) -> Iterator[Moment]:
    """Yield the occurrences of a rule in a window.

    They are in its local time: a daily meeting stays at its hour when summer time begins.
    """
    own = start.tzinfo if isinstance(start, datetime) else None
    parts = dict(part.split("=", 1) for part in rule.to_ical().decode().split(";") if "=" in part)
    if not _is_supported(parts):
        raise RuleUnsupported
    if not _FIRST_YEAR <= start.year < _LAST_YEAR:
        raise RuleUnsupported
    count = int(parts.pop("COUNT", MOST_OCCURRENCES))
    until, last = parts.pop("UNTIL", None), _wall(window.end, own or zone)
    if until is not None:
        ends = cast("list[Moment]", values_of(rule.get("UNTIL")))[0]
        last = min(last, _last_moment(ends, own or zone))
    parts["UNTIL"] = f"{last:%Y%m%dT%H%M%S}"
    first, since = _wall(start, own or zone), window.start.replace(tzinfo=None)
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    try:
        for number, each in enumerate(_rules().rrulestr(text, dtstart=first, ignoretz=True)):
            if number >= min(count, MOST_OCCURRENCES):
                return
            if each < since:
                continue
            yield each.replace(tzinfo=own) if isinstance(start, datetime) else each.date()
    except (ValueError, TypeError) as error:
        raise RuleUnsupported from error


def _is_supported(parts: Mapping[str, str]) -> bool:
    """Return whether a rule can be expanded in a short time."""
    if not parts.keys() <= _PARTS.get(parts.get("FREQ", ""), frozenset()) or parts.get("INTERVAL") == "0":
        return False
    if any("," in parts.get(each, "") for each in _TIMES_OF_DAY):
        return False
    return all(month.isdecimal() and 1 <= int(month) <= _MONTHS for month in parts.get("BYMONTH", "1").split(","))


def _wall(moment: Moment, zone: tzinfo) -> datetime:
    """Return the local time without its zone.

    A date is its first moment.
    """
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time())
    return moment.replace(tzinfo=None) if moment.tzinfo is None else moment.astimezone(zone).replace(tzinfo=None)


def _last_moment(ends: Moment, zone: tzinfo) -> datetime:
    """Return the local time of the end of a series.

    The day of a date belongs to it.
    """
    return _wall(ends, zone) + (timedelta() if isinstance(ends, datetime) else timedelta(days=1, seconds=-1))


def period_of(event: Component, start: Moment, zone: tzinfo) -> Period:
    """Return the time of an occurrence that starts at this moment."""
    first, end, duration = moment_of(event.get("DTSTART")), event.get("DTEND"), event.get("DURATION")
    begin = to_utc(start, zone)
    if end is not None and not isinstance(start, datetime):
        length = _day(moment_of(end)) - _day(first)
        return Period(begin, to_utc(start + max(length, timedelta(days=1)), zone))
    if end is not None:
        return Period(begin, begin + max(to_utc(moment_of(end), zone) - to_utc(first, zone), timedelta()))
    if duration is not None:
        # Older versions of the library have the length under another name.
        length = cast("timedelta", getattr(duration, "td", value_of(duration)))
        return Period(begin, begin + max(length, timedelta()))
    if isinstance(start, datetime):
        return Period(begin, begin)
    return Period(begin, to_utc(start + timedelta(days=1), zone))


def _day(moment: Moment) -> date:
    return moment.date() if isinstance(moment, datetime) else moment
