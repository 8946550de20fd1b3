"""Export everything that is kept of a tenant, for somebody who leaves."""

from collections.abc import Callable
from dataclasses import dataclass

from chamberlain.rules.callers import Actor
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.ids import TenantId, TraceId
from chamberlain.rules.suspensions import tenant_unknown
from chamberlain.rules.tenant_rows import TenantRow
from chamberlain.store import changes, configurations, tenant_rows, tenants
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ExportTenant:
    """For whoever has the database, as the worker's role, which sees every tenant."""

    database: Database

    async def __call__(
        self, tenant_id: TenantId, take: Callable[[TenantRow], None], *, actor: Actor, trace_id: TraceId
    ) -> int:
        """Hand over every row as it is at one moment, and say how many there were. That it was asked for is on record.
        Raises NotFound."""
        async with self.database.across_tenants() as tx:
            tenant = await tenants.find(tx, tenant_id)
            if tenant is None:
                raise tenant_unknown(tenant_id)
            change = Change(
                tenant_id=tenant_id,
                action="tenant.export",
                actor=actor,
                client_id=None,
                subject=Subject("tenant", tenant_id, tenant.name),
                before=None,
                after=None,
                request_id=None,
                trace_id=trace_id,
            )
            await changes.record(tx, change)
        count = 0
        async with self.database.across_tenants() as tx:
            await configurations.look(tx)
            async for row in tenant_rows.read(tx, tenant_id):
                take(row)
                count += 1
        return count
