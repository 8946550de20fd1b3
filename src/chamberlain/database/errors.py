"""Errors of a database that cannot be used, turned into one refusal with its cause."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.outages import Outage, outage_of
from chamberlain.database.pool import OutageRecord

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
