"""Faults on purpose: what makes this directory as difficult as a suite that many share. All of them are off by default.

What happens is decided by the time and by counting, never by chance, so that a test can say what comes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from chamberlain.embedded.directory.errors import Throttled, Unreachable

NEVER = timedelta(0)

# What a throttled call is told to wait: the shortest that Retry-After can say.
SLOW_DOWN = timedelta(seconds=1)

# Why somebody has to wait, as it is told.
NOT_SHOWN = "The directory does not show the new group yet."
NOT_FOUND = "The directory shows the new group, but does not find it under its id yet."
MAILBOX_NOT_SHOWN = "The directory does not show the new mailbox yet."
MAILBOX_NOT_FOUND = "The directory shows the new mailbox, but does not find it under its id yet."
TOO_MANY = "The directory has asked to slow down."
AWAY = "The directory is not available at present."

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outages:
    """Nothing answers for the first `lasting` of every `every`, counted from 1970: the same time in every process."""

    lasting: timedelta
    every: timedelta

    def left(self, now: datetime) -> timedelta:
        """How long the outage of this moment still lasts; zero when there is none."""
        return max(self.lasting - (now - _EPOCH) % self.every, NEVER)


@dataclass(frozen=True, slots=True)
class Faults:
    """Which faults there are.

    A group or mailbox is not visible at all before `visibility_delay`. Lists show it from then on, but under its own id
    it is not found before `not_found_after_create`. One in `throttle` calls is told to slow down.
    """

    visibility_delay: timedelta = NEVER
    throttle: int | None = None
    not_found_after_create: timedelta = NEVER
    outages: Outages | None = None

    @property
    def known_after(self) -> timedelta:
        """How old a group or mailbox has to be to be found under its id."""
        return max(self.visibility_delay, self.not_found_after_create)


class Injection:
    """Faults at work in one process: it knows what time it is, and how many calls came."""

    def __init__(self, faults: Faults, now: Callable[[], datetime]) -> None:
        self.faults = faults
        self._now = now
        self._calls = 0

    def answer(self) -> None:
        """Raises Unreachable during an outage."""
        outages = self.faults.outages
        left = NEVER if outages is None else outages.left(self._now())
        if left > NEVER:
            raise Unreachable(AWAY, left)

    def take_call(self) -> None:
        """As `answer`, and counts the call: raises Throttled for one in so many."""
        self.answer()
        self._calls += 1
        if self.faults.throttle is not None and self._calls % self.faults.throttle == 0:
            raise Throttled(TOO_MANY, SLOW_DOWN)

    def visible_until(self) -> datetime:
        """Groups and mailboxes are visible that were made at this time or before."""
        return self._now() - self.faults.visibility_delay

    def known_until(self) -> datetime:
        """Groups and mailboxes are found under their ids that were made at this time or before."""
        return self._now() - self.faults.known_after
