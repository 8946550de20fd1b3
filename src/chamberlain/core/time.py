# SPDX-License-Identifier: Apache-2.0
"""Timestamps in bodies, in the format of RFC 3339."""

import re
from datetime import UTC, date, datetime
from typing import Annotated

from chamberlain.core.errors import Fault
from chamberlain.core.fields import shaped

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def read_day(text: str) -> date | None:
    """Parse a day of RFC 3339, such as 2026-11-20; None if invalid."""
    if not _DAY.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        # No such day.
        return None


def read_time(text: str) -> datetime | None:
    """Parse a timestamp of RFC 3339 to UTC; None if invalid."""
    if not _TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        # No such day, or a day before the calendar begins.
        return None


_SENTENCE = "must be a time with its zone, such as 2026-11-20T09:30:00.000Z"
_DATE, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE = "(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
Moment = Annotated[str, shaped(f"{_DATE}[Tt]{_CLOCK}(?:\\.[0-9]{{1,9}})?{_ZONE}", _SENTENCE)]


def read_moment(text: str, name: str) -> datetime | Fault:
    """Parse the timestamp of a property.

    Returns a fault for a day that does not exist.
    """
    return read_time(text) or Fault.build(f"/{name}", "invalidText", f"{{property}} {_SENTENCE}.", property=name)
