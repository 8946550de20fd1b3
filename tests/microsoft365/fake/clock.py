# SPDX-License-Identifier: Apache-2.0
"""The clock of the fake tenants, which tests advance."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 11, 27, 8, 0, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that only tests advance."""

    now: datetime = BEGIN

    def __call__(self) -> datetime:
        return self.now

    def wait(self, span: timedelta) -> None:
        """Advance the clock."""
        self.now += span

    def monotonic(self) -> float:
        """Return seconds, as `time.monotonic` does."""
        return (self.now - BEGIN).total_seconds()
