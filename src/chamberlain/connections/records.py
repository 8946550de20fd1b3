# SPDX-License-Identifier: Apache-2.0
"""Connections and their encrypted secrets, for services of other nouns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from chamberlain.connections.models import (
    Adapter,
    Connection,
    ConnectionState,
    Described,
    StateReason,
    Target,
    context_of,
)
from chamberlain.core.ids import ConnectionId, TenantId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queries import load_queries
from chamberlain.secrets.keyring import Keyring, Resealed

SQL = load_queries(__name__)
_decode_limits = msgspec.json.Decoder(dict[str, int | str]).decode


async def find(tx: Transaction, tenant_id: TenantId) -> Connection | None:
    """Find the connection of a tenant."""
    row = await tx.fetch_row(SQL["find"], tenant_id)
    return None if row is None else connection_of(row)


async def find_of(tx: Transaction, tenant_ids: Collection[TenantId]) -> Mapping[TenantId, Connection]:
    """Find the connections of tenants."""
    found = [connection_of(row) for row in await tx.fetch(SQL["find_of"], list(tenant_ids))]
    return {each.tenant_id: each for each in found}


async def manages(tx: Transaction, tenant_id: TenantId) -> bool:
    """Return whether a tenant has managed objects, or requests that make some."""
    row = await tx.fetch_row(SQL["manages"], tenant_id)
    return row is not None and bool(row["manages"])


async def find_target(tx: Transaction, tenant_id: TenantId) -> Target | None:
    """Find the connection of a tenant with its encrypted secret."""
    row = await tx.fetch_row(SQL["find_target"], tenant_id)
    return None if row is None else target_of(row)


async def find_targets(tx: Transaction) -> Sequence[Target]:
    """Find all connections with their encrypted secrets. Needs the worker's role."""
    return [target_of(row) for row in await tx.fetch(SQL["find_targets"])]


async def find_broken(tx: Transaction, tenant_id: TenantId) -> StateReason | None:
    """Find the reason of a broken connection.

    None for a tenant without a connection, and for a connection that is not broken.
    """
    row = await tx.fetch_row(SQL["find_state"], tenant_id)
    if row is None or row["state"] != ConnectionState.BROKEN:
        return None
    return StateReason(row["reason_code"], row["reason_detail"])


@dataclass(frozen=True, slots=True)
class ConnectionFigure:
    """The number of connections of one adapter in one state.

    `oldest_check` is the age of the oldest last check in seconds, None if none was checked.
    """

    adapter: str
    state: str
    number: int
    oldest_check: float | None


async def figures(tx: Transaction) -> Sequence[ConnectionFigure]:
    """Count connections by adapter and state. Needs the worker's role."""
    return [
        ConnectionFigure(row["adapter"], row["state"], row["number"], row["oldest_check"])
        for row in await tx.fetch(SQL["figures"])
    ]


def oldest_checks(found: Sequence[ConnectionFigure]) -> Mapping[str, float]:
    """Return the age of the oldest last check in seconds, by adapter."""
    ages: dict[str, float] = {}
    for each in found:
        if each.oldest_check is not None:
            ages[each.adapter] = max(each.oldest_check, ages.get(each.adapter, 0.0))
    return ages


async def hold(tx: Transaction) -> None:
    """Block writes of secrets until this transaction ends."""
    await tx.execute(SQL["hold"])


async def count(tx: Transaction) -> Mapping[str, int]:
    """Count the secrets of each key."""
    return {row["key_id"]: row["number"] for row in await tx.fetch(SQL["count"])}


async def reseal(tx: Transaction, keyring: Keyring, after: TenantId, most: int) -> Resealed[TenantId]:
    """Re-encrypt up to `most` secrets after a cursor with the first key.

    A secret that cannot be decrypted stays unchanged.
    """
    rows = await tx.fetch(SQL["take"], after, keyring.first_header, most)
    stored = [
        (
            TenantId(row["tenant_id"]),
            bytes(row["sealed"]),
            context_of(TenantId(row["tenant_id"]), ConnectionId(row["connection_id"])),
        )
        for row in rows
    ]
    sealed, batch = keyring.reseal_all(stored, most)
    await tx.execute(SQL["put_resealed"], list(sealed), list(sealed.values()))
    return batch


def target_of(row: Record) -> Target:
    """Decode a row with its secret."""
    sealed = row["sealed"]
    return Target(connection_of(row), None if sealed is None else bytes(sealed))


def connection_of(row: Record) -> Connection:
    """Decode a row."""
    code = row["reason_code"]
    return Connection(
        id=ConnectionId(row["connection_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        adapter=Adapter(row["adapter"]),
        address=row["address"],
        has_secret=row["has_secret"],
        credential_file=row["credential_file"],
        state=ConnectionState(row["state"]),
        reason=None if code is None else StateReason(code, row["reason_detail"]),
        described=Described(tuple(row["abilities"]), _decode_limits(row["limits"])),
        checked_at=row["checked_at"],
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
