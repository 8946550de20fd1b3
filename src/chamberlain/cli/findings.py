"""Findings: listed, and accepted."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.parameters import All, Key, Limit, most

if TYPE_CHECKING:
    from chamberlain.cli.call import Call

findings = typer.Typer(
    name="finding", help="What is against the rules, and what becomes of it. For administrators.", no_args_is_help=True
)

Finding = Annotated[str, typer.Argument(metavar="ID", help="The id of the finding, as `finding list` shows it.")]


@findings.command("list")
@calls
def list_findings(
    call: "Call",
    *,
    state: Annotated[str | None, typer.Option(help="open, repaired, accepted or gone.")] = None,
    kind: Annotated[str | None, typer.Option(help="Such as guestAgainstRule, guestExpired or reviewDue.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="ID", help="Only about this group or site.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List findings, the newest first."""
    from chamberlain.cli.accepting import list_findings

    list_findings(call, state, kind, subject, most(limit, everything=everything))


@findings.command("accept")
@calls
def accept_finding(
    call: "Call",
    finding: Finding,
    *,
    reason: Annotated[str, typer.Option(help="Why it may stand.")],
    until: Annotated[
        datetime | None, typer.Option(metavar="TIME", help="When it is open again; UTC. Without it never.")
    ] = None,
    idempotency_key: Key = None,
) -> None:
    """Let a finding stand, for good or until a moment."""
    from chamberlain.cli.accepting import accept

    accept(call, finding, reason, until, idempotency_key)
