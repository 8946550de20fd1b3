# SPDX-License-Identifier: Apache-2.0
"""SQL of questions, and of the position in a chat."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from chamberlain.conversations.models import Pending, Question, QuestionState
from chamberlain.core.ids import RequestId, TenantId, TraceId, UserId
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)
# Longer than any request waits for its approval.
KEPT_FOR: Final = timedelta(days=400)


async def has_work(tx: Transaction, tenant_id: TenantId) -> bool:
    """Return whether a user has to decide, or a question is open."""
    return await tx.fetch_row(SQL["has_work"], tenant_id) is not None


async def find_pending(tx: Transaction, most: int) -> Sequence[Pending]:
    """Find users who have to decide and may not have been asked.

    At most `most` are found, the oldest request first.
    """
    return [
        Pending(RequestId(row["request_id"]), UserId(row["user_id"]), frozenset(row["levels"]))
        for row in await tx.fetch(SQL["find_pending"], tx.tenant_id, most)
    ]


async def find_open(tx: Transaction, tenant_id: TenantId) -> Sequence[Question]:
    """Find the open questions of a tenant."""
    return [_question(tenant_id, row) for row in await tx.fetch(SQL["find_open"], tenant_id)]


async def add(tx: Transaction, question: Question, *, seen: datetime) -> None:
    """Add an open question, unless it exists.

    `seen` is the time of the last change of its request.
    """
    place = question.tenant_id, question.request_id, question.level, question.user
    message = question.address, question.room, question.event
    await tx.execute(SQL["add"], *place, QuestionState.ASKED, *message, question.asked_at, seen)


async def add_unreachable(tx: Transaction, pending: Pending, level: int, *, at: datetime, seen: datetime) -> None:
    """Remember that a user cannot be asked about a level."""
    place = tx.tenant_id, pending.request_id, level, pending.user
    await tx.execute(SQL["add"], *place, QuestionState.UNREACHABLE, None, None, None, at, seen)


async def see(tx: Transaction, pending: Pending, seen: datetime) -> None:
    """Note that a user was asked since the last change."""
    await tx.execute(SQL["see"], tx.tenant_id, pending.request_id, pending.user, seen)


async def close(tx: Transaction, question: Question) -> None:
    """Close a question."""
    place = question.tenant_id, question.request_id, question.level, question.user
    await tx.execute(SQL["close"], *place)


async def close_settled(tx: Transaction, tenant_id: TenantId) -> Sequence[Question]:
    """Close open questions that need no decision any more.

    Returns them.
    """
    return [_question(tenant_id, row) for row in await tx.fetch(SQL["close_settled"], tenant_id)]


async def find_position(tx: Transaction, tenant_id: TenantId) -> str | None:
    """Read the position behind the last message that was read."""
    row = await tx.fetch_row(SQL["find_position"], tenant_id)
    return None if row is None else str(row["position"])


async def save_position(tx: Transaction, tenant_id: TenantId, position: str) -> None:
    """Save the position behind the last message that was read."""
    await tx.execute(SQL["save_position"], tenant_id, position)


async def queue_missing_jobs(tx: Transaction, trace_id: TraceId) -> None:
    """Queue missing jobs of tenants with something to do.

    Needs the worker's role.
    """
    await tx.execute(SQL["queue_missing_jobs"], trace_id)


async def remove_old(tx: Transaction, before: datetime, most: int) -> int:
    """Remove up to `most` questions that were asked before a time.

    Returns their number.
    """
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(SQL["remove_old"], before, most)
    return int(row["removed"])


def _question(tenant_id: TenantId, row: Record) -> Question:
    return Question(
        tenant_id=tenant_id,
        request_id=RequestId(row["request_id"]),
        level=row["level"],
        user=UserId(row["user_id"]),
        address=row["address"],
        room=row["room"],
        event=row["event"],
        asked_at=row["asked_at"],
    )
