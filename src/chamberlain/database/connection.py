"""Connect to the host that leads, of those that an address names."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import asyncpg

# The driver's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    NewConnection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    NewConnection = asyncpg.Connection


class LeanConnection(NewConnection):
    """A connection without the reset at each release.

    The reset costs a round trip. All session state of the service ends with its transaction.
    """

    def get_reset_query(self) -> str:
        return ""


# How long to wait for a host that does not answer: alone, and beside other hosts.
PATIENCE = timedelta(seconds=5)
SHORT_PATIENCE = timedelta(seconds=2)
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
        self._patience = SHORT_PATIENCE if len(self._addresses) > 1 else PATIENCE

    async def connect(self, dsn: str | None = None, **options: Any) -> NewConnection:  # noqa: ANN401, ARG002 - the driver's pool calls it, with options of the driver.
        """Connect to the first host that leads.

        Raises the error of the last host, and AddressUnusable.
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
                address, **{**options, "timeout": self._patience.total_seconds()}
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
