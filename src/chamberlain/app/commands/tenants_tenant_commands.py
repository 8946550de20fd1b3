"""Tenants at the command line: shown, suspended, exported and deleted by whoever has the database."""

from pathlib import Path
from typing import Annotated

import typer

from chamberlain.cli.options_machine import DataDir, settings_of

TenantArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the tenant, as `tenant list` shows it.")]

tenants = typer.Typer(name="tenant", help="Show, suspend, export and delete tenants.", no_args_is_help=True)


@tenants.command("list")
def list_tenants(
    data_dir: DataDir = None,
    *,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that were deleted, in their stead.")] = False,
) -> None:
    """Print all tenants, the oldest first."""
    from chamberlain.app.commands.tenants import list_deleted, list_tenants

    if deleted:
        list_deleted(settings_of(data_dir=data_dir))
    else:
        list_tenants(settings_of(data_dir=data_dir))


@tenants.command("suspend")
def suspend_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Serve a tenant no longer: its tokens are refused, its jobs rest, and nothing of it goes."""
    from chamberlain.app.commands.tenants import suspend, tenant_id_of

    suspend(settings_of(data_dir=data_dir), tenant_id_of(tenant))


@tenants.command("resume")
def resume_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Serve a suspended tenant again."""
    from chamberlain.app.commands.tenants import resume, tenant_id_of

    resume(settings_of(data_dir=data_dir), tenant_id_of(tenant))


@tenants.command("export")
def export_tenant(
    tenant: TenantArgument,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to write it; else it is printed.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Write everything that is kept of a tenant, as lines of JSON and without secrets."""
    from chamberlain.app.commands.tenants import export, tenant_id_of

    export(settings_of(data_dir=data_dir), tenant_id_of(tenant), file)


@tenants.command("delete")
def delete_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Remove everything of a suspended tenant, for good. Asks for its name."""
    from chamberlain.app.commands.tenants import delete, tenant_id_of

    delete(settings_of(data_dir=data_dir), tenant_id_of(tenant))
