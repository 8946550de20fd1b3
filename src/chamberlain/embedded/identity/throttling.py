# SPDX-License-Identifier: Apache-2.0
"""Throttling of sign-ins and device codes.

The counters are in the database, shared by all processes. An attempt counts before it is verified, so that concurrent
attempts cannot exceed the limit. A success is subtracted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address

from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import TooManyAttempts
from chamberlain.embedded.identity.hashing import digest_of
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


class Counted(StrEnum):
    """Kinds of counters."""

    # Passwords by the address that the user enters, even if no account has it.
    ACCOUNT = "account"
    # Passwords by network address.
    NETWORK = "network"
    # Device codes by network address.
    CODE_NETWORK = "code_network"
    # Device codes from all network addresses.
    CODE_ALL = "code_all"


@dataclass(frozen=True, slots=True)
class Limit:
    """Maximum of failures within a time, and the block after it."""

    most: int
    within: timedelta
    blocked_for: timedelta


@dataclass(frozen=True, slots=True)
class Failures:
    """Attempts that failed or are not verified yet."""

    count: int
    first_at: datetime
    blocked_until: datetime | None


@dataclass(frozen=True, slots=True)
class Blocked:
    """No attempts are possible until then."""

    until: datetime


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """A counter: its kind and the digest of an address."""

    counted: Counted
    digest: bytes


_QUARTER = timedelta(minutes=15)

LIMITS = {
    # NIST SP 800-63B, 3.2.2 allows at most a hundred. Ten typing errors in a row are unlikely.
    Counted.ACCOUNT: Limit(10, _QUARTER, _QUARTER),
    # Several users share a network address.
    Counted.NETWORK: Limit(50, _QUARTER, _QUARTER),
    # RFC 8628, 5.1 expects a few attempts.
    Counted.CODE_NETWORK: Limit(10, _QUARTER, _QUARTER),
    # There are 20 to the 8th codes. If ten devices wait at any time, this rate guesses one of them in some 700 years.
    Counted.CODE_ALL: Limit(100, _QUARTER, _QUARTER),
}

# The /64 prefix of an IPv6 address identifies one network (RFC 4291, 2.5.1).
_NETWORK_BITS = 64


REMOVE_EXPIRED = SQL["remove_expired"]


def password_subjects(address: str, network: str) -> tuple[Subject, ...]:
    """Return the counters of a password attempt: address and network."""
    return _subject(Counted.ACCOUNT, address.strip()), _subject(Counted.NETWORK, _network_of(network))


def code_subjects(network: str) -> tuple[Subject, ...]:
    """Return the counters of a device code attempt: network and total."""
    return _subject(Counted.CODE_NETWORK, _network_of(network)), _subject(Counted.CODE_ALL, "")


async def begin_attempt(platform: IdentityPlatform, subjects: Sequence[Subject]) -> None:
    """Count an attempt before its verification. Raises TooManyAttempts, and then counts nothing."""
    now = platform.now()
    async with transaction(platform.pool) as connection:
        # Sorted: a fixed lock order prevents deadlocks.
        for subject in sorted(subjects):
            outcome = count_attempt(await _lock(connection, subject, now), LIMITS[subject.counted], now)
            if isinstance(outcome, Blocked):
                raise TooManyAttempts(outcome.until)
            await _update(connection, subject, outcome)
        await connection.execute(REMOVE_EXPIRED, now)


async def record_success(platform: IdentityPlatform, subjects: Sequence[Subject]) -> None:
    """Reset the account's counter after a success.

    This attempt is subtracted from the others. If a success reset the other counters, an attacker could reset them with
    an own password or code.
    """
    async with transaction(platform.pool) as connection:
        for subject in sorted(subjects):
            if subject.counted is Counted.ACCOUNT:
                await connection.execute(SQL["delete_attempts"], subject.counted.value, subject.digest)
            else:
                await _undo(connection, subject, platform.now())


async def cancel_attempt(platform: IdentityPlatform, subjects: Sequence[Subject]) -> None:
    """Subtract an attempt that was not verified."""
    async with transaction(platform.pool) as connection:
        for subject in sorted(subjects):
            await _undo(connection, subject, platform.now())


def count_attempt(known: Failures | None, limit: Limit, now: datetime) -> Failures | Blocked:
    """Add an attempt, or return the block."""
    if known is not None and known.blocked_until is not None and now < known.blocked_until:
        return Blocked(known.blocked_until)
    if known is None or known.blocked_until is not None or now >= known.first_at + limit.within:
        known = Failures(0, now, None)
    count = known.count + 1
    return Failures(count, known.first_at, now + limit.blocked_for if count >= limit.most else None)


def undo_attempt(known: Failures) -> Failures:
    """Subtract an attempt.

    This ends a block, because only the last possible attempt starts one.
    """
    return Failures(max(known.count - 1, 0), known.first_at, None)


def expires_at(known: Failures, limit: Limit) -> datetime:
    """Return the time from which the row can be removed."""
    return known.blocked_until or known.first_at + limit.within


def _subject(counted: Counted, text: str) -> Subject:
    return Subject(counted, digest_of(text.lower()))


def _network_of(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        # Dual-stack listeners write IPv4 addresses in this form (RFC 4291, 2.5.5.2).
        address = address.ipv4_mapped or address
    if address.is_loopback:
        # All 16 million loopback addresses belong to this machine.
        return "loopback"
    return str(address) if isinstance(address, IPv4Address) else f"{int(address) >> _NETWORK_BITS:x}"


async def _lock(connection: Connection, subject: Subject, now: datetime) -> Failures:
    row = await connection.fetchrow(SQL["lock"], subject.counted.value, subject.digest, now)
    assert row is not None  # noqa: S101 - the statement creates a missing row.
    return Failures(row["failures"], row["first_at"], row["blocked_until"])


async def _undo(connection: Connection, subject: Subject, now: datetime) -> None:
    await _update(connection, subject, undo_attempt(await _lock(connection, subject, now)))


async def _update(connection: Connection, subject: Subject, failures: Failures) -> None:
    await connection.execute(
        SQL["update"],
        subject.counted.value,
        subject.digest,
        failures.count,
        failures.first_at,
        failures.blocked_until,
        expires_at(failures, LIMITS[subject.counted]),
    )
