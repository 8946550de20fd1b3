# SPDX-License-Identifier: Apache-2.0
"""Read the database's clock, and repair the effects of jumps.

Runs in the worker's role.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from chamberlain.database.transactions import Connection, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Beyond this difference a process does not rely on its clock: the API is not ready and a worker claims nothing.
MOST_CLOCK_DIFFERENCE = timedelta(seconds=30)
# An installation is read every few seconds. After a longer gap it was off, or the clock has jumped: an administrator
# decides.
MOST_GAP = timedelta(days=2)
# Interval of stored readings. A jump is stored at once.
STORED_EVERY = timedelta(minutes=1)
# Rows may have been written between a jump and the readings around it.
FAULT_MARGIN = timedelta(hours=1)
# A process with a wrong clock reports each minute; older reports are of processes that have ended.
REPORTED_FOR = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ClockRecord:
    """Stored readings of the database's clock: last and trusted."""

    seen_at: datetime
    trusted_at: datetime
    has_open_fault: bool = False


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A reading of the database's clock beside the stored ones."""

    now: datetime
    record: ClockRecord

    @property
    def is_doubted(self) -> bool:
        """Return whether the clock is so far ahead that retention must pause.

        An administrator has to confirm it.
        """
        return self.now - self.record.trusted_at > MOST_GAP

    @property
    def is_behind(self) -> bool:
        """Return whether the clock repeats a time."""
        return self.record.trusted_at - self.now > MOST_CLOCK_DIFFERENCE

    @property
    def step_back(self) -> timedelta:
        """Return how far the clock went back, or zero."""
        step = self.record.seen_at - self.now
        return step if step > MOST_CLOCK_DIFFERENCE else timedelta()

    @property
    def is_news(self) -> bool:
        """Return whether to store the reading."""
        return (
            abs(self.now - self.record.seen_at) >= STORED_EVERY
            or self.step_back > timedelta()
            or self.is_behind is not self.record.has_open_fault
        )

    @property
    def decides_at(self) -> datetime:
        """Return the time for comparisons with deadlines.

        A doubted clock ends nothing early.
        """
        return self.record.trusted_at if self.is_doubted else self.now

    def stored(self) -> ClockRecord:
        """Return the record after this reading."""
        trusted_at = self.record.trusted_at if self.is_doubted else max(self.record.trusted_at, self.now)
        return ClockRecord(seen_at=self.now, trusted_at=trusted_at, has_open_fault=self.is_behind)


@dataclass(frozen=True, slots=True)
class ClockReport:
    """A process whose clock differs from the database's.

    `difference` is its clock less the database's.
    """

    host: str
    is_worker: bool
    difference: timedelta


def confirmed(reading: ClockReading) -> ClockRecord:
    """Return the record after an administrator confirmed the clock."""
    return replace(reading.record, seen_at=reading.now, trusted_at=reading.now, has_open_fault=False)


# Pause after a run of retention that left nothing; see the sweep.
PAUSE = timedelta(hours=1)


# Reads the decision time of a service call, in its transaction. Tests pass their own clock.
ReadTime: TypeAlias = Callable[[Transaction], Awaitable[datetime]]
ReadClock: TypeAlias = Callable[[Transaction], Awaitable[ClockReading]]


async def read_time(connection: Connection) -> datetime:
    """Read the database's clock."""
    moment: datetime = await connection.fetchval(SQL["now"])
    return moment


async def read(tx: Transaction) -> ClockReading | None:
    """Read the clock in this transaction; None before the first reading."""
    row = await tx.fetch_row(SQL["read"])
    if row is None:
        return None
    return ClockReading(row["now"], ClockRecord(row["seen_at"], row["trusted_at"], row["has_open_fault"]))


async def observe(tx: Transaction) -> ClockReading:
    """Read the clock and store the reading if it is new.

    A clock that went back moves pending jobs back, too.
    """
    reading = await _first(tx) if (known := await read(tx)) is None else known
    if not reading.is_news:
        return reading
    await tx.execute(SQL["hold"])
    reading = await _known(tx)
    if reading.is_news:
        await _store(tx, reading, reading.stored())
        if reading.step_back:
            await tx.execute(SQL["bring_jobs_back"], reading.step_back)
    return reading


async def confirm(tx: Transaction, *, by: str) -> ClockReading:
    """Trust the clock as it is.

    Returns the previous reading.
    """
    await observe(tx)
    await tx.execute(SQL["hold"])
    reading = await _known(tx)
    await _store(tx, reading, confirmed(reading))
    await tx.execute(SQL["confirm"], by)
    return reading


async def decision_time(tx: Transaction) -> datetime:
    """Read the time for comparisons with deadlines, in this transaction.

    A doubted clock returns the last trusted time, so that nothing ends early.
    """
    (row,) = await tx.fetch(SQL["decision_time"], MOST_GAP)
    moment: datetime = row["moment"]
    return moment


async def report(tx: Transaction, process_id: UUID, report: ClockReport) -> None:
    """Store that the clock of a process is wrong."""
    await tx.execute(SQL["report"], process_id, report.host, report.is_worker, report.difference)


async def withdraw_report(tx: Transaction, process_id: UUID) -> None:
    """Remove the report of a process, and those that are too old."""
    await tx.execute(SQL["withdraw_report"], process_id, REPORTED_FOR)


async def reports(tx: Transaction) -> Sequence[ClockReport]:
    """Read which processes have a wrong clock at present."""
    rows = await tx.fetch(SQL["reports"], REPORTED_FOR)
    return [ClockReport(row["host"], row["is_worker"], row["difference"]) for row in rows]


async def _first(tx: Transaction) -> ClockReading:
    await tx.execute(SQL["first"], PAUSE)
    return await _known(tx)


async def _known(tx: Transaction) -> ClockReading:
    reading = await read(tx)
    if reading is None:
        raise LookupError("The clock was never read.")
    return reading


async def _store(tx: Transaction, reading: ClockReading, record: ClockRecord) -> None:
    await tx.execute(SQL["store"], record.seen_at, record.trusted_at)
    if record.has_open_fault:
        statement = SQL["extend_fault"] if reading.record.has_open_fault else SQL["begin_fault"]
        await tx.execute(statement, reading.now - FAULT_MARGIN)
    if reading.record.has_open_fault and not record.has_open_fault:
        await tx.execute(SQL["end_fault"], reading.record.seen_at + FAULT_MARGIN, reading.now)
