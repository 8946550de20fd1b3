# SPDX-License-Identifier: Apache-2.0
"""Parse calendars (RFC 5545), and read values of their components.

The library belongs to the extra `opensuite`, and is imported at the first use. Protocols describe the part that is used
here, so that type checks pass without it. Nothing here does I/O.
"""

import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from importlib import import_module
from typing import Final, Protocol, TypeAlias, cast
from zoneinfo import ZoneInfo

from chamberlain.bookings.models import WHOLE, Resource

# The library caches time zones by name, and different calendars may give one name to different zones.
_ALONE: Final = threading.Lock()
# Limits of a calendar. An invitation has some hundred lines, and a time zone with its history some rules.
_MOST_LINES: Final = 20_000
_MOST_COMPONENTS: Final = 1_000
_MOST_ZONE_RULES: Final = 16
_MOST_ZONE_PARTS: Final = 300
# Rules of time zones as clients write them: on one day of one month. The library expands a rule from its start until
# 2038, and one of each second for hours.
_ZONE_PART: Final = (
    r"(?:(?:FREQ|INTERVAL|BYMONTH|BYMONTHDAY|UNTIL|COUNT|WKST)=[^,;]+|BYDAY=[^,;]+(?:;BYMONTHDAY=[^;]+)?)"
)
_ZONE_RULE: Final = re.compile(rf"(?=.*FREQ=YEARLY)(?=.*BYMONTH=\d+(?:;|$)){_ZONE_PART}(?:;{_ZONE_PART})*")
_OBSERVANCES: Final = frozenset({"STANDARD", "DAYLIGHT"})
# The library raises these for some malformed texts.
_MALFORMED: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)

Moment: TypeAlias = date | datetime


class Property(Protocol):
    """A value with its parameters."""

    params: dict[str, str]


class Component(Protocol):
    """A component of the library."""

    subcomponents: list["Component"]

    def get(self, key: str, default: object = None) -> object: ...
    def pop(self, key: str, default: object = None) -> object: ...
    def keys(self) -> Iterable[str]: ...
    def walk(self, name: str | None = None) -> list["Component"]: ...
    def add(self, name: str, value: object) -> None: ...
    def add_component(self, component: "Component") -> None: ...
    def to_ical(self) -> bytes: ...
    def __setitem__(self, key: str, value: object) -> None: ...
    def __contains__(self, key: str) -> bool: ...


class CalendarClass(Protocol):
    """The class of calendars, which parses."""

    def __call__(self) -> Component: ...
    def from_ical(self, text: str) -> Component: ...


class Library(Protocol):
    """The used part of icalendar."""

    Calendar: CalendarClass
    Event: Callable[[], Component]
    vDDDLists: Callable[[list[Moment]], Property]  # noqa: N815 - a name of the library.

    def use_zoneinfo(self) -> None: ...


class CalendarUnreadable(Exception):
    """A text is no calendar, or has times that cannot be computed."""


class RuleUnsupported(CalendarUnreadable):
    """A rule that is not expanded."""


@cache
def library() -> Library:
    """Import icalendar. Raises ImportError without the extra."""
    return cast("Library", import_module("icalendar"))


@contextmanager
def parsed(text: str) -> Iterator[Component]:
    """Parse a calendar, and convert errors in the block."""
    with _ALONE, warnings.catch_warnings():
        # The library warns of guessed time zones.
        warnings.simplefilter("ignore")
        try:
            require_bounds(text)
            library().use_zoneinfo()
            yield library().Calendar.from_ical(text)
        except _MALFORMED as error:
            raise CalendarUnreadable from error


def require_bounds(text: str) -> None:
    """Raise CalendarUnreadable for a text that takes too long to parse."""
    lines = unfolded(text).upper().split("\n")
    inside: list[str] = []
    components = 0
    zone_lines: list[tuple[str, str]] = []
    for line in lines:
        name, _, value = (part.strip() for part in line.partition(":"))
        if "VTIMEZONE" in inside:
            zone_lines.append((name.partition(";")[0], value))
        if name == "BEGIN":
            components += 1
            inside.append(value)
        elif name == "END" and (not inside or inside.pop() != value):
            raise CalendarUnreadable
    if len(lines) > _MOST_LINES or components > _MOST_COMPONENTS or not _are_short_zones(zone_lines):
        raise CalendarUnreadable


def _are_short_zones(lines: Iterable[tuple[str, str]]) -> bool:
    """Return whether the time zones with these properties have few transitions."""
    rules = [value for name, value in lines if name == "RRULE"]
    parts = [value for name, value in lines if name == "BEGIN"]
    dates = sum(value.count(",") + 1 for name, value in lines if name == "RDATE")
    if len(rules) > _MOST_ZONE_RULES or len(parts) + dates > _MOST_ZONE_PARTS:
        return False
    return _OBSERVANCES.issuperset(parts) and all(_ZONE_RULE.fullmatch(each) for each in rules)


def unfolded(text: str) -> str:
    """Join folded lines (RFC 5545, 3.1)."""
    return re.sub(r"\n[ \t]", "", text.replace("\r\n", "\n"))


def find_attendee(event: Component, resource: Resource) -> Property | None:
    """Find a resource among the attendees of an event."""
    for each in values_of(event.get("ATTENDEE")):
        if address_of(each) in resource.addresses:
            return cast("Property", each)
    return None


def address_of(person: object) -> str | None:
    """Return the mail address of an organizer or attendee, in lower case.

    Apple's clients have it in a parameter if the value is no address.
    """
    if person is None or isinstance(person, list):
        return None
    text = str(person).strip().lower()
    written = (
        text.removeprefix("mailto:") if text.startswith("mailto:") else (parameter_of(person, "EMAIL") or "").lower()
    )
    return written.strip() if "@" in written else None


def parameter_of(value: object, name: str) -> str | None:
    """Return a parameter of a property, None if it has none."""
    params = getattr(value, "params", {})
    found = params.get(name)
    return None if found is None else str(found)


def is_cancelled(event: Component) -> bool:
    """Return whether an event has the status of a cancelled one."""
    return str(event.get("STATUS", "")).upper() == "CANCELLED"


def recurrence_of(event: Component, zone: tzinfo) -> str:
    """Return the key of the occurrence that an event replaces, or WHOLE."""
    value = event.get("RECURRENCE-ID")
    return WHOLE if value is None else key_of(moment_of(value), zone)


TIME_FORMAT: Final = "%Y%m%dT%H%M%SZ"
DAY_FORMAT: Final = "%Y%m%d"


def key_of(moment: Moment, zone: tzinfo) -> str:
    """Return the key of an occurrence: start in UTC, or date."""
    if not isinstance(moment, datetime):
        return f"{moment:{DAY_FORMAT}}"
    return f"{to_utc(moment, zone):{TIME_FORMAT}}"


def to_utc(moment: Moment, zone: tzinfo) -> datetime:
    """Return a moment in UTC.

    Dates, and times without a zone, are those of `zone`.
    """
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time(), zone).astimezone(UTC)
    return (moment.replace(tzinfo=zone) if moment.tzinfo is None else moment).astimezone(UTC)


def zone_of(resource: Resource) -> tzinfo:
    """Return the time zone of a resource, UTC if it is unknown."""
    try:
        return ZoneInfo(resource.zone)
    except (ValueError, OSError, LookupError):
        return UTC


def values_of(value: object) -> list[object]:
    """Return the values of a property that may occur several times."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def value_of(value: object) -> object:
    """Return the decoded time of a property, None if it has none."""
    return getattr(value, "dt", None)


def moment_of(value: object) -> Moment:
    """Return the time of a property. Raises CalendarUnreadable."""
    found = value_of(value)
    if not isinstance(found, date):
        raise CalendarUnreadable
    return found


def dates_of(event: Component, name: str) -> Iterator[Moment | tuple[Moment, Moment | timedelta]]:
    """Yield the times and periods of a list property. Raises CalendarUnreadable."""
    for each in values_of(event.get(name)):
        for one in getattr(each, "dts", [each]):
            found = value_of(one)
            if not isinstance(found, date | tuple):
                raise CalendarUnreadable
            yield cast("Moment | tuple[Moment, Moment | timedelta]", found)
