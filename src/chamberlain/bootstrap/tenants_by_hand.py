"""Tenants for whoever has the database: listed, suspended, resumed, exported and deleted.

A command imports this, and with it nothing of what answers calls.
"""

from collections.abc import Callable, Sequence

from chamberlain.bootstrap.databases import opened_at_hand
from chamberlain.bootstrap.faults import expected_faults
from chamberlain.bootstrap.operators import command_line
from chamberlain.bootstrap.origins import new_trace_id
from chamberlain.rules.deleted_tenants import DeletedTenant
from chamberlain.rules.ids import TenantId
from chamberlain.rules.tenant_rows import RemovedRows, TenantRow
from chamberlain.rules.tenants import Tenant
from chamberlain.settings import Settings
from chamberlain.usecases.deleted_tenant_list import ListDeletedTenants
from chamberlain.usecases.tenant_delete import DeleteTenant
from chamberlain.usecases.tenant_export import ExportTenant
from chamberlain.usecases.tenant_list import ListTenants
from chamberlain.usecases.tenant_resume import ResumeTenant
from chamberlain.usecases.tenant_suspend import SuspendTenant


async def list_tenants(settings: Settings) -> Sequence[Tenant]:
    """All of them, the oldest first. Raises CannotStart."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await ListTenants(database)()


async def list_deleted_tenants(settings: Settings) -> Sequence[DeletedTenant]:
    """Those that were deleted, in the order in which they went. Raises CannotStart."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await ListDeletedTenants(database)()


async def suspend_tenant(settings: Settings, tenant_id: TenantId) -> Tenant:
    """The tenant as it was before. Raises CannotStart and NotFound."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await SuspendTenant(database)(tenant_id, actor=command_line(), trace_id=new_trace_id())


async def resume_tenant(settings: Settings, tenant_id: TenantId) -> Tenant:
    """The tenant as it was before. Raises CannotStart and NotFound."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await ResumeTenant(database)(tenant_id, actor=command_line(), trace_id=new_trace_id())


async def export_tenant(settings: Settings, tenant_id: TenantId, take: Callable[[TenantRow], None]) -> int:
    """Hands over every row of the tenant and says how many there were. Raises CannotStart and NotFound."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await ExportTenant(database)(tenant_id, take, actor=command_line(), trace_id=new_trace_id())


async def deletable_tenant(settings: Settings, tenant_id: TenantId) -> Tenant:
    """The tenant, if it can be deleted. Raises CannotStart, NotFound and Conflict."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await DeleteTenant(database).check(tenant_id)


async def delete_tenant(settings: Settings, tenant_id: TenantId) -> Sequence[RemovedRows]:
    """What was removed. Raises CannotStart, NotFound and Conflict."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await DeleteTenant(database)(tenant_id, actor=command_line(), trace_id=new_trace_id())
