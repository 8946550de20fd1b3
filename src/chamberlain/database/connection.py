# SPDX-License-Identifier: Apache-2.0
"""Connections to the database: leading host, pool and outages."""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import asyncpg
from asyncpg.pgproto import pgproto
from asyncpg.pool import PoolConnectionProxy

from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.outages import Outage, outage_of

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    NewConnection: TypeAlias = asyncpg.Connection[asyncpg.Record]
    LentConnection = PoolConnectionProxy[asyncpg.Record]
    _Pool = asyncpg.Pool[asyncpg.Record]
else:
    NewConnection = asyncpg.Connection
    LentConnection = PoolConnectionProxy
    _Pool = asyncpg.Pool

logger = logging.getLogger(__name__)


class LeanConnection(NewConnection):
    """A connection without the reset at each release.

    The reset costs a round trip. All session state of the service ends with its transaction.
    """

    def get_reset_query(self) -> str:
        return ""


# Connect timeouts of a host: the only one, and one of several.
_HOST_TIMEOUT = timedelta(seconds=5)
_SHORT_HOST_TIMEOUT = timedelta(seconds=2)
# Unreachable, hanging, a standby, starting or stopping.
_NOT_THIS_ONE = (
    OSError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
)


class AddressUnusable(ValueError):
    """The driver rejects an address.

    The sentence and its part `reason` contain no password.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"The address of the database cannot be used: {reason}.")
        self.reason = reason


class Hosts:
    """Connects to the host that leads, and remembers it."""

    def __init__(self, address: str) -> None:
        self._addresses = list(single_addresses(address))
        self._timeout = _SHORT_HOST_TIMEOUT if are_several(address) else _HOST_TIMEOUT

    async def connect(self, dsn: str | None = None, **options: Any) -> NewConnection:  # noqa: ANN401, ARG002 - the driver's pool calls it, with options of the driver.
        """Connect to the first host that leads.

        Raises AddressUnusable, or the error of the last host.
        """
        *others, last = self._addresses
        for address in others:
            try:
                return await self._connect(address, options)
            except _NOT_THIS_ONE:
                continue
        return await self._connect(last, options)

    async def _connect(self, address: str, options: dict[str, Any]) -> NewConnection:
        try:
            connection: NewConnection = await asyncpg.connect(
                address, **{**options, "timeout": self._timeout.total_seconds()}
            )
        except asyncpg.ClientConfigurationError as error:
            # A missing certificate; the settings have validated the address. Drop the driver's hint.
            raise AddressUnusable(str(error).partition("\n")[0]) from error
        # The next connection tries this host first.
        self._addresses.sort(key=lambda each: each != address)
        return connection


def are_several(address: str) -> bool:
    """Whether another host may take over."""
    return len(single_addresses(address)) > 1


def single_addresses(address: str) -> Sequence[str]:
    """Split an address by hosts.

    Several hosts require the primary, unless the address says otherwise.
    """
    parts = urlsplit(address)
    roles, at, places = parts.netloc.rpartition("@")
    hosts = places.split(",")
    if len(hosts) == 1:
        return [address]
    if "target_session_attrs" not in parse_qs(parts.query):
        query = "&".join(filter(None, (parts.query, "target_session_attrs=primary")))
        parts = parts._replace(query=query)
    return [parts._replace(netloc=f"{roles}{at}{host}").geturl() for host in hosts]


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
    # The address requires a primary, and every host is a standby.
    is_standby = isinstance(error, asyncpg.TargetServerAttributeNotMatched)
    outage = Outage.READ_ONLY if is_standby else outage_of(error)
    return DatabaseUnavailable(outage if record is None else record.failed(outage))


# A healthy server acknowledges a cancellation at once; a busy machine takes a little longer.
RELEASED_WITHIN = timedelta(seconds=3)


class WatchfulPool(_Pool):
    """A pool that expires all connections when its server hangs.

    The server hangs if it does not acknowledge a cancellation. All connections lead to it, and each would time out in
    turn. New ones find the host that leads now.
    """

    released_within = RELEASED_WITHIN

    def __init__(self, outages: OutageRecord, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # The driver knows them.
        self.outages = outages

    def is_used_up(self) -> bool:
        """Whether all connections of the pool are open and lent."""
        return self.get_size() >= self.get_max_size() and self.get_idle_size() == 0

    def lend_at_once(self) -> LentConnection | None:
        """Lend a connection without waiting, if that is possible (fastpath/warm_pool.py)."""
        return None

    async def lend(self) -> LentConnection:
        """Lend a connection."""
        return await self.acquire()

    async def give_back(self, connection: LentConnection) -> None:
        """Take back a connection whose last statement has ended."""
        await self.release(connection)

    async def release(
        self,
        connection: LentConnection,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the driver's.
    ) -> None:
        """Give a connection back to the driver."""
        try:
            await super().release(connection, timeout=timeout or self.released_within.total_seconds())
        except TimeoutError:
            await self.expire_connections()


def random_id() -> UUID:
    """Make a random UUID in the driver's type.

    The driver sends its own type without a conversion.
    """
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    return pgproto.UUID(bytes(raw))
