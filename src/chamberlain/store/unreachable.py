"""A database that cannot be reached: every kind of that is told in one way."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from chamberlain.rules.errors import Unavailable

# The connection is gone, or the server is on its way down or up, full, or a standby by now: all of it passes.
UNREACHABLE: tuple[type[Exception], ...] = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # The server's farewell came between two statements.
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
)


@contextmanager
def unavailable() -> Iterator[None]:
    """Tell every kind of it in one way. Raises Unavailable in place of what says so."""
    try:
        yield
    except UNREACHABLE as error:
        tell_if_unreachable(error)
        raise


def tell_if_unreachable(error: BaseException) -> None:
    """The same, for an error that was caught."""
    # The driver has one class for a lost connection and for a value that it cannot send; the latter is a ValueError
    # too, and the fault of whoever gave the value.
    if isinstance(error, UNREACHABLE) and not isinstance(error, ValueError):
        raise no_database() from error


@contextmanager
def connecting() -> Iterator[None]:
    """The same, for who has no connection yet."""
    try:
        with unavailable():
            yield
    except asyncpg.PostgresError as error:
        # Whatever the server says to somebody who knocks, there is no database to be had.
        raise no_database() from error


def no_database() -> Unavailable:
    """What callers are told of any database that is away."""
    return Unavailable("databaseUnavailable", "The database cannot be reached. Send the request again.")
