"""A connection that asks its server for nothing but what statements say.

The driver asks on each new one what an array of uuid is, and of every other type that is no scalar of PostgreSQL's own:
that took longer than the first statements themselves. Types that come with PostgreSQL are the same for good, so a
process asks for them once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import asyncpg

if TYPE_CHECKING:
    _Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection
import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.outages import Outage
from chamberlain.database.errors import connecting, raise_if_unreachable, unavailable
from chamberlain.database.pool import LentConnection, WatchfulPool

if TYPE_CHECKING:
    NewConnection = asyncpg.Connection[asyncpg.Record]


# The driver's classes take a parameter for the type checker only.

# PostgreSQL gives lower numbers by hand, and no other meaning to one ever (FirstGenbkiObjectId).
_END_OF_BUILT_IN = 10_000


@dataclass(frozen=True, slots=True)
class _Remembered:
    """In place of the driver's statement, where none was sent: one with a name is in no other's way."""

    name: str = "remembered"


class LeanConnection(_Connection):
    """It is not reset at every release either: nothing of ours outlives a transaction, and the reset costs a round
    trip."""

    # Arrays of scalars, each with its scalar, by the array's number.
    _built_in: ClassVar[dict[int, tuple[asyncpg.Record, asyncpg.Record]]] = {}

    def get_reset_query(self) -> str:
        return ""

    # The driver has no public place for this. One that calls it no more asks its server again, and all else stays.
    async def _introspect_types(
        self,
        typeoids: Collection[int],
        timeout: float | None,  # noqa: ASYNC109 - it is the driver's.
    ) -> tuple[Sequence[asyncpg.Record], object]:
        """What the driver has to know of types, by their numbers: each with what it is made of."""
        if all(oid in self._built_in for oid in typeoids):
            return [row for oid in typeoids for row in self._built_in[oid]], _Remembered()
        # The stubs show what is public.
        types, statement = await super()._introspect_types(typeoids, timeout)  # type: ignore[misc]
        scalars = {row["oid"]: row for row in types if row["kind"] == b"b" and row["elemtype"] == 0}
        arrays = [row for row in types if row["kind"] == b"b" and row["elemtype"] in scalars]
        self._built_in.update(
            {row["oid"]: (scalars[row["elemtype"]], row) for row in arrays if row["oid"] < _END_OF_BUILT_IN}
        )
        return types, statement


class Loan:
    """A connection for as long as a block runs, with the database's troubles told in one way. Most calls need nothing
    else of the database, and a generator for each part of this would take a sixth of what a statement takes here."""

    __slots__ = ("_connection", "_pool", "_within")

    _connection: LentConnection

    def __init__(self, pool: WatchfulPool, within: float) -> None:
        self._pool = pool
        self._within = within

    async def __aenter__(self) -> LentConnection:
        ready = self._pool.lend_at_hand()
        self._connection = await self._wait_for_one() if ready is None else ready
        return self._connection

    async def _wait_for_one(self) -> LentConnection:
        outages = self._pool.outages
        with connecting(outages):
            try:
                # The pool's own limit would make a task of each.
                async with asyncio.timeout(self._within):
                    return await self._pool.lend()
            except TimeoutError as error:
                if self._pool.is_used_up():
                    raise DatabaseUnavailable(outages.failed(Outage.POOL)) from error
                raise

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None or not self._pool.keep(self._connection):
            with unavailable(self._pool.outages):
                await self._give_back(error)
        if error is not None:
            raise_if_unreachable(error, self._pool.outages)
        elif self._pool.outages.current is not None:
            self._pool.outages.worked()

    async def _give_back(self, error: BaseException | None) -> None:
        try:
            if isinstance(error, TimeoutError | asyncpg.ReadOnlySQLTransactionError):
                # The server may hang, or follows another one by now: new connections find who leads.
                await self._pool.expire_connections()
        finally:
            await self._pool.release(self._connection)


# For as long as a host that says nothing is waited for: alone, and where there are others to ask.
PATIENCE = timedelta(seconds=5)
SHORT_PATIENCE = timedelta(seconds=2)
# Away, hanging, a standby, or on its way up or down.
_NOT_THIS_ONE = (
    OSError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
)


class AddressUnusable(ValueError):
    """The driver cannot do what an address says. The sentence and `reason`, a part of it, have no password in them."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The address of the database cannot be used: {reason}.")
        self.reason = reason


class Hosts:
    """Connects to the one that leads, and remembers who it was."""

    def __init__(self, address: str) -> None:
        self._addresses = list(single_addresses(address))
        self._patience = SHORT_PATIENCE if len(self._addresses) > 1 else PATIENCE

    async def connect(self, dsn: str | None = None, **options: Any) -> "NewConnection":  # noqa: ANN401, ARG002 - the driver's pool calls it, with options of the driver.
        """A connection to the first host that leads. Raises what the last one of them raises, and AddressUnusable."""
        *others, last = self._addresses
        for address in others:
            try:
                return await self._connect(address, options)
            except _NOT_THIS_ONE:
                continue
        return await self._connect(last, options)

    async def _connect(self, address: str, options: dict[str, Any]) -> "NewConnection":
        try:
            connection: NewConnection = await asyncpg.connect(
                address, **{**options, "timeout": self._patience.total_seconds()}
            )
        except asyncpg.ClientConfigurationError as error:
            # A certificate that is not where it is looked for; what is wrong in the address itself the settings tell.
            # A hint of the driver would follow.
            raise AddressUnusable(str(error).partition("\n")[0]) from error
        # Whoever comes next begins with this one.
        self._addresses.sort(key=lambda each: each != address)
        return connection


def are_several(address: str) -> bool:
    """Whether another host may take over."""
    return len(single_addresses(address)) > 1


def single_addresses(address: str) -> Sequence[str]:
    """One address for each host. Of several the one that leads is wanted, unless the address says what else."""
    parts = urlsplit(address)
    roles, at, places = parts.netloc.rpartition("@")
    hosts = places.split(",")
    if len(hosts) == 1:
        return [address]
    if "target_session_attrs" not in parse_qs(parts.query):
        query = "&".join(filter(None, (parts.query, "target_session_attrs=primary")))
        parts = parts._replace(query=query)
    return [parts._replace(netloc=f"{roles}{at}{host}").geturl() for host in hosts]
