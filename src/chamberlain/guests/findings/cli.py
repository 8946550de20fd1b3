# SPDX-License-Identifier: Apache-2.0
"""Commands of findings: list, accept, ignore, repair and confirm."""

from datetime import datetime
from typing import Annotated

import typer

from chamberlain.cli.calls import Area, Call, show, show_list
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import FINDINGS, SUBJECTS, id_of
from chamberlain.cli.options import PATIENCE, All, Key, Limit, Timeout, Wait, calls, most
from chamberlain.cli.output import Column, written_time
from chamberlain.requests.cli import act, hint_at, wait_for
from chamberlain_client import operations
from chamberlain_client.models import FindingKind, FindingState


def _show_findings(call: Call, state: str | None, kind: str | None, subject: str | None, most: int | None) -> None:
    """Show findings."""
    columns = (
        Column("ID", "id"),
        Column("STATE", "state"),
        Column("KIND", "kind"),
        Column("ABOUT", "subject.displayName"),
        Column("FINDING", "detail"),
        Column("ACTION", "action", wide=True),
        Column("ON", "actionAt", wide=True),
    )
    with call.service(Area.ADMIN) as service:
        subject_id = subject and id_of(service, subject, SUBJECTS, option="--subject")
    filters = {"state": state, "kind": kind, "subjectId": subject_id}
    show_list(call, Area.ADMIN, operations.LIST_FINDINGS, filters=filters, columns=columns, most=most, noun="findings")


findings = CommandTable()

Finding = Annotated[str, typer.Argument(metavar="FINDING", help="Finding, by id or the end of it.")]


@findings.command("list")
@calls
def list_findings(
    call: Call,
    *,
    state: Annotated[
        FindingState | None,
        typer.Option(metavar="STATE", case_sensitive=False, help="State: open, repaired, accepted, ignored or gone."),
    ] = None,
    kind: Annotated[
        FindingKind | None,
        typer.Option(metavar="KIND", case_sensitive=False, help="Kind, such as guestExpired, reviewDue or drift."),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(metavar="OBJECT", help="Only findings of this group, site or mailbox, by id, name or address."),
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
        show(
            call,
            service.post(operations.ACCEPT_FINDING, id_of(service, finding, FINDINGS), body=body, key=idempotency_key),
        )


@findings.command("ignore")
@calls
def ignore_finding(
    call: Call,
    finding: Finding,
    *,
    comment: Annotated[str | None, typer.Option(help="Reason, also for the audit trail.")] = None,
    idempotency_key: Key = None,
) -> None:
    """Ignore a difference until its observed value changes. For administrators."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        show(
            call,
            service.post(operations.IGNORE_FINDING, id_of(service, finding, FINDINGS), body=body, key=idempotency_key),
        )


@findings.command("repair")
@calls
def repair_finding(
    call: Call,
    finding: Finding,
    *,
    comment: Annotated[str | None, typer.Option(help="Comment for the audit trail.")] = None,
    wait: Wait = False,
    timeout: Timeout = PATIENCE,
    idempotency_key: Key = None,
) -> None:
    """Repair a difference now, and show the request that does. For administrators."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        request = service.post(
            operations.REPAIR_FINDING, id_of(service, finding, FINDINGS), body=body, key=idempotency_key
        )
    if wait:
        request = wait_for(call, str(request["requestId"]), timeout)
    show(call, request)
    if not wait:
        hint_at(request["requestId"])


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
    act(call, operations.CONFIRM_FINDING, finding, comment, key=idempotency_key, listed=FINDINGS)
