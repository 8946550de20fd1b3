"""Commands of tenants: list, suspend, resume, export and delete."""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Annotated
from uuid import UUID

import msgspec
import typer

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.errors import in_database
from chamberlain.cli.errors import failed
from chamberlain.cli.options import DataDir, settings_of
from chamberlain.core.ids import WRITTEN_ID, TenantId
from chamberlain.observability.logs import new_trace_id
from chamberlain.settings import Settings
from chamberlain.tenant_admin.service import TenantOperations
from chamberlain.tenant_admin.store import TenantRow
from chamberlain.tenants.models import Tenant

TenantArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the tenant, as shown by `tenant list`.")]

tenants = typer.Typer()


def tenant_id_of(written: str) -> TenantId:
    """Parse a tenant id. An invalid one ends the command."""
    if not WRITTEN_ID.fullmatch(written):
        raise failed(f"{written} is not the id of a tenant. Run `chamberlain tenant list` to see all.")
    return TenantId(UUID(written))


@tenants.command("list")
def list_tenants(
    data_dir: DataDir = None,
    *,
    deleted: Annotated[bool, typer.Option("--deleted", help="List deleted tenants only.")] = False,
) -> None:
    """List all tenants, oldest first."""
    settings = settings_of(data_dir=data_dir)
    if deleted:
        _print_deleted(settings)
        return
    found = in_database(settings, lambda database: TenantOperations(database).list())
    for tenant in found:
        state = "suspended" if tenant.suspended else "served"
        print(f"{tenant.id}  {state:9}  {tenant.name}  {', '.join(tenant.domains)}")
    if not found:
        print("There is no tenant.")


def _print_deleted(settings: Settings) -> None:
    """Print deleted tenants with the last head of their audit trail."""
    found = in_database(settings, lambda database: TenantOperations(database).list_deleted())
    for each in found:
        when = f"{each.deleted_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        print(f"{when}  {each.id}  {each.name}  head {each.head}  {each.deleted_by}")
    if not found:
        print("No tenant was deleted.")


@tenants.command("suspend")
def suspend_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Suspend a tenant: refuse its tokens and pause its jobs.

    Nothing is deleted.
    """
    settings, tenant_id = settings_of(data_dir=data_dir), tenant_id_of(tenant)
    before = in_database(
        settings,
        lambda database: TenantOperations(database).suspend(tenant_id, actor=command_line(), trace_id=new_trace_id()),
    )
    if before.suspended:
        print(f"{before.name} is suspended already.")
    else:
        print(f"{before.name} is suspended: its tokens are refused within a minute, and its jobs rest.")


@tenants.command("resume")
def resume_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Resume a suspended tenant."""
    settings, tenant_id = settings_of(data_dir=data_dir), tenant_id_of(tenant)
    before = in_database(
        settings,
        lambda database: TenantOperations(database).resume(tenant_id, actor=command_line(), trace_id=new_trace_id()),
    )
    print(f"{before.name} is served again." if before.suspended else f"{before.name} is not suspended.")


@tenants.command("export")
def export_tenant(
    tenant: TenantArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Export all rows of a tenant as lines of JSON, without secrets."""
    settings, tenant_id = settings_of(data_dir=data_dir), tenant_id_of(tenant)
    if file is None:
        _export(settings, tenant_id, print)
        return
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        # The file holds personal data.
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                count = _export(settings, tenant_id, lambda line: stream.write(f"{line}\n"))
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise failed(f"{file} cannot be written ({error.strerror}).") from error
    print(f"{count} rows of tenant {tenant_id} are in {file}.")


def _export(settings: Settings, tenant_id: TenantId, write: Callable[[str], object]) -> int:
    def take(row: TenantRow) -> None:
        # Stored bodies can contain line breaks.
        content = msgspec.json.format(row.content, indent=-1)
        write(f'{{"table":{json.dumps(row.table)},"row":{content}}}')

    return in_database(
        settings,
        lambda database: TenantOperations(database).export(
            tenant_id, take, actor=command_line(), trace_id=new_trace_id()
        ),
    )


@tenants.command("delete")
def delete_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Delete a suspended tenant permanently. Asks for its name."""
    settings, tenant_id = settings_of(data_dir=data_dir), tenant_id_of(tenant)
    found = in_database(settings, lambda database: TenantOperations(database).require_deletable(tenant_id))
    _require_name(found)
    removed = in_database(
        settings,
        lambda database: TenantOperations(database).delete(tenant_id, actor=command_line(), trace_id=new_trace_id()),
    )
    for each in removed:
        print(f"{each.count:10}  {each.table}")
    rows = sum(each.count for each in removed)
    print(f"{found.name} ({found.id}) is gone: {rows} rows were removed from {len(removed)} tables.")
    print("`chamberlain tenant list --deleted` shows that it was there, and the last head of its audit trail.")


def _require_name(tenant: Tenant) -> None:
    print(f"Everything of {tenant.name} ({tenant.id}) will be removed for good, its audit trail too.")
    print("Its name, to go on: ", end="", flush=True)
    if sys.stdin.readline().rstrip("\r\n") != tenant.name:
        print()
        raise failed("That is not its name. Nothing was removed.")
