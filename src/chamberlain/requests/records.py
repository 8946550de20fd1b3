# SPDX-License-Identifier: Apache-2.0
"""Read requests, and move them when they are decided, cancelled or retried.

batcher.py accepts requests with all their rows in one statement; finish.py writes the progress of the worker.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from chamberlain.changes.records import actor_of
from chamberlain.core.idempotency import IdempotencyKey
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.reasons import Cause, Reason, kept_causes, shown_warnings
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queries import load_queries
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

SQL = load_queries(__name__)
SELECT = SQL["select"]

Shape = TypeVar("Shape")

_encode = msgspec.json.Encoder().encode
_decode_steps = msgspec.json.Decoder(tuple[StepRecord, ...]).decode


async def find(tx: Transaction, request_id: RequestId) -> RequestRecord | None:
    """Read a request."""
    row = await tx.fetch_row(SQL["find"], tx.tenant_id, request_id)
    return record_of(row) if row else None


async def hold(tx: Transaction, request_id: RequestId) -> RequestRecord | None:
    """Read a request and lock it until the transaction ends."""
    row = await tx.fetch_row(SQL["hold"], tx.tenant_id, request_id)
    return record_of(row) if row else None


async def find_by_address(tx: Transaction, address: str) -> RequestRecord | None:
    """Find the request that has reserved an address."""
    row = await tx.fetch_row(SQL["find_holder"], tx.tenant_id, address)
    return await find(tx, RequestId(row["request_id"])) if row else None


async def count_to_decide(tx: Transaction, user: UserId, *, most: int) -> int:
    """Count the requests that wait for the user's decision, at most `most`."""
    (row,) = await tx.fetch(SQL["count_to_decide"], tx.tenant_id, user, most)
    return int(row["number"])


async def find_by_key(
    tx: Transaction, client_id: ClientId, caller_id: UUID, idempotency: IdempotencyKey
) -> tuple[Replayed, bool] | None:
    """Find the request of an idempotency key.

    Returns whether its body was the same as well.
    """
    row = await tx.fetch_row(SQL["find_by_key"], tx.tenant_id, client_id, caller_id, idempotency.key)
    if row is None:
        return None
    return Replayed(RequestId(row["request_id"]), row["approval_required"]), row["digest"] == idempotency.digest


async def cancel(tx: Transaction, before: RequestRecord, *, at: datetime) -> RequestRecord | None:
    """Cancel an unfinished request and release its name and addresses.

    Adds a warning about an object that exists already. Returns None if the state has changed meanwhile.
    """
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
    """Queue a failed request again at the failed step.

    Returns None if the state has changed meanwhile.
    """
    target, steps = TARGETS[Action.RETRY], restart(before.steps)
    after = replace(before, state=target, steps=steps, error=None, updated_at=at, finished_at=None)
    return after if await move(tx, before, after) else None


async def give_back(tx: Transaction, request_id: RequestId) -> None:
    """Release the name and the addresses of a request."""
    await tx.execute(SQL["give_back"], tx.tenant_id, request_id)


async def shorten(tx: Transaction, request_ids: Sequence[RequestId]) -> None:
    """Shorten long timelines to their newest entries."""
    await tx.execute(SQL["shorten"], request_ids, MOST_ENTRIES)


async def move(tx: Transaction, before: RequestRecord, after: RequestRecord) -> bool:
    """Write a transition and its timeline entries.

    Returns False if the state has changed meanwhile.
    """
    row = await tx.fetch_row(
        SQL["move"],
        tx.tenant_id,
        before.request_id,
        after.state,
        _encode(after.steps).decode(),
        _json(after.approvals or None),
        _json(after.error),
        _json([warning.sentence for warning in after.warnings] or None),
        after.updated_at,
        after.finished_at,
        _encode(entries_of_move(before, after)).decode(),
        before.state,
        after.blocked,
        _json(kept_causes(after.warnings) or None),
    )
    return row is not None


def _json(value: object) -> str | None:
    return None if value is None else _encode(value).decode()


def record_of(row: Record) -> RequestRecord:
    """Convert a row to a request."""
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
        warnings=warnings_of(row),
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


def warnings_of(row: Record) -> tuple[Reason, ...]:
    """Join sentences, codes and values of the warnings of a row."""
    sentences, causes = row["warnings"], row["warning_causes"]
    if sentences is None and causes is None:
        return ()
    return shown_warnings(_optional(sentences, tuple[str, ...]) or (), _optional(causes, tuple[Cause, ...]) or ())


def _template(row: Record) -> TemplateReference | None:
    template_id = row["template_id"]
    if template_id is None:
        return None
    return TemplateReference(TemplateId(template_id), row["template_name"], row["template_revision"] or 0)


def _optional(text: str | None, shape: type[Shape]) -> Shape | None:
    return None if text is None else msgspec.json.decode(text, type=shape)
