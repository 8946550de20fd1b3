# SPDX-License-Identifier: Apache-2.0
"""Days of forms, in the time zone of the browser."""

import re
from datetime import UTC, date, datetime, time, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

_LONGEST_ZONE: Final = 64
# Controls of browsers send this format only. Python reads more.
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# A day at either end of the calendar has no time in other zones.
_YEARS: Final = range(1970, 3000)


def read_day(text: str) -> date | None:
    """Read the day of a date control, None otherwise."""
    if not _DAY.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year in _YEARS else None


def start_of_day(day: date, zone: tzinfo) -> datetime:
    """Return the first moment of a day."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def zone_named(name: str) -> tzinfo:
    """Return the time zone of the browser, UTC without scripts."""
    if not 0 < len(name) <= _LONGEST_ZONE:
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        # Unknown, a path, or no time zones on this machine.
        return UTC
