# SPDX-License-Identifier: Apache-2.0
"""Operate tenants: list, suspend, resume, export and delete them.

For the command line.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from chamberlain.audit import records as audit_records
from chamberlain.audit.rules import BATCH, NO_DIGEST, Head
from chamberlain.auth.models import Actor, Editor
from chamberlain.changes.models import Change, Subject, announced
from chamberlain.changes.records import record_change
from chamberlain.configuration import records as configuration_records
from chamberlain.core.errors import Conflict
from chamberlain.core.ids import EventId, TenantId, TraceId
from chamberlain.database.clock import ReadTime, decision_time
from chamberlain.database.connection import random_id
from chamberlain.database.transactions import Database, Transaction
from chamberlain.tenant_admin import store
from chamberlain.tenant_admin import store as tenant_admin_store
from chamberlain.tenant_admin.store import DeletedTenant, RemovedRows, TenantRow
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant, resumed, suspended, tenant_unknown

# The schema of the embedded directory. Its objects belong to the organisation, as those of any directory.
DIRECTORY = "directory"


@dataclass(frozen=True, slots=True)
class TenantOperations:
    """List, suspend, resume, export and delete tenants.

    `database` has the worker's role, which reads all tenants. `new_id` and `now` are those of events. Every
    method raises Unavailable.
    """

    database: Database
    new_id: Callable[[], UUID] = random_id
    now: ReadTime = decision_time

    async def list(self) -> Sequence[Tenant]:
        """List tenants, oldest first."""
        async with self.database.across_tenants() as tx:
            return await tenant_records.find_all(tx)

    async def list_deleted(self) -> Sequence[DeletedTenant]:
        """List deleted tenants in the order of their deletion."""
        async with self.database.across_tenants() as tx:
            return await store.find_all(tx)

    async def suspend(self, tenant_id: TenantId, *, actor: Actor, trace_id: TraceId) -> Tenant:
        """Suspend a tenant and return its previous state.

        Its tokens are rejected within a minute, and its jobs wait until it is resumed. A suspended tenant is not
        changed. Raises NotFound.
        """
        async with self.database.across_tenants() as tx:
            tenant = await _find(tx, tenant_id)
            if await tenant_records.suspend(tx, tenant_id, suspended=True):
                await self._record(tx, suspended(tenant, Editor(actor, None, trace_id, None)))
        return tenant

    async def resume(self, tenant_id: TenantId, *, actor: Actor, trace_id: TraceId) -> Tenant:
        """Resume a suspended tenant and return its previous state.

        Its tokens are accepted again, and its jobs continue. Another tenant is not changed. Raises NotFound.
        """
        async with self.database.across_tenants() as tx:
            tenant = await _find(tx, tenant_id)
            if await tenant_records.suspend(tx, tenant_id, suspended=False):
                await self._record(tx, resumed(tenant, Editor(actor, None, trace_id, None)))
        return tenant

    async def export(
        self, tenant_id: TenantId, take: Callable[[TenantRow], None], *, actor: Actor, trace_id: TraceId
    ) -> int:
        """Pass every row of a tenant to `take`, and return their number.

        The rows are those of one moment. The export is audited. Raises NotFound.
        """
        async with self.database.across_tenants() as tx:
            tenant = await _find(tx, tenant_id)
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
            await record_change(tx, change)
        count = 0
        async with self.database.across_tenants() as tx:
            await configuration_records.look(tx)
            async for row in tenant_admin_store.read(tx, tenant_id):
                take(row)
                count += 1
        return count

    async def require_deletable(self, tenant_id: TenantId) -> Tenant:
        """Return the tenant if it can be deleted.

        Raises NotFound, and Conflict while a process may still write rows of the tenant.
        """
        async with self.database.across_tenants() as tx:
            return await _require_deletable(tx, tenant_id)

    async def delete(self, tenant_id: TenantId, *, actor: Actor, trace_id: TraceId) -> Sequence[RemovedRows]:
        """Delete every row of a tenant except its directory objects.

        Returns the number by table. Raises like `delete_with_directory`.
        """
        return await self._delete(tenant_id, (DIRECTORY,), actor=actor, trace_id=trace_id)

    async def delete_with_directory(
        self, tenant_id: TenantId, *, actor: Actor, trace_id: TraceId
    ) -> Sequence[RemovedRows]:
        """Delete every row of a tenant with its directory objects.

        Returns the number by table. Its audit trail is deleted, too. A record with the last head of the trail remains.
        Raises NotFound and Conflict.
        """
        return await self._delete(tenant_id, (), actor=actor, trace_id=trace_id)

    async def _delete(
        self, tenant_id: TenantId, kept: Sequence[str], *, actor: Actor, trace_id: TraceId
    ) -> Sequence[RemovedRows]:
        await self.require_deletable(tenant_id)
        await self._seal(tenant_id)
        async with self.database.across_tenants() as tx:
            await configuration_records.hold(tx, [tenant_id])
            tenant = await _require_deletable(tx, tenant_id)
            head = await audit_records.find_head(tx, tenant_id) or Head(0, NO_DIGEST)
            removed = await tenant_admin_store.remove(tx, tenant_id, kept)
            await store.add(tx, tenant, actor=actor, trace_id=trace_id, head=head)
        # A transaction from before the suspension may have committed rows after they were removed.
        async with self.database.across_tenants() as tx:
            await configuration_records.hold(tx, [tenant_id])
            gone = await tenant_records.find(tx, tenant_id) is None
            late = await tenant_admin_store.remove(tx, tenant_id, kept) if gone else ()
        counts: Counter[str] = Counter()
        for each in (*removed, *late):
            counts[each.table] += each.count
        return [RemovedRows(table, count) for table, count in sorted(counts.items())]

    async def _record(self, tx: Transaction, change: Change) -> None:
        """Record the change of a tenant with its event."""
        await record_change(tx, announced(change, EventId(self.new_id()), now=await self.now(tx)))

    async def _seal(self, tenant_id: TenantId) -> None:
        """Seal the whole audit trail, so that its head covers all rows."""
        sealed = BATCH
        while sealed == BATCH:
            async with self.database.across_tenants() as tx:
                sealed = await audit_records.seal(tx, tenant_id, BATCH)


async def _find(tx: Transaction, tenant_id: TenantId) -> Tenant:
    tenant = await tenant_records.find(tx, tenant_id)
    if tenant is None:
        raise tenant_unknown(tenant_id)
    return tenant


async def _require_deletable(tx: Transaction, tenant_id: TenantId) -> Tenant:
    tenant = await _find(tx, tenant_id)
    if not tenant.suspended:
        detail = f'"{tenant.name}" is served. Suspend it first: `chamberlain tenant suspend {tenant_id}`.'
        raise Conflict("stateDoesNotAllow", detail)
    if (running := await tenant_admin_store.running_jobs(tx, tenant_id)) > 0:
        detail = f'{running} jobs of "{tenant.name}" are still being done. Try again in a minute.'
        raise Conflict("stateDoesNotAllow", detail)
    return tenant
