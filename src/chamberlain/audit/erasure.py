"""Erase a user from the records of tenants, for the command line.

Each erasure is audited.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.audit import erasure_store_erasures, sealing
from chamberlain.audit.erasure_erasures import Erasure, erased
from chamberlain.auth.models import Actor
from chamberlain.changes import record
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TenantId, TraceId, UserId
from chamberlain.database.transactions import Database


@dataclass(frozen=True, slots=True)
class UserEraser:
    """Erase users. `database` has the worker's role."""

    database: Database

    async def erase(
        self, user_id: UserId, tenant_id: TenantId | None, *, actor: Actor, trace_id: TraceId
    ) -> Sequence[Erasure]:
        """Erase a user in one tenant, or in each.

        Returns the erasures of tenants that had records of the user. Each tenant has its own transaction. Raises
        NotFound and Unavailable.
        """
        async with self.database.across_tenants() as tx:
            tenants = await sealing.sealed_tenants(tx)
        if tenant_id is not None and tenant_id not in tenants:
            raise NotFound(f"There is no tenant {tenant_id}.")
        done = [
            await self._erase(each, user_id, actor=actor, trace_id=trace_id)
            for each in tenants
            if tenant_id in {None, each}
        ]
        return [each for each in done if each.rows or each.bodies_left]

    async def _erase(self, tenant_id: TenantId, user_id: UserId, *, actor: Actor, trace_id: TraceId) -> Erasure:
        async with self.database.across_tenants() as tx:
            erasure = await erasure_store_erasures.erase(tx, tenant_id, user_id, trace_id)
            if erasure.rows:
                await record.record(tx, erased(erasure, user_id, actor=actor, trace_id=trace_id))
        return erasure
