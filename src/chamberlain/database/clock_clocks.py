"""Judge the database's clock by what processes have seen of it before, and this machine's clock by the database's."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

# Beyond this difference a process does not rely on its clock: the API is not ready and a worker claims nothing.
MOST_CLOCK_DIFFERENCE = timedelta(seconds=30)
# An installation is read every few seconds. After a longer gap it was off, or the clock has jumped: a person decides.
MOST_GAP = timedelta(days=2)
# How often a reading is stored. A jump is stored at once.
STORED_EVERY = timedelta(minutes=1)
# Rows may have been written between a jump and the readings around it.
FAULT_MARGIN = timedelta(hours=1)
# A process that is off reports each minute; older reports are of processes that have ended.
REPORTED_FOR = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ClockRecord:
    """Stored readings of the database's clock: the last one, and the newest one that is trusted."""

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
        """Whether the clock is so far ahead that nothing may be removed until an administrator confirms it."""
        return self.now - self.record.trusted_at > MOST_GAP

    @property
    def is_behind(self) -> bool:
        """Whether the clock shows a time that has been before."""
        return self.record.trusted_at - self.now > MOST_CLOCK_DIFFERENCE

    @property
    def step_back(self) -> timedelta:
        """How far the clock has gone back since the last reading; zero where it has not."""
        step = self.record.seen_at - self.now
        return step if step > MOST_CLOCK_DIFFERENCE else timedelta()

    @property
    def is_news(self) -> bool:
        """Whether the reading is to be stored."""
        return (
            abs(self.now - self.record.seen_at) >= STORED_EVERY
            or self.step_back > timedelta()
            or self.is_behind is not self.record.has_open_fault
        )

    @property
    def decides_at(self) -> datetime:
        """The time that deadlines are compared with: a doubted clock ends nothing early."""
        return self.record.trusted_at if self.is_doubted else self.now

    def stored(self) -> ClockRecord:
        """The record after this reading."""
        trusted_at = self.record.trusted_at if self.is_doubted else max(self.record.trusted_at, self.now)
        return ClockRecord(seen_at=self.now, trusted_at=trusted_at, has_open_fault=self.is_behind)


@dataclass(frozen=True, slots=True)
class ClockReport:
    """A process whose clock differs from the database's: its machine and its clock less the database's."""

    host: str
    is_worker: bool
    difference: timedelta


def confirmed(reading: ClockReading) -> ClockRecord:
    """The record after an administrator has said that the clock is right."""
    return replace(reading.record, seen_at=reading.now, trusted_at=reading.now, has_open_fault=False)


# When a run has left nothing, and when it may have.
PAUSE = timedelta(hours=1)
