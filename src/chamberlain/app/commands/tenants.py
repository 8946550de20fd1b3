"""Commands of tenants: list, suspend, resume, export and delete."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path
from typing import Annotated
from uuid import UUID

import msgspec
import typer

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_at_hand
from chamberlain.app.errors import expected_faults
from chamberlain.cli.errors import failed, told_faults
from chamberlain.cli.options import DataDir, settings_of
from chamberlain.core.ids import WRITTEN_ID, TenantId
from chamberlain.http.request import new_trace_id
from chamberlain.settings import Settings
from chamberlain.tenant_admin.service import TenantOperations
from chamberlain.tenant_admin.store import DeletedTenant, RemovedRows, TenantRow
from chamberlain.tenants.models import Tenant


async def read_tenants(settings: Settings) -> Sequence[Tenant]:
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


async def suspend_in_database(settings: Settings, tenant_id: TenantId) -> Tenant:
    """Suspend a tenant and return its previous state.

    Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).suspend(tenant_id, actor=command_line(), trace_id=new_trace_id())


async def resume_in_database(settings: Settings, tenant_id: TenantId) -> Tenant:
    """Resume a tenant and return its previous state.

    Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).resume(tenant_id, actor=command_line(), trace_id=new_trace_id())


async def export_in_database(settings: Settings, tenant_id: TenantId, take: Callable[[TenantRow], None]) -> int:
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


async def delete_in_database(settings: Settings, tenant_id: TenantId) -> Sequence[RemovedRows]:
    """Delete every row of a tenant, and return the number by table.

    Raises CannotStart, NotFound and Conflict.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await TenantOperations(database).delete(tenant_id, actor=command_line(), trace_id=new_trace_id())


def tenant_id_of(written: str) -> TenantId:
    """Parse a tenant id. An invalid one ends the command."""
    if not WRITTEN_ID.fullmatch(written):
        raise failed(f"{written} is no id of a tenant. `chamberlain tenant list` shows those that there are.")
    return TenantId(UUID(written))


def print_tenants(settings: Settings) -> None:
    """Print one line per tenant."""
    with told_faults():
        found = asyncio.run(read_tenants(settings))
    for tenant in found:
        state = "suspended" if tenant.suspended else "served"
        print(f"{tenant.id}  {state:9}  {tenant.name}  {', '.join(tenant.domains)}")
    if not found:
        print("There is no tenant.")


def list_deleted(settings: Settings) -> None:
    """Print one line per deleted tenant, with its last audit head."""
    with told_faults():
        found = asyncio.run(list_deleted_tenants(settings))
    for each in found:
        when = f"{each.deleted_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        print(f"{when}  {each.id}  {each.name}  head {each.head}  {each.deleted_by}")
    if not found:
        print("No tenant was deleted.")


def suspend(settings: Settings, tenant_id: TenantId) -> None:
    """Suspend a tenant, and print it."""
    with told_faults():
        before = asyncio.run(suspend_in_database(settings, tenant_id))
    if before.suspended:
        print(f"{before.name} is suspended already.")
    else:
        print(f"{before.name} is suspended: its tokens are refused within a minute, and its jobs rest.")


def resume(settings: Settings, tenant_id: TenantId) -> None:
    """Resume a tenant, and print it."""
    with told_faults():
        before = asyncio.run(resume_in_database(settings, tenant_id))
    print(f"{before.name} is served again." if before.suspended else f"{before.name} is not suspended.")


def export(settings: Settings, tenant_id: TenantId, path: Path | None) -> None:
    """Export every row as a line of JSON.

    A file is written atomically; None is standard output.
    """
    if path is None:
        _export(settings, tenant_id, print)
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # The file holds personal data.
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                count = _export(settings, tenant_id, lambda line: file.write(f"{line}\n"))
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise failed(f"{path} cannot be written ({error.strerror}).") from error
    print(f"{count} rows of tenant {tenant_id} are in {path}.")


def delete(settings: Settings, tenant_id: TenantId) -> None:
    """Delete a tenant after its name was typed."""
    with told_faults():
        tenant = asyncio.run(deletable_tenant(settings, tenant_id))
    _ask(tenant)
    with told_faults():
        removed = asyncio.run(delete_in_database(settings, tenant_id))
    for each in removed:
        print(f"{each.count:10}  {each.table}")
    rows = sum(each.count for each in removed)
    print(f"{tenant.name} ({tenant.id}) is gone: {rows} rows were removed from {len(removed)} tables.")
    print("`chamberlain tenant list --deleted` shows that it was there, and the last head of its audit trail.")


def _export(settings: Settings, tenant_id: TenantId, write: Callable[[str], object]) -> int:
    def take(row: TenantRow) -> None:
        # Stored bodies can contain line breaks.
        content = msgspec.json.format(row.content, indent=-1)
        write(f'{{"table":{json.dumps(row.table)},"row":{content}}}')

    with told_faults():
        return asyncio.run(export_in_database(settings, tenant_id, take))


def _ask(tenant: Tenant) -> None:
    print(f"Everything of {tenant.name} ({tenant.id}) will be removed for good, its audit trail too.")
    print("Its name, to go on: ", end="", flush=True)
    if sys.stdin.readline().rstrip("\r\n") != tenant.name:
        print()
        raise failed("That is not its name. Nothing was removed.")


TenantArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the tenant, as shown by `tenant list`.")]

tenants = typer.Typer()


@tenants.command("list")
def list_tenants(
    data_dir: DataDir = None,
    *,
    deleted: Annotated[bool, typer.Option("--deleted", help="List deleted tenants only.")] = False,
) -> None:
    """List all tenants, oldest first."""

    if deleted:
        list_deleted(settings_of(data_dir=data_dir))
    else:
        print_tenants(settings_of(data_dir=data_dir))


@tenants.command("suspend")
def suspend_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Suspend a tenant: refuse its tokens and pause its jobs.

    Nothing is deleted.
    """

    suspend(settings_of(data_dir=data_dir), tenant_id_of(tenant))


@tenants.command("resume")
def resume_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Resume a suspended tenant."""

    resume(settings_of(data_dir=data_dir), tenant_id_of(tenant))


@tenants.command("export")
def export_tenant(
    tenant: TenantArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Export all rows of a tenant as lines of JSON, without secrets."""

    export(settings_of(data_dir=data_dir), tenant_id_of(tenant), file)


@tenants.command("delete")
def delete_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Delete a suspended tenant permanently. Asks for its name."""

    delete(settings_of(data_dir=data_dir), tenant_id_of(tenant))
