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

# Seconds between two log lines of one cause: rare enough to read, often enough to show that it lasts.
_REPEATED_AFTER = 60.0


# Seconds without a failure until an outage ends. Other calls may succeed meanwhile: reads with a full disk, every
# second call with few connections. A few times the interval of a health check.
_QUIET_FOR = 10.0


# Gets a sentence and the named values of its log line.
Report = Callable[[str, Mapping[str, object]], None]


def log_outage(sentence: str, values: Mapping[str, object]) -> None:
    """Log an outage, as processes do.

    A command reports the cause in its own output.
    """
    logger.warning(sentence, extra=values)


class OutageRecord:
    """The outage of one pool.

    `name` is the name of the pool; `refine` may know a better cause than the driver.
    """

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
        """Record a failure and return its refined cause."""
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
        """Record a success.

        It ends the outage after a while without failures.
        """
        if self.current is None or self._clock() - self._failed_at < _QUIET_FOR:
            return
        seconds = round(self._failed_at - self._began_at, 1)
        self._report("The database can be used again.", {**self._facts(self.current), "outageSeconds": seconds})
        self.current = None

    def _facts(self, outage: Outage) -> dict[str, object]:
        return {"reasonCode": outage.value, "pool": self._name, "failures": self._failures}


# Lost connections, and servers that start, stop, are full, fail or are standbys. All are temporary.
UNREACHABLE: tuple[type[Exception], ...] = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # The server closed the connection between two statements.
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
)


@contextmanager
def unavailable(record: OutageRecord | None = None) -> Iterator[None]:
    """Raise DatabaseUnavailable in place of an error of the connection.

    Records it in the record of the pool.
    """
    try:
        yield
    except UNREACHABLE as error:
        raise_if_unreachable(error, record)
        raise


def raise_if_unreachable(error: BaseException, record: OutageRecord | None = None) -> None:
    """Raise DatabaseUnavailable if a caught error means it."""
    # The driver has one class for a lost connection and for a value it cannot send. The latter is a ValueError too,
    # and a bug of the caller.
    if isinstance(error, UNREACHABLE) and not isinstance(error, ValueError):
        raise no_database(error, record) from error


@contextmanager
def connecting(record: OutageRecord | None = None) -> Iterator[None]:
    """Raise DatabaseUnavailable for every error while connecting."""
    try:
        with unavailable(record):
            yield
    except asyncpg.PostgresError as error:
        raise no_database(error, record) from error


def no_database(error: BaseException, record: OutageRecord | None = None) -> DatabaseUnavailable:
    """Build the refusal for an error."""
    outage = _classified(error)
    return DatabaseUnavailable(outage if record is None else record.failed(outage))


def _classified(error: BaseException) -> Outage:
    # The address requires a primary, and every host is a standby.
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return Outage.READ_ONLY
    return outage_of(error)
