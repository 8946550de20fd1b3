# SPDX-License-Identifier: Apache-2.0
"""Connections of tenants to their directories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from chamberlain.core.errors import NotFound
from chamberlain.core.ids import ConnectionId, TenantId


class Adapter(StrEnum):
    """Adapters of directories."""

    EMBEDDED = "embedded"
    OPENSUITE = "opensuite"
    MICROSOFT365 = "microsoft365"


class ConnectionState(StrEnum):
    """State of a connection.

    A `new` one was not checked since its last change. A `consented` one has the consent of an administrator of the
    directory. A `broken` one is not used until a check passes.
    """

    NEW = "new"
    CONSENTED = "consented"
    READY = "ready"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class StateReason:
    """The reason of a broken connection.

    `detail` is a sentence with the cure.
    """

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Described:
    """Abilities and limits of a directory, as its last check found them."""

    abilities: tuple[str, ...] = ()
    limits: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential to store: a secret, or the name of a file.

    Exactly one of them is set.
    """

    secret: str | None = field(default=None, repr=False)
    file: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The parts of a connection that are no secrets.

    A configuration file has them.
    """

    adapter: Adapter
    address: str | None
    credential_file: str | None


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection without its secret.

    `address` is None for the embedded directory in the database of the service. `credential_file` is the name of the
    file with the credential. `revision` counts the changes by administrators.
    """

    id: ConnectionId
    tenant_id: TenantId
    adapter: Adapter
    address: str | None
    has_secret: bool
    credential_file: str | None
    state: ConnectionState
    reason: StateReason | None
    described: Described
    checked_at: datetime | None
    revision: int
    created_at: datetime
    updated_at: datetime

    @property
    def etag(self) -> str:
        """Return the version for If-Match."""
        return f'"{self.revision}"'

    @property
    def settings(self) -> ConnectionSettings:
        """Return the parts that are no secrets."""
        return ConnectionSettings(self.adapter, self.address, self.credential_file)

    @property
    def has_credential(self) -> bool:
        """Return whether there is a secret or a file."""
        return self.has_secret or self.credential_file is not None


@dataclass(frozen=True, slots=True)
class Target:
    """A connection for the adapter that opens it.

    `sealed` is the encrypted secret.
    """

    connection: Connection
    sealed: bytes | None = field(repr=False)

    @property
    def key(self) -> tuple[ConnectionId, int]:
        """Return the id and the revision, which identify an open adapter."""
        return self.connection.id, self.connection.revision


@dataclass(frozen=True, slots=True)
class ConnectionOrder:
    """Wanted parts of a connection; None stays as it is.

    A new connection without an address uses the directory in the database of the service.
    """

    adapter: Adapter | None = None
    address: str | None = None
    credential: Credential | None = None


def present(connection: Connection | None) -> Connection:
    """Return the connection. Raises NotFound if there is none."""
    if connection is None:
        raise NotFound("The connection does not exist. GET /admin/v1/connections/ lists the connection of the tenant.")
    return connection


def context_of(tenant_id: TenantId, connection_id: ConnectionId) -> str:
    """Return the encryption context of a connection's secret."""
    return f"{tenant_id} connection {connection_id}"
