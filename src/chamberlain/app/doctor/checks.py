# SPDX-License-Identifier: Apache-2.0
"""Checks of an installation: the finding, its state and the cure.

The limits here are ours unless another source is named.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta

from chamberlain.app.doctor.store import NotThere, looking
from chamberlain.core.errors import DatabaseUnavailable, Unavailable
from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.database.clock import MOST_CLOCK_DIFFERENCE, ClockReading, ClockReport
from chamberlain.database.transactions import Database, Transaction
from chamberlain.queue.models import counted

# Clocks that are kept in step differ by milliseconds.
_DOUBTFUL_CLOCK_DIFFERENCE = timedelta(seconds=5)
# Leeway of token verification.
_TOKEN_LEEWAY = timedelta(seconds=60)
# Supported versions of PostgreSQL.
_OLDEST_SERVER, _NEWEST_SERVER = 15, 18
# PostgreSQL stops when its disk is full; a day of write-ahead log of a small installation is about a gigabyte.
_LITTLE_SPACE, _NO_SPACE = 2**30, 2**27
_LITTLE_TIME = timedelta(days=30)
# Where workers keep up, a job is due for less than a second.
_LATE_JOB = timedelta(minutes=2)
# The sweep of expired secrets runs every hour.
_LATE_SWEEP = timedelta(hours=3)


def judge_version(number: int) -> HealthCheck:
    """A server by its `server_version_num`, such as 170002."""
    major = number // 10_000
    seen = f"PostgreSQL {major}.{number % 10_000} answers."
    if _OLDEST_SERVER <= major <= _NEWEST_SERVER:
        return healthy("database", seen)
    return fault("database", seen, f"Use PostgreSQL {_OLDEST_SERVER} to {_NEWEST_SERVER}.")


def judge_clock(difference: timedelta) -> HealthCheck:
    """The database's clock less ours."""
    seconds = difference.total_seconds()
    seen = f"The database's clock and that of this machine differ by {abs(seconds):.1f} seconds."
    cure = "Keep the clocks of both machines in step, by NTP: leases and waits go by the database's."
    if abs(difference) > MOST_CLOCK_DIFFERENCE:
        return fault("clock", seen, cure)
    return warning("clock", seen, cure) if abs(difference) > _DOUBTFUL_CLOCK_DIFFERENCE else healthy("clock", seen)


def judge_process_clock(report: ClockReport) -> HealthCheck:
    """Judge a process that has reported that its clock is wrong."""
    seconds, process = report.difference.total_seconds(), "A worker" if report.is_worker else "An API process"
    seen = f"{process} on {report.host} has a clock that differs from the database's by {seconds:.0f} seconds."
    effect = "It claims no jobs until then." if report.is_worker else "It is not ready until then."
    return fault("clock", seen, f"Correct the clock of {report.host}, by NTP. {effect}")


def judge_retention(reading: ClockReading | None) -> HealthCheck:
    """Judge whether the database's clock allows retention to remove rows."""
    if reading is None:
        return healthy("retention", "No process has read the database's clock yet.")
    written = f"{reading.record.trusted_at:%Y-%m-%dT%H:%M:%SZ}"
    if reading.is_doubted:
        days = (reading.now - reading.record.trusted_at).days
        seen = f"The database's clock is {days} days past the last trusted reading ({written}). Retention is paused."
        cure = "If the database's clock is right, run `chamberlain retention confirm`. If it is not, correct it."
        return fault("retention", seen, cure)
    if reading.is_behind:
        seen = f"The database's clock shows a time before the last trusted reading ({written})."
        cure = "Correct the clock of the database server, by NTP. If it is right, run `chamberlain retention confirm`."
        return fault("retention", seen, cure)
    return healthy("retention", "The database's clock agrees with its earlier readings.")


def judge_issuer_clock(name: str, answered: str, difference: timedelta | None) -> HealthCheck:
    """Check the clock of an issuer by its Date header, in seconds."""
    if difference is None:
        return healthy(name, f"{answered} It does not tell the time.")
    seconds = abs(difference.total_seconds())
    seen = f"{answered} Its clock and ours differ by {seconds:.0f} seconds."
    cure = f"Keep the clock of this machine in step: tokens are refused beyond {_TOKEN_LEEWAY.seconds} seconds."
    if abs(difference) > _TOKEN_LEEWAY:
        return fault(name, seen, cure)
    return warning(name, seen, cure) if abs(difference) > _TOKEN_LEEWAY / 2 else healthy(name, seen)


def judge_space(place: str, free: int) -> HealthCheck:
    """Check the free bytes of the data folder's disk."""
    seen = f"{place} has {free / 2**30:.1f} GiB left."
    cure = "Make room, or move the data folder to a larger disk: the database stops when there is none left."
    if free < _NO_SPACE:
        return fault("disk", seen, cure)
    return warning("disk", seen, cure) if free < _LITTLE_SPACE else healthy("disk", seen)


def judge_connections(used: int, most: int, *, needed: int) -> HealthCheck:
    """Check that the database server has connections for one more process."""
    seen = f"{used} of {most} connections are in use."
    if most - used >= needed:
        return healthy("connections", seen)
    cure = f"A process takes up to {needed}: raise max_connections, put a pooler before it, or run fewer processes."
    return warning("connections", seen, cure)


def judge_keys(known: Collection[str], used: Collection[str], *, file: str) -> HealthCheck:
    """Check that the keys file has every key that secrets need."""
    missing = sorted(set(used) - set(known))
    if not missing:
        keys = "1 key" if len(known) == 1 else f"{len(known)} keys"
        return healthy("keys", f"{file} has {keys}, and every stored secret is sealed with one of them.")
    names = ", ".join(f'"{name}"' for name in missing)
    return fault(
        "keys",
        f"{file} lacks {names}, with which stored secrets are sealed.",
        "Put the lines of these keys back, behind the first one. Without them the secrets cannot be opened.",
    )


def judge_certificate(ends: datetime, now: datetime) -> HealthCheck:
    """Check the self-signed certificate of the https listener.

    Each start creates it again.
    """
    seen = f"The self-made certificate (ca.pem) ends on {ends:%Y-%m-%d}."
    if ends > now + _LITTLE_TIME:
        return healthy("certificate", seen)
    cure = "Restart the service, which makes a new one, and give ca.pem to those who trust it."
    return (warning if ends > now else fault)("certificate", seen, cure)


def judge_queue(due: int, oldest: timedelta, *, is_stopped: bool) -> HealthCheck:
    """Check the due jobs and the age of the oldest.

    While the service is stopped, jobs are expected to wait.
    """
    if not due:
        return healthy("queue", "No job is due.")
    are = "is" if due == 1 else "are"
    seen = f"{counted(due, 'job')} {are} due, the oldest for {oldest.total_seconds():.0f} seconds."
    if is_stopped or oldest <= _LATE_JOB:
        return healthy("queue", seen)
    return warning("queue", seen, "Look whether a worker runs, and start more of them if they do not keep up.")


def judge_overlaps(ends: Sequence[datetime], now: datetime) -> HealthCheck:
    """Check the webhooks that are signed with two secrets.

    `ends` are the times when the older secrets end.
    """
    if not ends:
        return healthy("webhook secrets", "No webhook is between two secrets.")
    last = max(ends)
    count = "1 webhook is" if len(ends) == 1 else f"{len(ends)} webhooks are"
    seen = f"{count} signed with two secrets, until {last:%Y-%m-%dT%H:%M:%SZ} at the latest."
    if min(ends) < now - _LATE_SWEEP:
        cure = "The older secret should be removed by now: look whether a worker runs."
        return warning("webhook secrets", seen, cure)
    return healthy("webhook secrets", f"{seen} Receivers should take up the newer one by then.")


async def look(
    name: str, database: Database | None, at: Callable[[Transaction], Awaitable[Sequence[HealthCheck]]]
) -> Sequence[HealthCheck]:
    """Run a check that needs the database, or return nothing without one."""
    if database is None:
        return ()
    try:
        async with looking(database) as tx:
            return await at(tx)
    except NotThere as error:
        return [not_there(name, error)]
    except DatabaseUnavailable as error:
        return [fault(name, f"It cannot be looked at. {error.outage.seen}", error.outage.cure)]
    except Unavailable:
        return [fault(name, "Another transaction is in the way.", "Run `chamberlain doctor` again.")]


def not_there(name: str, error: NotThere) -> HealthCheck:
    """Report a check that is impossible because a table is missing."""
    return fault(name, f"It cannot be looked at: {error}.", "See to the migrations and the rights of the roles first.")
