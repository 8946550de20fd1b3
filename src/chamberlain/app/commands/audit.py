"""The audit trail at the command line: listed over HTTP, and verified by whoever has the database."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options import All, Limit, most
from chamberlain.cli.options_machine import DataDir, settings_of

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

audit = typer.Typer(name="audit", help="List and verify the audit trail.", no_args_is_help=True)


@audit.command("list")
@calls
def list_audit(
    call: "Call",
    *,
    subject: Annotated[str | None, typer.Option(metavar="ID", help="Only what was done to this.")] = None,
    actor: Annotated[str | None, typer.Option(metavar="ID", help="Only what this one has done.")] = None,
    action: Annotated[str | None, typer.Option(help="Only this, such as group.assign.")] = None,
    from_: Annotated[datetime | None, typer.Option("--from", metavar="TIME", help="Only since then; UTC.")] = None,
    to: Annotated[datetime | None, typer.Option(metavar="TIME", help="Only before then; UTC.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List what was done, the newest first. For administrators."""
    from chamberlain.app.commands.audit_audit_rows import list_audit

    at_most = most(limit, everything=everything)
    list_audit(call, subject=subject, actor=actor, action=action, since=from_, until=to, most=at_most)


@audit.command("verify")
def verify_audit(
    tenant: Annotated[str | None, typer.Option(help="The id of the only tenant to look at.")] = None,
    head: Annotated[str | None, typer.Option(metavar="POSITION:DIGEST", help="A head that was kept elsewhere.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Find rows of the audit trail that were changed, removed, inserted or cut off. The exit code is 1 when there are
    any."""
    from chamberlain.app.commands.audit_audit import verify
    from chamberlain.app.commands.tenants import tenant_id_of

    verify(settings_of(data_dir=data_dir), None if tenant is None else tenant_id_of(tenant), head)
