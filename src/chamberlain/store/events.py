"""Events: told in the transaction of what they tell."""

from collections.abc import Sequence

import msgspec

from chamberlain.rules.events import Event
from chamberlain.store.database import Transaction

APPEND = """
INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
SELECT event_id, tenant_id, type, request_id, at, data::json
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::timestamptz[], $6::text[])
    AS e (event_id, tenant_id, type, request_id, at, data)
"""

_encode = msgspec.json.Encoder().encode


async def append(tx: Transaction, events: Sequence[Event]) -> None:
    """Add events, in this order."""
    if events:
        await tx.execute(
            APPEND,
            [each.id for each in events],
            [each.tenant_id for each in events],
            [each.type for each in events],
            [each.request_id for each in events],
            [each.timestamp for each in events],
            [event_data(each) for each in events],
        )


def event_data(event: Event) -> str:
    """The data of an event, as JSON."""
    return _encode(event.data).decode()
