"""The hosts of one address: a database with a standby has several, of which one leads.

The driver tries them in turn too, but all within one patience: a first one that is switched off or hangs would use it
up, and the one that leads by now would never be asked.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

if TYPE_CHECKING:
    NewConnection = asyncpg.Connection[asyncpg.Record]

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
