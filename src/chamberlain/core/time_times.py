"""Times as RFC 3339 writes them."""

import re
from datetime import UTC, datetime

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def read_time(text: str) -> datetime | None:
    """A time as RFC 3339 writes it, in UTC and to the microsecond; None when it is none."""
    if not _TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        # No such day, or one before the first of the calendar.
        return None
