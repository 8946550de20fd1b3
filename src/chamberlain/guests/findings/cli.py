"""Commands of findings: list, accept and confirm."""

from datetime import datetime
from typing import Annotated

import typer

from chamberlain.cli.calls import Area, Call, show, show_list
from chamberlain.cli.options import All, Key, Limit, calls, most
from chamberlain.cli.output import Column, written_time
from chamberlain.requests.cli import act
from chamberlain_client import operations


def _show_findings(call: Call, state: str | None, kind: str | None, subject: str | None, most: int | None) -> None:
    """Show findings."""
    columns = (
        Column("ID", "id"),
        Column("STATE", "state"),
        Column("KIND", "kind"),
        Column("ABOUT", "subject.displayName"),
        Column("FINDING", "detail"),
        Column("ACTION", "action"),
        Column("AT", "actionAt"),
    )
    filters = {"state": state, "kind": kind, "subjectId": subject}
    show_list(call, Area.ADMIN, operations.LIST_FINDINGS, filters=filters, columns=columns, most=most)


findings = typer.Typer()

Finding = Annotated[str, typer.Argument(metavar="ID", help="Id of the finding, from `finding list` or an e-mail.")]


@findings.command("list")
@calls
def list_findings(
    call: Call,
    *,
    state: Annotated[str | None, typer.Option(help="State: open, repaired, accepted or gone.")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind, such as guestAgainstRule, guestExpired or reviewDue.")] = None,
    subject: Annotated[
        str | None, typer.Option(metavar="ID", help="Only findings of this group, site or mailbox.")
    ] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List findings, newest first. For administrators."""

    _show_findings(call, state, kind, subject, most(limit, everything=everything))


@findings.command("accept")
@calls
def accept_finding(
    call: Call,
    finding: Finding,
    *,
    reason: Annotated[str, typer.Option(help="Reason of the acceptance.")],
    until: Annotated[
        datetime | None, typer.Option(metavar="TIME", help="UTC time when it reopens. Default: never.")
    ] = None,
    idempotency_key: Key = None,
) -> None:
    """Accept a finding, permanently or until a time. For administrators."""
    body = {"reason": reason} if until is None else {"reason": reason, "until": written_time(until)}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.ACCEPT_FINDING, finding, body=body, key=idempotency_key))


@findings.command("confirm")
@calls
def confirm_finding(
    call: Call,
    finding: Finding,
    *,
    comment: Annotated[str | None, typer.Option(help="Comment for the audit trail.")] = None,
    idempotency_key: Key = None,
) -> None:
    """Confirm in a review that a guest stays.

    For administrators, and for owners if the policy allows it.
    """
    act(call, operations.CONFIRM_FINDING, finding, comment, idempotency_key)
