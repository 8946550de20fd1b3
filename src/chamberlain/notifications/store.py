# SPDX-License-Identifier: Apache-2.0
"""SQL of notices.

The database writes notices about requests (sql/notices.sql). The policy job writes those about policies.
"""

from collections.abc import Iterable
from typing import Final

from chamberlain.core.ids import GroupId, NoticeId, RequestId, TenantId, UserId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.notifications.models import DRIFT_REPORT, AboutDrift, AboutRequest, AboutSubject, Notice, NoticeKind
from chamberlain.queries import load_queries

SQL = load_queries(__name__)
FIND: Final = SQL["find"]


async def find(tx: Transaction, notice_id: NoticeId) -> Notice | None:
    """Find a notice. Returns None if it was sent or given up."""
    row = await tx.fetch_row(FIND, tx.tenant_id, notice_id)
    if row is None:
        return None
    return Notice(
        tenant_id=TenantId(row["tenant_id"]),
        id=NoticeId(row["notice_id"]),
        about=_about(row),
        at=row["at"],
        attempts=row["attempts"],
        notified=frozenset(map(UserId, row["told"])),
    )


async def save_notified(tx: Transaction, notice_id: NoticeId, users: Iterable[UserId]) -> None:
    """Save recipients who got the notice or never can."""
    await tx.execute(SQL["save_notified"], tx.tenant_id, notice_id, list(users))


async def count_attempt(tx: Transaction, notice_id: NoticeId) -> None:
    """Count an incomplete attempt."""
    await tx.execute(SQL["count_attempt"], tx.tenant_id, notice_id)


async def delete(tx: Transaction, notice_id: NoticeId) -> None:
    """Delete a notice that was sent or given up."""
    await tx.execute(SQL["delete"], tx.tenant_id, notice_id)


def _about(row: Record) -> AboutRequest | AboutSubject | AboutDrift:
    if row["kind"] == DRIFT_REPORT:
        return AboutDrift(row["since"])
    if row["subject_id"] is not None:
        return AboutSubject(GroupId(row["subject_id"]))
    return AboutRequest(NoticeKind(row["kind"]), RequestId(row["request_id"]), row["level"])
