"""Notices: what people are still to be told by mail, and who of them has it.

They are written with what they tell of: about requests by the database itself (sql/notices.sql), about policies by
policy_reports.py.
"""

from collections.abc import Iterable
from typing import Final

from chamberlain.core.ids import GroupId, NoticeId, RequestId, TenantId, UserId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.notifications.models import AboutRequest, AboutSubject, Notice, NoticeKind

FIND: Final = """
SELECT tenant_id, notice_id, kind, request_id, level, subject_id, at, attempts, told FROM chamberlain.notice
WHERE tenant_id = $1 AND notice_id = $2
"""
NOTE_TOLD: Final = """
UPDATE chamberlain.notice SET told = told || $3::uuid[] WHERE tenant_id = $1 AND notice_id = $2
"""
NOTE_ATTEMPT: Final = "UPDATE chamberlain.notice SET attempts = attempts + 1 WHERE tenant_id = $1 AND notice_id = $2"
REMOVE: Final = "DELETE FROM chamberlain.notice WHERE tenant_id = $1 AND notice_id = $2"


async def find(tx: Transaction, notice_id: NoticeId) -> Notice | None:
    """A notice of the tenant; None when it was told or given up."""
    row = await tx.fetch_row(FIND, tx.tenant_id, notice_id)
    if row is None:
        return None
    return Notice(
        tenant_id=TenantId(row["tenant_id"]),
        id=NoticeId(row["notice_id"]),
        about=_about(row),
        at=row["at"],
        attempts=row["attempts"],
        told=frozenset(map(UserId, row["told"])),
    )


async def note_told(tx: Transaction, notice_id: NoticeId, users: Iterable[UserId]) -> None:
    """Put down who has it, or can never get it."""
    await tx.execute(NOTE_TOLD, tx.tenant_id, notice_id, list(users))


async def note_attempt(tx: Transaction, notice_id: NoticeId) -> None:
    """Put down a try that has left somebody out."""
    await tx.execute(NOTE_ATTEMPT, tx.tenant_id, notice_id)


async def remove(tx: Transaction, notice_id: NoticeId) -> None:
    """Forget it: everybody has it, or it is given up."""
    await tx.execute(REMOVE, tx.tenant_id, notice_id)


def _about(row: Record) -> AboutRequest | AboutSubject:
    if row["subject_id"] is not None:
        return AboutSubject(GroupId(row["subject_id"]))
    return AboutRequest(NoticeKind(row["kind"]), RequestId(row["request_id"]), row["level"])
