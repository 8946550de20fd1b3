"""Notices: what people are still to be told by mail, and who of them has it.

They are written by the database itself (sql/notices.sql), with the event that they tell of.
"""

from collections.abc import Iterable
from typing import Final

from chamberlain.rules.ids import NoticeId, RequestId, TenantId, UserId
from chamberlain.rules.notices import Notice, NoticeKind
from chamberlain.store.database import Transaction

FIND: Final = """
SELECT tenant_id, notice_id, kind, request_id, level, at, attempts, told FROM chamberlain.notice
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
        kind=NoticeKind(row["kind"]),
        request_id=RequestId(row["request_id"]),
        level=row["level"],
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
