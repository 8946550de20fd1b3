"""Attempts to sign in and to type a device's code, counted in the database, so that all processes count together."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address

from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of


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


def count_attempt(known: Failures | None, limit: Limit, now: datetime) -> Failures | Blocked:
    """What is known with one more attempt, which may be made; or that none may be made."""
    if known is not None and known.blocked_until is not None and now < known.blocked_until:
        return Blocked(known.blocked_until)
    if known is None or known.blocked_until is not None or now >= known.first_at + limit.within:
        known = Failures(0, now, None)
    count = known.count + 1
    return Failures(count, known.first_at, now + limit.blocked_for if count >= limit.most else None)


def undo_attempt(known: Failures) -> Failures:
    """What is known when an attempt turned out right. Only the last that was possible leads to a block, so it ends."""
    return Failures(max(known.count - 1, 0), known.first_at, None)


def expires_at(known: Failures, limit: Limit) -> datetime:
    """When it is forgotten."""
    return known.blocked_until or known.first_at + limit.within


# Locks the row, whether it was there or not.
_LOCK = """
INSERT INTO identity.sign_in_attempts AS known (kind, subject, failures, first_at, ends_at) VALUES ($1, $2, 0, $3, $3)
ON CONFLICT (kind, subject) DO UPDATE SET failures = known.failures
RETURNING failures, first_at, blocked_until
"""

_UPDATE = """
UPDATE identity.sign_in_attempts SET failures = $3, first_at = $4, blocked_until = $5, ends_at = $6
WHERE kind = $1 AND subject = $2
"""

_DELETE = "DELETE FROM identity.sign_in_attempts WHERE kind = $1 AND subject = $2"

# Whoever counts cleans up a little. It comes last in a transaction and waits for nobody, so nothing deadlocks.
REMOVE_EXPIRED = """
DELETE FROM identity.sign_in_attempts WHERE (kind, subject) IN (
    SELECT kind, subject FROM identity.sign_in_attempts WHERE ends_at < $1 ORDER BY ends_at LIMIT 100
    FOR UPDATE SKIP LOCKED
)
"""

# Whoever has one address of an IPv6 network has as many as there are in the half that follows (RFC 4291, 2.5.1).
_NETWORK_BITS = 64


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """Who or what attempts are counted for."""

    counted: Counted
    digest: bytes


class TooManyAttempts(Exception):
    """None are made until then; nothing was looked at."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"Too many attempts, until {until}.")
        self.until = until


def password_subjects(address: str, network: str) -> tuple[Subject, ...]:
    """For whom an attempt with a password counts: the address that was typed, and where it came from."""
    return _subject(Counted.ACCOUNT, address.strip()), _subject(Counted.NETWORK, _network_of(network))


def code_subjects(network: str) -> tuple[Subject, ...]:
    """For whom an attempt with a device's code counts."""
    return _subject(Counted.CODE_NETWORK, _network_of(network)), _subject(Counted.CODE_ALL, "")


async def begin_attempt(platform: IdentityPlatform, subjects: Sequence[Subject]) -> None:
    """Count an attempt before it is made. Raises TooManyAttempts, and then counts nothing."""
    now = platform.now()
    async with transaction(platform.pool) as connection:
        # In one order everywhere: two who lock the same rows never wait for each other.
        for subject in sorted(subjects):
            outcome = count_attempt(await _lock(connection, subject, now), LIMITS[subject.counted], now)
            if isinstance(outcome, Blocked):
                raise TooManyAttempts(outcome.until)
            await _update(connection, subject, outcome)
        await connection.execute(REMOVE_EXPIRED, now)


async def record_success(platform: IdentityPlatform, subjects: Sequence[Subject]) -> None:
    """What was begun turned out right. A person's failures are forgotten; of where it came from, this attempt alone:
    else somebody could begin anew with a password or a code of his own."""
    async with transaction(platform.pool) as connection:
        for subject in sorted(subjects):
            if subject.counted is Counted.ACCOUNT:
                await connection.execute(_DELETE, subject.counted.value, subject.digest)
            else:
                await _undo(connection, subject, platform.now())


async def cancel_attempt(platform: IdentityPlatform, subjects: Sequence[Subject]) -> None:
    """What was begun was not looked at in the end, so it does not count."""
    async with transaction(platform.pool) as connection:
        for subject in sorted(subjects):
            await _undo(connection, subject, platform.now())


def _subject(counted: Counted, text: str) -> Subject:
    return Subject(counted, digest_of(text.lower()))


def _network_of(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        # A listener for both kinds writes the older ones in this way (RFC 4291, 2.5.5.2).
        address = address.ipv4_mapped or address
    if address.is_loopback:
        # Any program on this machine can come from each of sixteen million of them.
        return "loopback"
    return str(address) if isinstance(address, IPv4Address) else f"{int(address) >> _NETWORK_BITS:x}"


async def _lock(connection: Connection, subject: Subject, now: datetime) -> Failures:
    row = await connection.fetchrow(_LOCK, subject.counted.value, subject.digest, now)
    assert row is not None  # noqa: S101 - it was made if it was not there.
    return Failures(row["failures"], row["first_at"], row["blocked_until"])


async def _undo(connection: Connection, subject: Subject, now: datetime) -> None:
    await _update(connection, subject, undo_attempt(await _lock(connection, subject, now)))


async def _update(connection: Connection, subject: Subject, failures: Failures) -> None:
    ends_at = expires_at(failures, LIMITS[subject.counted])
    await connection.execute(
        _UPDATE,
        subject.counted.value,
        subject.digest,
        failures.count,
        failures.first_at,
        failures.blocked_until,
        ends_at,
    )
