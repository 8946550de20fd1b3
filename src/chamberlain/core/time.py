"""Moments in bodies, as RFC 3339 writes them."""

from datetime import datetime
from typing import Annotated

from chamberlain.core.errors import Fault
from chamberlain.core.time_times import read_time
from chamberlain.core.validation_fields import shaped

_SENTENCE = "must be a time with its zone, such as 2026-11-20T09:30:00.000Z"
_DATE, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE = "(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
Moment = Annotated[str, shaped(f"{_DATE}[Tt]{_CLOCK}(?:\\.[0-9]{{1,9}})?{_ZONE}", _SENTENCE)]


def read_moment(text: str, name: str) -> datetime | Fault:
    """The time that a member of this name says; a fault for a day that there is not."""
    return read_time(text) or Fault(f"/{name}", "invalidText", f"{name} {_SENTENCE}.")
