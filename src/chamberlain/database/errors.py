"""Map errors of the driver to one refusal, and log outages."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf

import asyncpg

from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.outages import Outage, outage_of

logger = logging.getLogger(__name__)

# Seconds between two lines of the same cause. Ours: seldom enough to read, often enough to see that it lasts.
_REPEATED_AFTER = 60.0


# Seconds without a failure after which an outage has ended. Other calls may succeed all the while: reads with a full
# disk, and every second call where connections are scarce. Ours: a few times the interval of a health check.
_QUIET_FOR = 10.0


# Takes a sentence and the named values of its log line.
Report = Callable[[str, Mapping[str, object]], None]


def log_outage(sentence: str, values: Mapping[str, object]) -> None:
    """Report to the log, as processes do. A command has one answer, and reports the cause in that."""
    logger.warning(sentence, extra=values)


class OutageRecord:
    """The outage of one pool. `name` is that of the pool; `refine` may know a better cause than the driver."""

    def __init__(
        self,
        name: str,
        *,
        report: Report = lambda _, __: None,
        refine: Callable[[Outage], Outage] = lambda outage: outage,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.current: Outage | None = None
        self.refine = refine
        self._name = name
        self._report = report
        self._clock = clock
        self._began_at = self._failed_at = 0.0
        self._logged_at: dict[Outage, float] = {}
        self._failures = 0

    def failed(self, outage: Outage) -> Outage:
        """Note a failure and answer its refined cause."""
        outage, now = self.refine(outage), self._clock()
        if self.current is None:
            self._began_at, self._failures = now, 0
            self._logged_at.clear()
        self._failures += 1
        self._failed_at = now
        # Calls that fail in turn may have different causes.
        if now - self._logged_at.get(outage, -inf) >= _REPEATED_AFTER:
            self._logged_at[outage] = now
            self._report(f"The database cannot be used. {outage.seen} {outage.cure}", self._facts(outage))
        self.current = outage
        return outage

    def worked(self) -> None:
        """Note a success. It ends the outage when nothing has failed for a while."""
        if self.current is None or self._clock() - self._failed_at < _QUIET_FOR:
            return
        seconds = round(self._failed_at - self._began_at, 1)
        self._report("The database can be used again.", {**self._facts(self.current), "outageSeconds": seconds})
        self.current = None

    def _facts(self, outage: Outage) -> dict[str, object]:
        return {"reasonCode": outage.value, "pool": self._name, "failures": self._failures}


# The connection is gone, or the server is starting, stopping, full, failing, or a standby. All of these pass.
UNREACHABLE: tuple[type[Exception], ...] = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # The server's farewell came between two statements.
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
)


@contextmanager
def unavailable(record: OutageRecord | None = None) -> Iterator[None]:
    """Raise DatabaseUnavailable in place of an error that means so. Notes it in the record of the pool."""
    try:
        yield
    except UNREACHABLE as error:
        raise_if_unreachable(error, record)
        raise


def raise_if_unreachable(error: BaseException, record: OutageRecord | None = None) -> None:
    """Raise DatabaseUnavailable for an error that was caught, if it means so."""
    # The driver has one class for a lost connection and for a value that it cannot send. The latter is a ValueError
    # too, and the fault of the caller.
    if isinstance(error, UNREACHABLE) and not isinstance(error, ValueError):
        raise no_database(error, record) from error


@contextmanager
def connecting(record: OutageRecord | None = None) -> Iterator[None]:
    """Do the same for a connection that is not open yet, where every error of the server means so."""
    try:
        with unavailable(record):
            yield
    except asyncpg.PostgresError as error:
        raise no_database(error, record) from error


def no_database(error: BaseException, record: OutageRecord | None = None) -> DatabaseUnavailable:
    """Build the refusal that callers get for this error."""
    outage = _classified(error)
    return DatabaseUnavailable(outage if record is None else record.failed(outage))


def _classified(error: BaseException) -> Outage:
    # The address asks for a primary, and every host that answered is a standby.
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return Outage.READ_ONLY
    return outage_of(error)
