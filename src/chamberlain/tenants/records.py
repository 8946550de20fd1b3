# SPDX-License-Identifier: Apache-2.0
"""Statements on tenants and their issuers."""

from collections.abc import Collection, Sequence

import msgspec

from chamberlain.auth.models import Issuer
from chamberlain.core.errors import LimitReached
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.database.transactions import Database, Record, Transaction
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.queries import load_queries
from chamberlain.tenants.models import Applicability, Limits, Tenant, TenantRecord, limit_full

SQL = load_queries(__name__)

_decode_treatments = msgspec.json.Decoder(dict[DriftProperty, Treatment]).decode


async def find(tx: Transaction, tenant_id: TenantId) -> Tenant | None:
    """Find a tenant."""
    row = await tx.fetch_row(SQL["find"], tenant_id)
    return _tenant(row) if row else None


async def find_all(tx: Transaction, tenant_ids: Collection[TenantId] | None = None) -> Sequence[Tenant]:
    """Find tenants, the oldest first; in the worker's role.

    Without ids it finds all.
    """
    rows = await tx.fetch(SQL["find_all"], None if tenant_ids is None else list(tenant_ids))
    return [_tenant(row) for row in rows]


async def find_full_limit(tx: Transaction, tenant: Tenant) -> LimitReached | None:
    """Find the exhausted limit of a tenant, as its refusal."""
    if not tenant.limits.count_requests:
        return None
    row = await tx.fetch_row(SQL["full_limit"], tenant.id)
    return None if row is None or row["full_limit"] is None else limit_full(row["full_limit"])


async def set_directory(tx: Transaction, tenant_id: TenantId, *, is_parked: bool, in_lanes: bool) -> None:
    """Park or release the jobs that use the directory of a tenant.

    They run one by one `in_lanes`. Workers are woken by the commit.
    """
    await tx.execute(SQL["set_directory"], tenant_id, is_parked, in_lanes)


async def put(tx: Transaction, tenant: Tenant) -> bool:
    """Insert or update a tenant, and count its revision.

    Returns whether anything changed.
    """
    row = await tx.fetch_row(
        SQL["put"],
        tenant.id,
        tenant.name,
        list(tenant.domains),
        sorted(tenant.administrator_users),
        sorted(tenant.administrator_groups),
        tenant.extension_prefix,
        tenant.limits.open_requests,
        tenant.limits.running_jobs,
        tenant.limits.requests_per_minute,
        tenant.applicability,
        tenant.repairs_drift,
        msgspec.json.encode(tenant.repair_properties).decode(),
    )
    return row is not None


async def suspend(tx: Transaction, tenant_id: TenantId, *, suspended: bool) -> bool:
    """Suspend or resume a tenant. Returns whether that changed it."""
    return await tx.fetch_row(SQL["suspend"], tenant_id, suspended) is not None


async def put_issuer(tx: Transaction, issuer: Issuer) -> None:
    """Register an issuer, unless another tenant has it."""
    audiences = msgspec.json.encode(issuer.audiences).decode()
    await tx.execute(SQL["put_issuer"], issuer.tenant_id, issuer.issuer, issuer.tid, audiences)


async def remove_issuer(tx: Transaction, issuer: Issuer) -> None:
    """Remove an issuer."""
    await tx.execute(SQL["remove_issuer"], issuer.tenant_id, issuer.issuer, issuer.tid)


async def issuers_of(tx: Transaction, tenant_ids: Collection[TenantId]) -> Sequence[Issuer]:
    """Find the issuers of tenants."""
    return [_issuer(row) for row in await tx.fetch(SQL["issuers"], list(tenant_ids))]


async def holders_of(tx: Transaction, issuers: Sequence[tuple[str, str | None]]) -> Sequence[Issuer]:
    """Find the owners of issuers, each given with its tid.

    It needs the worker's role.
    """
    rows = await tx.fetch(SQL["holders"], [issuer for issuer, _ in issuers], [tid for _, tid in issuers])
    return [_issuer(row) for row in rows]


async def any_tenant(tx: Transaction) -> bool:
    """Return whether any tenant exists.

    An empty database gets the example estate.
    """
    (row,) = await tx.fetch("SELECT EXISTS (SELECT FROM chamberlain.tenant) AS any_tenant")
    return bool(row["any_tenant"])


async def find_issuer(database: Database, issuer: str, tid: str | None) -> Issuer | None:
    """Find a registered issuer, before the tenant is known."""
    async with database.statement() as connection:
        row = await connection.fetchrow(
            "SELECT tenant_id, issuer, tid, audiences FROM chamberlain.find_issuer($1, $2)", issuer, tid
        )
    return None if row is None else _issuer(row)


async def is_served(database: Database, tenant_id: TenantId) -> bool:
    """Return whether the tenant exists and is not suspended."""
    async with database.statement() as connection:
        return bool(await connection.fetchval("SELECT chamberlain.tenant_is_served($1)", tenant_id))


def _issuer(row: Record) -> Issuer:
    audiences = msgspec.json.decode(row["audiences"], type=dict[str, str])
    return Issuer(tenant_id=TenantId(row["tenant_id"]), issuer=row["issuer"], tid=row["tid"], audiences=audiences)


def _tenant(row: Record) -> Tenant:
    return Tenant(
        id=TenantId(row["tenant_id"]),
        revision=row["revision"],
        name=row["name"],
        domains=tuple(row["domains"]),
        administrator_users=frozenset(UserId(each) for each in row["administrator_users"]),
        administrator_groups=frozenset(GroupId(each) for each in row["administrator_groups"]),
        extension_prefix=row["extension_prefix"],
        suspended=row["suspended"],
        limits=Limits(row["open_requests"], row["running_jobs"], row["requests_per_minute"]),
        applicability=Applicability(row["applicability"]),
        repairs_drift=row["repair_drift"],
        repair_properties=_decode_treatments(row["repair_properties"]),
        former_prefixes=tuple(row["former_prefixes"]),
    )


async def find_record(tx: Transaction, tenant_id: TenantId) -> TenantRecord | None:
    """Find a tenant with its issuers."""
    tenant, times = await find(tx, tenant_id), await tx.fetch_row(SQL["times"], tenant_id)
    if tenant is None or times is None:
        return None
    issuers = tuple(await issuers_of(tx, (tenant_id,)))
    return TenantRecord(tenant, issuers, times["created_at"], times["updated_at"])


async def lock(tx: Transaction, tenant_id: TenantId) -> None:
    """Lock a tenant against other changes until the end of the transaction."""
    await tx.execute(SQL["lock"], tenant_id)
