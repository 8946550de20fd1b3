# SPDX-License-Identifier: Apache-2.0
"""Record a change and its event in the transaction of the change."""

from collections.abc import Sequence

import msgspec

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Event
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


async def append_events(tx: Transaction, events: Sequence[Event]) -> None:
    """Append events in this order."""
    if events:
        await tx.execute(
            SQL["append"],
            [each.id for each in events],
            [each.tenant_id for each in events],
            [each.type for each in events],
            [each.request_id for each in events],
            [each.timestamp for each in events],
            [event_data(each) for each in events],
        )


def event_data(event: Event) -> str:
    """Encode the data of an event as JSON."""
    return _encode(event.data).decode()


RECORD_AUDIT = SQL["record_audit"]

_encode = msgspec.json.Encoder().encode


async def record_change(tx: Transaction, change: Change) -> None:
    """Record a change in its transaction."""
    await tx.execute(
        RECORD_AUDIT, change.tenant_id, change.action, change.request_id, change.trace_id, audit_payload(change)
    )
    if change.event is not None:
        await append_events(tx, (change.event,))


async def record_changes(tx: Transaction, changes: Sequence[Change]) -> None:
    """Record many changes in their transaction."""
    if changes:
        await tx.execute(
            SQL["record_audits"],
            [change.tenant_id for change in changes],
            [change.action for change in changes],
            [change.request_id for change in changes],
            [change.trace_id for change in changes],
            [audit_payload(change) for change in changes],
        )
        await append_events(tx, [change.event for change in changes if change.event is not None])


def audit_payload(change: Change) -> str:
    """Encode the part of an audit row that may name users.

    The part is JSON.
    """
    actor, subject = change.actor, change.subject
    payload: dict[str, object] = {
        "actor": {"type": actor.type, "id": actor.id, "displayName": actor.display_name},
        "client": None if change.client_id is None else {"id": change.client_id},
        "subject": {"type": subject.type, "id": subject.id, "displayName": subject.display_name},
        "before": change.before,
        "after": change.after,
    }
    if change.client_address is not None:
        payload["clientAddress"] = change.client_address
    return _encode(payload).decode()


def encode_actor(actor: Actor) -> str:
    """Encode an actor as JSON."""
    return _encode(actor).decode()


def actor_of(row: Record) -> Actor:
    """Decode an actor from three columns."""
    return Actor(ActorType(row["actor_type"]), row["actor_id"], row["actor_name"])
