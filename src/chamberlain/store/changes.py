"""One record of a change: the audit row and, where others are told, the event, written together."""

import msgspec

from chamberlain.rules.changes import Change
from chamberlain.store import events
from chamberlain.store.database import Transaction

RECORD_AUDIT = """
INSERT INTO chamberlain.audit (tenant_id, action, request_id, trace_id, payload) VALUES ($1, $2, $3, $4, $5)
"""

_encode = msgspec.json.Encoder().encode


async def record(tx: Transaction, change: Change) -> None:
    """Write what was done, in the transaction that does it."""
    await tx.execute(
        RECORD_AUDIT, change.tenant_id, change.action, change.request_id, change.trace_id, audit_payload(change)
    )
    if change.event is not None:
        await events.append(tx, (change.event,))


def audit_payload(change: Change) -> str:
    """The part of an audit row that can hold the names of people, as JSON."""
    actor, subject = change.actor, change.subject
    return _encode(
        {
            "actor": {"type": actor.type, "id": actor.id, "displayName": actor.display_name},
            "client": None if change.client_id is None else {"id": change.client_id},
            "subject": {"type": subject.type, "id": subject.id, "displayName": subject.display_name},
            "before": change.before,
            "after": change.after,
        }
    ).decode()
