# SPDX-License-Identifier: Apache-2.0
"""The time of tests of the console, which they move."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

AT: Final = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that a test moves."""

    at: datetime = AT

    def __call__(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)
