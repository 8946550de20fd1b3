"""Warn of a clock on this machine that differs from the service's: sign-ins and tokens fail by it."""

import sys
import time
from email.utils import parsedate_to_datetime

import httpx2

# As between the service and its database. The header counts whole seconds.
_MOST_DIFFERENCE = 30.0


class ClockWarning:
    """Compares the time of each answer with this machine's, and warns once."""

    def __init__(self) -> None:
        self._is_given = False

    def __call__(self, response: httpx2.Response) -> None:
        """Look at the Date header of an answer."""
        try:
            answered = parsedate_to_datetime(response.headers["date"]).timestamp()
        except (KeyError, ValueError):
            return
        difference = time.time() - answered
        if abs(difference) <= _MOST_DIFFERENCE or self._is_given:
            return
        self._is_given = True
        print(f"This machine's clock differs from the service's by {difference:.0f} seconds.", file=sys.stderr)
