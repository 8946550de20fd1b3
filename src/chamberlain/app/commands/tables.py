# SPDX-License-Identifier: Apache-2.0
"""Command tables of tenants, audit trail, jobs, keys and retention.

Each command imports its code when it runs, so that help does not import the service.
"""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.formats import Output
from chamberlain.cli.help import CommandTable
from chamberlain.cli.options import All, DataDir, Limit, calls, most, prints, settings_of

if TYPE_CHECKING:
    from chamberlain.cli.calls import Call

tenants = CommandTable()

TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="Tenant, by name, id or the end of the id.")]


@tenants.command("list")
@prints
def list_tenants(
    output: Output,
    data_dir: DataDir = None,
    *,
    deleted: Annotated[bool, typer.Option("--deleted", help="List deleted tenants only.")] = False,
) -> None:
    """List all tenants, oldest first."""
    from chamberlain.app.commands import tenants as commands

    run = commands.list_deleted_tenants if deleted else commands.list_tenants
    run(settings_of(data_dir=data_dir), output)


@tenants.command("suspend")
def suspend_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Suspend a tenant: refuse its tokens and pause its jobs.

    Nothing is deleted.
    """
    from chamberlain.app.commands import tenants as commands

    settings = settings_of(data_dir=data_dir)
    commands.suspend_tenant(settings, commands.tenant_id_of(settings, tenant))


@tenants.command("resume")
def resume_tenant(tenant: TenantArgument, data_dir: DataDir = None) -> None:
    """Resume a suspended tenant."""
    from chamberlain.app.commands import tenants as commands

    settings = settings_of(data_dir=data_dir)
    commands.resume_tenant(settings, commands.tenant_id_of(settings, tenant))


@tenants.command("export")
def export_tenant(
    tenant: TenantArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Export all rows of a tenant as lines of JSON, without secrets."""
    from chamberlain.app.commands import tenants as commands

    settings = settings_of(data_dir=data_dir)
    commands.export_tenant(settings, commands.tenant_id_of(settings, tenant), file)


@tenants.command("delete")
def delete_tenant(
    tenant: TenantArgument,
    data_dir: DataDir = None,
    *,
    with_directory: Annotated[
        bool, typer.Option("--with-directory", help="Also delete its objects in the embedded directory.")
    ] = False,
) -> None:
    """Delete a suspended tenant permanently. Asks for its name.

    Its objects in the directory stay.
    """
    from chamberlain.app.commands import tenants as commands

    settings = settings_of(data_dir=data_dir)
    commands.delete_tenant(settings, commands.tenant_id_of(settings, tenant), with_directory=with_directory)


audit = CommandTable()


@audit.command("list")
@calls
def list_audit(
    call: "Call",
    *,
    subject: Annotated[
        str | None, typer.Option(metavar="OBJECT", help="Only changes of this object, by id, name or address.")
    ] = None,
    actor: Annotated[
        str | None, typer.Option(metavar="USER", help="Only changes by this user, by id, mail address or name.")
    ] = None,
    action: Annotated[str | None, typer.Option(help="Only this action, such as group.assign.")] = None,
    from_: Annotated[datetime | None, typer.Option("--from", metavar="TIME", help="Only since this UTC time.")] = None,
    to: Annotated[datetime | None, typer.Option(metavar="TIME", help="Only before this UTC time.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List rows of the audit trail, newest first. For administrators."""
    from chamberlain.app.commands.audit import list_audit

    at_most = most(limit, everything=everything)
    list_audit(call, subject=subject, actor=actor, action=action, first=from_, before=to, most=at_most)


@audit.command("verify")
def verify_audit(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant, by name or id.")] = None,
    head: Annotated[
        str | None, typer.Option(metavar="POSITION:DIGEST", help="A head of the chain that you kept elsewhere.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Verify the audit trail: find changed, removed, inserted and cut-off rows.

    Exits 1 if there are any.
    """
    from chamberlain.app.commands.audit import verify_audit
    from chamberlain.app.commands.tenants import tenant_id_of

    settings = settings_of(data_dir=data_dir)
    verify_audit(settings, None if tenant is None else tenant_id_of(settings, tenant, option="--tenant"), head)


jobs = CommandTable()


@jobs.command("list")
@prints
def list_jobs(output: Output, data_dir: DataDir = None) -> None:
    """List the held jobs of all tenants, oldest first."""
    from chamberlain.app.commands.jobs import list_jobs

    list_jobs(settings_of(data_dir=data_dir), output)


@jobs.command("release")
def release_job(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Held job, by id or the end of it.")],
    data_dir: DataDir = None,
) -> None:
    """Release a held job, after you have fixed the cause."""
    from chamberlain.app.commands.jobs import release_job

    release_job(settings_of(data_dir=data_dir), job)


keys = CommandTable()

KeyArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as shown by `keys list`.")]


@keys.command("list")
@prints
def list_keys(output: Output, data_dir: DataDir = None) -> None:
    """List the keys and the number of secrets of each.

    Exits 1 if a key is missing.
    """
    from chamberlain.app.commands.keys import list_keys

    list_keys(settings_of(data_dir=data_dir), output)


@keys.command("add")
def add_key(data_dir: DataDir = None) -> None:
    """Add a key that does not encrypt yet.

    Copy it to every machine first.
    """
    from chamberlain.app.commands.keys import add_key

    add_key(settings_of(data_dir=data_dir))


@keys.command("rotate")
def rotate_keys(
    to: Annotated[str | None, typer.Option(metavar="ID", help="Key of the file. Default: a new key.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Encrypt all stored secrets with another key, while the service runs."""
    from chamberlain.app.commands.keys import rotate_keys

    rotate_keys(settings_of(data_dir=data_dir), to)


@keys.command("drop")
def drop_key(key: KeyArgument, data_dir: DataDir = None) -> None:
    """Remove a key from the keys file.

    Refused while a secret needs it.
    """
    from chamberlain.app.commands.keys import drop_key

    drop_key(settings_of(data_dir=data_dir), key)


retention = CommandTable()


@retention.callback()
def _retention() -> None:
    """Resume retention after a clock fault."""


@retention.command("confirm")
def confirm_retention(data_dir: DataDir = None) -> None:
    """Confirm the database's clock, so that retention resumes."""
    from chamberlain.app.commands.retention import confirm_retention

    confirm_retention(settings_of(data_dir=data_dir))
