"""Read the database's clock, and repair the effects of jumps.

Runs in the worker's role.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from chamberlain.database.transactions import Connection, Transaction

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

NOW: Final = "SELECT clock_timestamp()"

READ: Final = """
SELECT now() AS now, c.seen_at, c.trusted_at,
    EXISTS (SELECT FROM chamberlain.clock_fault f WHERE f.resumed_at IS NULL) AS has_open_fault
FROM chamberlain.clock c
"""

# Before the first reading, the newest event, audit row or sweep is the last sign of work. A fresh installation has
# none of these. The sweep waits for an hour after each run.
FIRST: Final = """
INSERT INTO chamberlain.clock (seen_at, trusted_at)
SELECT now(), coalesce(least(now(), greatest(
    (SELECT max(a.at) FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT a.at FROM chamberlain.audit a WHERE a.tenant_id = t.tenant_id ORDER BY a.sequence DESC LIMIT 1
    ) a),
    (SELECT max(e.at) FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT e.at FROM chamberlain.event e WHERE e.tenant_id = t.tenant_id ORDER BY e.sequence DESC LIMIT 1
    ) e),
    (SELECT max(j.run_at) - $1::interval FROM chamberlain.job j WHERE j.kind = 'retentionSweep')
)), now())
ON CONFLICT DO NOTHING
"""

HOLD: Final = "SELECT FROM chamberlain.clock FOR UPDATE"

CONFIRM: Final = "UPDATE chamberlain.clock SET confirmed_at = now(), confirmed_by = $1"

STORE: Final = "UPDATE chamberlain.clock SET seen_at = $1, trusted_at = $2"

BEGIN_FAULT: Final = "INSERT INTO chamberlain.clock_fault (from_at) VALUES ($1)"

EXTEND_FAULT: Final = "UPDATE chamberlain.clock_fault SET from_at = least(from_at, $1) WHERE resumed_at IS NULL"

END_FAULT: Final = """
UPDATE chamberlain.clock_fault SET until_at = $1, resumed_at = $2 WHERE resumed_at IS NULL
"""

# A clock that was ahead by $1 queued, postponed and leased jobs. A worker that still runs one renews its lease every
# three seconds. A job that is due early checks its time itself.
BRING_JOBS_BACK: Final = """
UPDATE chamberlain.job SET
    run_at = least(run_at, greatest(now(), run_at - $1::interval)), queued_at = least(queued_at, now()),
    lease_until = CASE
        WHEN lease_until > now() + interval '1 minute' THEN now() + interval '10 seconds' ELSE lease_until
    END
WHERE run_at > now() OR queued_at > now() OR lease_until > now() + interval '1 minute'
"""

DECISION_TIME: Final = """
SELECT coalesce(
    (SELECT CASE WHEN now() > c.trusted_at + $1::interval THEN c.trusted_at END FROM chamberlain.clock c), now()
) AS moment
"""

REPORT: Final = """
INSERT INTO chamberlain.clock_report (process_id, host, is_worker, difference) VALUES ($1, $2, $3, $4)
ON CONFLICT (process_id) DO UPDATE SET difference = excluded.difference, reported_at = excluded.reported_at
"""

WITHDRAW_REPORT: Final = """
DELETE FROM chamberlain.clock_report WHERE process_id = $1 OR reported_at < now() - $2::interval
"""

REPORTS: Final = """
SELECT host, is_worker, difference FROM chamberlain.clock_report
WHERE reported_at >= now() - $1::interval ORDER BY host, is_worker
"""


async def read_time(connection: Connection) -> datetime:
    """Read the database's clock."""
    moment: datetime = await connection.fetchval(NOW)
    return moment


async def read(tx: Transaction) -> ClockReading | None:
    """Read the clock in this transaction; None before the first reading."""
    row = await tx.fetch_row(READ)
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
    await tx.execute(HOLD)
    reading = await _known(tx)
    if reading.is_news:
        await _store(tx, reading, reading.stored())
        if reading.step_back:
            await tx.execute(BRING_JOBS_BACK, reading.step_back)
    return reading


async def confirm(tx: Transaction, *, by: str) -> ClockReading:
    """Trust the clock as it is.

    Returns the previous reading.
    """
    await observe(tx)
    await tx.execute(HOLD)
    reading = await _known(tx)
    await _store(tx, reading, confirmed(reading))
    await tx.execute(CONFIRM, by)
    return reading


async def decision_time(tx: Transaction) -> datetime:
    """Read the time for comparisons with deadlines, in this transaction.

    A doubted clock returns the last trusted time, so that nothing ends early.
    """
    (row,) = await tx.fetch(DECISION_TIME, MOST_GAP)
    moment: datetime = row["moment"]
    return moment


async def report(tx: Transaction, process_id: UUID, report: ClockReport) -> None:
    """Store that the clock of a process is wrong."""
    await tx.execute(REPORT, process_id, report.host, report.is_worker, report.difference)


async def withdraw_report(tx: Transaction, process_id: UUID) -> None:
    """Remove the report of a process, and those that are too old."""
    await tx.execute(WITHDRAW_REPORT, process_id, REPORTED_FOR)


async def reports(tx: Transaction) -> Sequence[ClockReport]:
    """Read which processes have a wrong clock at present."""
    rows = await tx.fetch(REPORTS, REPORTED_FOR)
    return [ClockReport(row["host"], row["is_worker"], row["difference"]) for row in rows]


async def _first(tx: Transaction) -> ClockReading:
    await tx.execute(FIRST, PAUSE)
    return await _known(tx)


async def _known(tx: Transaction) -> ClockReading:
    reading = await read(tx)
    if reading is None:
        raise LookupError("The clock was never read.")
    return reading


async def _store(tx: Transaction, reading: ClockReading, record: ClockRecord) -> None:
    await tx.execute(STORE, record.seen_at, record.trusted_at)
    if record.has_open_fault:
        statement = EXTEND_FAULT if reading.record.has_open_fault else BEGIN_FAULT
        await tx.execute(statement, reading.now - FAULT_MARGIN)
    if reading.record.has_open_fault and not record.has_open_fault:
        await tx.execute(END_FAULT, reading.record.seen_at + FAULT_MARGIN, reading.now)
