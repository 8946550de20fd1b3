# SPDX-License-Identifier: Apache-2.0
"""SQL of connections: writes, checks and states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from chamberlain.connections.models import Adapter, Connection, ConnectionState, Described, StateReason, Target
from chamberlain.connections.records import connection_of, target_of
from chamberlain.core.ids import TenantId
from chamberlain.database.notify import CONNECTIONS_CHANNEL
from chamberlain.database.transactions import Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Pauses between two checks of a broken connection: an administrator who repairs it checks it at once.
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)

# The last migration after the upgrade to a version with the adapter.
_KNOWN_SINCE: Mapping[Adapter, str] = {
    Adapter.EMBEDDED: "0068_reasons_of_directories.post.sql",
    Adapter.OPENSUITE: "0078_reasons_of_open_suites.post.sql",
    # It has no reasons of its own.
    Adapter.MICROSOFT365: "0078_reasons_of_open_suites.post.sql",
}


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored parts of a connection that administrators set."""

    adapter: str
    address: str | None
    sealed: bytes | None
    credential_file: str | None


async def insert(tx: Transaction, connection: Connection, stored: Stored) -> bool:
    """Add a connection. Returns False if the tenant has one."""
    values = (stored.adapter, stored.address, stored.sealed, stored.credential_file)
    return await tx.fetch_row(SQL["insert"], connection.tenant_id, connection.id, *values) is not None


async def lock(tx: Transaction, tenant_id: TenantId) -> Connection | None:
    """Find and lock the connection of a tenant."""
    row = await tx.fetch_row(SQL["lock"], tenant_id)
    return None if row is None else connection_of(row)


async def change(tx: Transaction, connection: Connection, stored: Stored) -> None:
    """Change a locked connection."""
    values = (stored.adapter, stored.address, stored.sealed, stored.credential_file)
    await tx.execute(SQL["change"], connection.tenant_id, connection.id, *values)


async def delete(tx: Transaction, connection: Connection) -> None:
    """Delete a connection."""
    await tx.execute(SQL["delete"], connection.tenant_id, connection.id)


async def announce(tx: Transaction) -> None:
    """Announce the write of a secret, before it is encrypted."""
    await tx.execute(SQL["announce"])


async def mark_broken(tx: Transaction, connection: Connection, reason: StateReason) -> bool:
    """Set a connection broken.

    Returns False if it is broken already, or was changed meanwhile.
    """
    place = connection.tenant_id, connection.id, connection.revision
    return await tx.fetch_row(SQL["break"], *place, reason.code, reason.detail, FIRST_PAUSE) is not None


async def mark_still_broken(tx: Transaction, connection: Connection, reason: StateReason) -> None:
    """Record a failed check, and postpone the next one."""
    place = connection.tenant_id, connection.id, connection.revision
    await tx.execute(SQL["still_broken"], *place, reason.code, reason.detail, FIRST_PAUSE, LONGEST_PAUSE)


async def postpone(tx: Transaction, connection: Connection) -> None:
    """Postpone the next check, because the directory did not answer."""
    place = connection.tenant_id, connection.id, connection.revision
    await tx.execute(SQL["postpone"], *place, FIRST_PAUSE, LONGEST_PAUSE)


async def mark_ready(tx: Transaction, connection: Connection, described: Described) -> ConnectionState | None:
    """Set a connection ready, and return its state before.

    Returns None if it was changed or deleted meanwhile.
    """
    place = connection.tenant_id, connection.id, connection.revision
    limits = msgspec.json.encode(described.limits).decode()
    row = await tx.fetch_row(SQL["ready"], *place, list(described.abilities), limits)
    return None if row is None else ConnectionState(row["state"])


async def find_due(tx: Transaction, most: int) -> Sequence[Target]:
    """Find broken connections whose next check is due. Needs the worker's role."""
    return [target_of(row) for row in await tx.fetch(SQL["due"], most)]


async def is_upgraded(tx: Transaction, adapter: Adapter) -> bool:
    """Return whether all processes know connections of an adapter.

    The migrations after an upgrade have run then.
    """
    return await tx.fetch_row(SQL["is_upgraded"], _KNOWN_SINCE[adapter]) is not None


async def notify(tx: Transaction) -> None:
    """Notify all processes of a changed connection, at the commit."""
    await tx.execute(SQL["notify"], CONNECTIONS_CHANNEL)
