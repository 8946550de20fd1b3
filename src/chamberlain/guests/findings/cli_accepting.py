"""Findings over HTTP."""

from datetime import datetime

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show, show_list
from chamberlain.cli.output import Column, written_time
from chamberlain_client import operations


def list_findings(call: Call, state: str | None, kind: str | None, subject: str | None, most: int | None) -> None:
    """Show what was found."""
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


def accept(call: Call, finding_id: str, reason: str, until: datetime | None, key: str | None) -> None:
    """Let one stand, and show it."""
    body = {"reason": reason} if until is None else {"reason": reason, "until": written_time(until)}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.ACCEPT_FINDING, finding_id, body=body, key=key))
