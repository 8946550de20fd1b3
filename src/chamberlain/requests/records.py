"""Requests: read, and moved by those who decide, cancel and retry.

Accepting is in batcher.py, since everything that belongs to an accepted request is written by one statement; what the
worker makes of it in request_tasks.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from chamberlain.changes.records import actor_of
from chamberlain.core.idempotency import IdempotencyKey
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.requests.models import (
    ApprovalRecord,
    Replayed,
    RequestError,
    RequestKind,
    RequestRecord,
    RequestResult,
    RequestState,
    StepRecord,
    TemplateReference,
    Waiting,
    close_approvals,
)
from chamberlain.requests.rules import TARGETS, Action, left_behind
from chamberlain.requests.steps import MOST_ENTRIES, abandon, entries_of_move, restart

# What `record_of` reads; behind it stands what has these columns.
SELECT = """
SELECT request_id, tenant_id, approval_required, kind, state, display_name, template_id, template_name, body, waiting,
blocked, error, warnings, result, steps, created_at, actor_type, actor_id, actor_name, client_id, updated_at,
finished_at, approvals, made"""
FIND = f"{SELECT} FROM chamberlain.request WHERE tenant_id = $1 AND request_id = $2"

# For whoever is about to change it: until the end of the transaction nobody else does.
HOLD = f"{FIND} FOR UPDATE"

FIND_HOLDER = """
SELECT request_id FROM chamberlain.reservation WHERE tenant_id = $1 AND kind = 'address' AND value = lower($2)
"""

FIND_BY_KEY = """
SELECT k.digest, r.request_id, r.approval_required
FROM chamberlain.idempotency_key k JOIN chamberlain.request r USING (tenant_id, request_id)
WHERE k.tenant_id = $1 AND k.client_id = $2 AND k.caller_id = $3 AND k.key = $4
"""

# Of a long timeline the newest half of what may be kept stays; the numbers of its entries do not change.
SHORTEN = """
UPDATE chamberlain.request r SET
    timeline_start = r.timeline_start + jsonb_array_length(r.timeline) - $2 / 2,
    timeline = jsonb_path_query_array(r.timeline, format('$[last - %s to last]', $2 / 2 - 1)::jsonpath)
WHERE r.request_id = ANY ($1) AND jsonb_array_length(r.timeline) > $2
"""

# A move that somebody asked for, from the state that was seen.
MOVE = """
UPDATE chamberlain.request SET
    state = $3, steps = $4::text::json, approvals = $5::text::json, error = $6::text::json, warnings = $7::text::json,
    waiting = NULL, blocked = $12, updated_at = $8, finished_at = $9, timeline = timeline || $10::text::jsonb
WHERE tenant_id = $1 AND request_id = $2 AND state = $11
RETURNING request_id
"""

GIVE_BACK = """
WITH held AS (
    SELECT 'address' AS kind, lower(address) AS value FROM chamberlain.request WHERE tenant_id = $1 AND request_id = $2
    UNION ALL
    SELECT 'address', alias FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = $2
    UNION ALL
    SELECT 'name', name_key FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = $2
)
DELETE FROM chamberlain.reservation v USING held
WHERE v.tenant_id = $1 AND v.kind = held.kind AND v.value = held.value AND v.request_id = $2
"""

Shape = TypeVar("Shape")

_encode = msgspec.json.Encoder().encode
_decode_steps = msgspec.json.Decoder(tuple[StepRecord, ...]).decode


async def find(tx: Transaction, request_id: RequestId) -> RequestRecord | None:
    """The request whole."""
    row = await tx.fetch_row(FIND, tx.tenant_id, request_id)
    return record_of(row) if row else None


async def hold(tx: Transaction, request_id: RequestId) -> RequestRecord | None:
    """The request whole, which nobody else changes until this transaction ends."""
    row = await tx.fetch_row(HOLD, tx.tenant_id, request_id)
    return record_of(row) if row else None


async def find_by_address(tx: Transaction, address: str) -> RequestRecord | None:
    """The request that an address is given away to."""
    row = await tx.fetch_row(FIND_HOLDER, tx.tenant_id, address)
    return await find(tx, RequestId(row["request_id"])) if row else None


async def find_by_key(
    tx: Transaction, client_id: ClientId, caller_id: UUID, idempotency: IdempotencyKey
) -> tuple[Replayed, bool] | None:
    """What was accepted under a key before, and whether it was the same thing."""
    row = await tx.fetch_row(FIND_BY_KEY, tx.tenant_id, client_id, caller_id, idempotency.key)
    if row is None:
        return None
    return Replayed(RequestId(row["request_id"]), row["approval_required"]), row["digest"] == idempotency.digest


async def cancel(tx: Transaction, before: RequestRecord, *, at: datetime) -> RequestRecord | None:
    """End a request before it is through, and give its name and addresses back; the request as it is then, or None when
    it has moved meanwhile. Nothing of it waits any more, and of what exists already it tells."""
    after = replace(
        before,
        state=TARGETS[Action.CANCEL],
        steps=abandon(before.steps),
        approvals=close_approvals(before.approvals),
        blocked=None,
        warnings=(*before.warnings, *left_behind(before)),
        updated_at=at,
        finished_at=at,
    )
    if not await move(tx, before, after):
        return None
    await give_back(tx, before.request_id)
    return replace(after, waiting=None)


async def retry(tx: Transaction, before: RequestRecord, *, at: datetime) -> RequestRecord | None:
    """Queue a failed request once more, to go on at the step that failed; the request as it is then, or None when it
    has moved meanwhile."""
    target, steps = TARGETS[Action.RETRY], restart(before.steps)
    after = replace(before, state=target, steps=steps, error=None, updated_at=at, finished_at=None)
    return after if await move(tx, before, after) else None


async def give_back(tx: Transaction, request_id: RequestId) -> None:
    """Let others have the name and the addresses of a request."""
    await tx.execute(GIVE_BACK, tx.tenant_id, request_id)


async def shorten(tx: Transaction, request_ids: Sequence[RequestId]) -> None:
    """Keep the newest part alone of timelines that may grow for long."""
    await tx.execute(SHORTEN, request_ids, MOST_ENTRIES)


async def move(tx: Transaction, before: RequestRecord, after: RequestRecord) -> bool:
    """Let a request become what it is after it, and tell so in its timeline; False when it has moved meanwhile."""
    row = await tx.fetch_row(
        MOVE,
        tx.tenant_id,
        before.request_id,
        after.state,
        _encode(after.steps).decode(),
        _json(after.approvals or None),
        _json(after.error),
        _json(after.warnings or None),
        after.updated_at,
        after.finished_at,
        _encode(entries_of_move(before, after)).decode(),
        before.state,
        after.blocked,
    )
    return row is not None


def _json(value: object) -> str | None:
    return None if value is None else _encode(value).decode()


def record_of(row: Record) -> RequestRecord:
    """The request that a row holds."""
    return RequestRecord(
        request_id=RequestId(row["request_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        approval_required=row["approval_required"],
        kind=RequestKind(row["kind"]),
        state=RequestState(row["state"]),
        display_name=row["display_name"],
        template=_template(row),
        body=row["body"].encode(),
        waiting=_optional(row["waiting"], Waiting),
        blocked=row["blocked"],
        error=_optional(row["error"], RequestError),
        warnings=_optional(row["warnings"], tuple[str, ...]) or (),
        result=_optional(row["result"], RequestResult),
        steps=_decode_steps(row["steps"]),
        created_at=row["created_at"],
        created_by=actor_of(row),
        client_id=ClientId(row["client_id"]),
        updated_at=row["updated_at"],
        finished_at=row["finished_at"],
        approvals=_optional(row["approvals"], tuple[ApprovalRecord, ...]) or (),
        made=_optional(row["made"], RequestResult),
    )


def _template(row: Record) -> TemplateReference | None:
    template_id = row["template_id"]
    return None if template_id is None else TemplateReference(TemplateId(template_id), row["template_name"])


def _optional(text: str | None, shape: type[Shape]) -> Shape | None:
    return None if text is None else msgspec.json.decode(text, type=shape)
