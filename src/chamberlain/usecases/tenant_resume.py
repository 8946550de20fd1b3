"""Resume a tenant that was suspended: its tokens are accepted again, and its jobs go on where they rested."""

from dataclasses import dataclass

from chamberlain.rules.callers import Actor
from chamberlain.rules.edits import Editor
from chamberlain.rules.ids import TenantId, TraceId
from chamberlain.rules.suspensions import resumed, tenant_unknown
from chamberlain.rules.tenants import Tenant
from chamberlain.store import changes, tenants
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ResumeTenant:
    """For whoever has the database, as the worker's role, which sees every tenant."""

    database: Database

    async def __call__(self, tenant_id: TenantId, *, actor: Actor, trace_id: TraceId) -> Tenant:
        """The tenant as it was before; what is so already is not changed. Raises NotFound."""
        async with self.database.across_tenants() as tx:
            tenant = await tenants.find(tx, tenant_id)
            if tenant is None:
                raise tenant_unknown(tenant_id)
            if await tenants.suspend(tx, tenant_id, suspended=False):
                await changes.record(tx, resumed(tenant, Editor(actor, None, trace_id, None)))
        return tenant
