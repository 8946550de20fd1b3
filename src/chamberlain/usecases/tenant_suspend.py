"""Suspend a tenant: its tokens are refused within a minute, and its jobs rest until it is resumed."""

from dataclasses import dataclass

from chamberlain.rules.callers import Actor
from chamberlain.rules.edits import Editor
from chamberlain.rules.ids import TenantId, TraceId
from chamberlain.rules.suspensions import suspended, tenant_unknown
from chamberlain.rules.tenants import Tenant
from chamberlain.store import changes, tenants
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class SuspendTenant:
    """For whoever has the database, as the worker's role, which sees every tenant."""

    database: Database

    async def __call__(self, tenant_id: TenantId, *, actor: Actor, trace_id: TraceId) -> Tenant:
        """The tenant as it was before; what is so already is not changed. Raises NotFound."""
        async with self.database.across_tenants() as tx:
            tenant = await tenants.find(tx, tenant_id)
            if tenant is None:
                raise tenant_unknown(tenant_id)
            if await tenants.suspend(tx, tenant_id, suspended=True):
                await changes.record(tx, suspended(tenant, Editor(actor, None, trace_id, None)))
        return tenant
