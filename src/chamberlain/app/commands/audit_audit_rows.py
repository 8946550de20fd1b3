"""The audit trail over HTTP: listed."""

from datetime import datetime

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show_list
from chamberlain.cli.output import Column, written_time
from chamberlain_client.operations import LIST_AUDIT


def list_audit(
    call: Call,
    *,
    subject: str | None,
    actor: str | None,
    action: str | None,
    since: datetime | None,
    until: datetime | None,
    most: int | None,
) -> None:
    """Show what was done, by whom, to what."""
    columns = (
        Column("AT", "at"),
        Column("ACTION", "action"),
        Column("BY", "actor.displayName"),
        Column("SUBJECT", "subject.displayName"),
        Column("SUBJECT ID", "subject.id"),
        Column("SEQUENCE", "sequence"),
        Column("ADDRESS", "clientAddress"),
    )
    filters = {
        "subjectId": subject,
        "actorId": actor,
        "action": action,
        "from": since and written_time(since),
        "to": until and written_time(until),
    }
    show_list(call, Area.ADMIN, LIST_AUDIT, filters=filters, columns=columns, most=most)
