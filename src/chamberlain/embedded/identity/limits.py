"""How often somebody may be wrong. Pure: what is known of earlier attempts goes in, what is to be kept comes out.

An attempt counts before it is looked at, so that many at one moment are no more than one after the other; what turns
out right is given back.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Counted(StrEnum):
    """What is counted by."""

    # The address that somebody typed, whether anybody has it or not.
    ACCOUNT = "account"
    # Where passwords come from.
    NETWORK = "network"
    # Where codes of devices come from.
    CODE_NETWORK = "code_network"
    # Codes of devices from anywhere.
    CODE_ALL = "code_all"


@dataclass(frozen=True, slots=True)
class Limit:
    """So many wrong ones within a time, counted from the first, and then none for a time."""

    most: int
    within: timedelta
    blocked_for: timedelta


@dataclass(frozen=True, slots=True)
class Failures:
    """Attempts that were wrong, or are not known to be right yet."""

    count: int
    first_at: datetime
    blocked_until: datetime | None


@dataclass(frozen=True, slots=True)
class Blocked:
    """No attempt until then."""

    until: datetime


_QUARTER = timedelta(minutes=15)

LIMITS = {
    # NIST SP 800-63B, 3.2.2 has at most a hundred; nobody mistypes ten times.
    Counted.ACCOUNT: Limit(10, _QUARTER, _QUARTER),
    # Several people share an address of a network.
    Counted.NETWORK: Limit(50, _QUARTER, _QUARTER),
    # RFC 8628, 5.1 counts on a few attempts.
    Counted.CODE_NETWORK: Limit(10, _QUARTER, _QUARTER),
    # A code is one of 20 to the 8th. Where ten programs wait at any time, so many guesses from wherever find one of
    # them in some 700 years.
    Counted.CODE_ALL: Limit(100, _QUARTER, _QUARTER),
}


def attempt(known: Failures | None, limit: Limit, now: datetime) -> Failures | Blocked:
    """What is known with one more attempt, which may be made; or that none may be made."""
    if known is not None and known.blocked_until is not None and now < known.blocked_until:
        return Blocked(known.blocked_until)
    if known is None or known.blocked_until is not None or now >= known.first_at + limit.within:
        known = Failures(0, now, None)
    count = known.count + 1
    return Failures(count, known.first_at, now + limit.blocked_for if count >= limit.most else None)


def give_back(known: Failures) -> Failures:
    """What is known when an attempt turned out right. Only the last that was possible leads to a block, so it ends."""
    return Failures(max(known.count - 1, 0), known.first_at, None)


def counts_until(known: Failures, limit: Limit) -> datetime:
    """When it is forgotten."""
    return known.blocked_until or known.first_at + limit.within
