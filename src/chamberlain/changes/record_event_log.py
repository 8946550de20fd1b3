"""Append events in the transaction of the change that they report."""

from collections.abc import Sequence
from typing import Final

import msgspec

from chamberlain.changes.models_events import Event
from chamberlain.database.transactions import Transaction
from chamberlain.database.types import apart, joined

APPEND: Final = f"""
INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
SELECT event_id, tenant_id, type, request_id, at, data::json
FROM unnest($1::uuid[], $2::uuid[], {apart("$3")}, $4::uuid[], $5::timestamptz[], {apart("$6")})
    AS e (event_id, tenant_id, type, request_id, at, data)
"""  # noqa: S608 - text of ours alone.


_encode = msgspec.json.Encoder().encode


async def append(tx: Transaction, events: Sequence[Event]) -> None:
    """Add events, in this order."""
    if events:
        await tx.execute(
            APPEND,
            [each.id for each in events],
            [each.tenant_id for each in events],
            joined([each.type for each in events]),
            [each.request_id for each in events],
            [each.timestamp for each in events],
            joined([event_data(each) for each in events]),
        )


def event_data(event: Event) -> str:
    """The data of an event, as JSON."""
    return _encode(event.data).decode()
