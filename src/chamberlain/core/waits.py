# SPDX-License-Identifier: Apache-2.0
"""Time of waits for a directory, by cause."""

from dataclasses import replace
from datetime import datetime, timedelta

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.core.values import value

NO_TIME = timedelta(0)


@value(frozen=True, slots=True)
class Waited:
    """Time by cause, up to `since`.

    The time from then on belongs to `cause`; None belongs to a broken connection or a budget, and counts for nothing.
    `unavailable` is the time in which the directory was busy or away.
    """

    since: datetime
    cause: Cause | None
    not_yet: timedelta = NO_TIME
    unavailable: timedelta = NO_TIME

    def spent(self, cause: Cause) -> timedelta:
        """Return the time that counts for this cause."""
        return self.not_yet if cause is Cause.NOT_YET else self.unavailable


def wait_longer(before: Waited | None, fault: TryAgain, *, since: datetime, now: datetime) -> Waited:
    """Add the time up to a fault at `now`.

    The time since the fault before belongs to that fault: it made the work wait. The time of the first attempt, which
    began at `since`, belongs to its own fault.
    """
    cause = fault.cause if fault.is_attempt else None
    return replace(_until(before or Waited(since, cause), now), since=now, cause=cause)


def leave_out(before: Waited, began: datetime, ended: datetime) -> Waited:
    """Leave out a time in which the work was parked."""
    if ended <= before.since:
        return before
    return replace(_until(before, began), since=ended)


def _until(before: Waited, now: datetime) -> Waited:
    """Add the time up to `now` to its cause."""
    spent = max(now - before.since, NO_TIME)
    match before.cause:
        case None:
            return before
        case Cause.NOT_YET:
            return replace(before, not_yet=before.not_yet + spent)
        case Cause.BUSY | Cause.AWAY:
            return replace(before, unavailable=before.unavailable + spent)
