"""List, suspend, resume, export and delete tenants from the command line.

A command that imports this file imports nothing of the API.
"""

from collections.abc import Callable, Sequence

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_at_hand
from chamberlain.app.errors import expected_faults
from chamberlain.core.ids import TenantId
from chamberlain.http.calls import new_trace_id
from chamberlain.settings import Settings
from chamberlain.tenant_admin.models import DeletedTenant, RemovedRows, TenantRow
from chamberlain.tenant_admin.service import TenantOperations
from chamberlain.tenants.models import Tenant


async def list_tenants(settings: Settings) -> Sequence[Tenant]:
    """List tenants, oldest first. Raises CannotStart."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).list()


async def list_deleted_tenants(settings: Settings) -> Sequence[DeletedTenant]:
    """List deleted tenants in the order of their deletion.

    Raises CannotStart.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).list_deleted()


async def suspend_tenant(settings: Settings, tenant_id: TenantId) -> Tenant:
    """Suspend a tenant and return its previous state.

    Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).suspend(tenant_id, actor=command_line(), trace_id=new_trace_id())


async def resume_tenant(settings: Settings, tenant_id: TenantId) -> Tenant:
    """Resume a tenant and return its previous state.

    Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).resume(tenant_id, actor=command_line(), trace_id=new_trace_id())


async def export_tenant(settings: Settings, tenant_id: TenantId, take: Callable[[TenantRow], None]) -> int:
    """Pass every row of a tenant to `take`, and return their number.

    Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).export(
                tenant_id, take, actor=command_line(), trace_id=new_trace_id()
            )


async def deletable_tenant(settings: Settings, tenant_id: TenantId) -> Tenant:
    """Return the tenant if it can be deleted.

    Raises CannotStart, NotFound and Conflict.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).require_deletable(tenant_id)


async def delete_tenant(settings: Settings, tenant_id: TenantId) -> Sequence[RemovedRows]:
    """Delete every row of a tenant, and return the number by table.

    Raises CannotStart, NotFound and Conflict.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).delete(tenant_id, actor=command_line(), trace_id=new_trace_id())
