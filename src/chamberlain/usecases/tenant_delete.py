"""Delete a tenant: every row of it, in every table, for good. That it was there stays on record."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.rules.callers import Actor
from chamberlain.rules.errors import Conflict
from chamberlain.rules.ids import TenantId, TraceId
from chamberlain.rules.seals import BATCH, NO_DIGEST, Head
from chamberlain.rules.suspensions import tenant_unknown
from chamberlain.rules.tenant_rows import RemovedRows
from chamberlain.rules.tenants import Tenant
from chamberlain.store import configurations, deleted_tenants, seals, tenant_rows, tenants
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class DeleteTenant:
    """For whoever has the database, as the worker's role, which sees every tenant."""

    database: Database

    async def check(self, tenant_id: TenantId) -> Tenant:
        """The tenant, if it can be deleted. Raises NotFound, and Conflict as long as something may still write rows of
        it."""
        async with self.database.across_tenants() as tx:
            return await _deletable(tx, tenant_id)

    async def __call__(self, tenant_id: TenantId, *, actor: Actor, trace_id: TraceId) -> Sequence[RemovedRows]:
        """What was removed. The audit trail goes as well; what is left is a record of its own, with the last head of
        the trail. Raises NotFound and Conflict."""
        await self.check(tenant_id)
        await self._seal(tenant_id)
        async with self.database.across_tenants() as tx:
            await configurations.hold(tx, [tenant_id])
            tenant = await _deletable(tx, tenant_id)
            head = await seals.find_head(tx, tenant_id) or Head(0, NO_DIGEST)
            removed = await tenant_rows.remove(tx, tenant_id)
            await deleted_tenants.add(tx, tenant, actor=actor, trace_id=trace_id, head=head)
        # Whoever had begun to write before the tenant was suspended may have ended after we looked.
        async with self.database.across_tenants() as tx:
            await configurations.hold(tx, [tenant_id])
            gone = await tenants.find(tx, tenant_id) is None
            late = await tenant_rows.remove(tx, tenant_id) if gone else ()
        counts: Counter[str] = Counter()
        for each in (*removed, *late):
            counts[each.table] += each.count
        return [RemovedRows(table, count) for table, count in sorted(counts.items())]

    async def _seal(self, tenant_id: TenantId) -> None:
        """The trail to its end, so that its head stands for all of it."""
        sealed = BATCH
        while sealed == BATCH:
            async with self.database.across_tenants() as tx:
                sealed = await seals.seal(tx, tenant_id, BATCH)


async def _deletable(tx: Transaction, tenant_id: TenantId) -> Tenant:
    tenant = await tenants.find(tx, tenant_id)
    if tenant is None:
        raise tenant_unknown(tenant_id)
    if not tenant.suspended:
        detail = f'"{tenant.name}" is served. Suspend it first: `chamberlain tenant suspend {tenant_id}`.'
        raise Conflict("stateDoesNotAllow", detail)
    if (running := await tenant_rows.running_jobs(tx, tenant_id)) > 0:
        detail = f'{running} jobs of "{tenant.name}" are still being done. Try again in a minute.'
        raise Conflict("stateDoesNotAllow", detail)
    return tenant
