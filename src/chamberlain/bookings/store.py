# SPDX-License-Identifier: Apache-2.0
"""SQL of answers and of the leases of resources."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chamberlain.bookings.models import (
    Answer,
    AnswerState,
    Decision,
    Invitation,
    Method,
    Refusal,
    StoredAnswer,
    Version,
)
from chamberlain.core.ids import MailboxId, TraceId
from chamberlain.database.transactions import PLANNING, Record, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)
# Longer than the handling of one mail, whose calls have timeouts of half a minute. It is renewed with each mail.
LEASE: Final = timedelta(minutes=5)
# An invitation of a mailbox is read within 14 days (inboxes.py). Answers also keep late mails from bringing back what a
# newer one has changed.
KEPT_FOR: Final = timedelta(days=400)


async def acquire(tx: Transaction, resource_id: MailboxId, lease_id: UUID) -> bool:
    """Acquire or renew the lease of a resource.

    Returns False while another worker has it.
    """
    return await tx.fetch_row(SQL["acquire"], tx.tenant_id, resource_id, lease_id, LEASE) is not None


async def hold(tx: Transaction, resource_id: MailboxId, lease_id: UUID) -> bool:
    """Lock the lease of a resource. Returns False if it is lost."""
    return await tx.fetch_row(SQL["hold"], tx.tenant_id, resource_id, lease_id) is not None


async def give_back(tx: Transaction, resource_id: MailboxId, lease_id: UUID) -> None:
    """Give the lease of a resource back."""
    await tx.execute(SQL["give_back"], tx.tenant_id, resource_id, lease_id)


async def find(tx: Transaction, resource_id: MailboxId, uid: str) -> Sequence[StoredAnswer]:
    """Find the answers of a resource about one appointment and its occurrences."""
    return [_answer(row) for row in await tx.fetch(SQL["find"], tx.tenant_id, resource_id, uid)]


async def claim(tx: Transaction, resource_id: MailboxId, invitation: Invitation) -> None:
    """Begin the answers to a mail."""
    about = [(each.recurrence, each.version.sequence, each.version.stamp) for each in invitation.appointments]
    recurrences, sequences, stamps = (list(values) for values in zip(*about, strict=True))
    place = tx.tenant_id, resource_id, invitation.uid
    await tx.execute(SQL["claim"], *place, invitation.method, invitation.organizer, recurrences, sequences, stamps)


async def decide(
    tx: Transaction,
    resource_id: MailboxId,
    invitation: Invitation,
    decision: Decision,
    *,
    calendar: str | None,
    at: datetime,
) -> bool:
    """Save a decision. Returns False if another worker has saved one."""
    about = _about(tx, resource_id, invitation)
    rows = await tx.fetch(SQL["decide"], *about, decision.answer, decision.refusal, calendar, at)
    return len(rows) == len(invitation.appointments)


async def move(
    tx: Transaction,
    resource_id: MailboxId,
    invitation: Invitation,
    before: Collection[AnswerState],
    after: AnswerState,
) -> bool:
    """Change the state of the answers to a mail.

    Returns False if one of them has another state than `before`.
    """
    rows = await tx.fetch(SQL["move"], *_about(tx, resource_id, invitation), list(before), after)
    return len(rows) == len(invitation.appointments)


async def add_mails(
    tx: Transaction, resource_id: MailboxId, uids: Collection[int], trace_id: TraceId
) -> Sequence[tuple[UUID, int]]:
    """Add mails of a resource with their jobs.

    Returns id and uid of those that were not waiting yet.
    """
    rows = await tx.fetch(SQL["add_mails"], tx.tenant_id, resource_id, sorted(uids), trace_id)
    return [(row["mail_id"], row["uid"]) for row in rows]


async def find_mail(tx: Transaction, mail_id: UUID) -> tuple[MailboxId, int] | None:
    """Find the resource and the uid of a waiting mail."""
    row = await tx.fetch_row(SQL["find_mail"], tx.tenant_id, mail_id)
    return None if row is None else (MailboxId(row["resource_id"]), row["uid"])


async def remove_mail(tx: Transaction, mail_id: UUID) -> None:
    """Remove a mail that was handled."""
    await tx.execute(SQL["remove_mail"], tx.tenant_id, mail_id)


async def queue_missing_jobs(tx: Transaction, trace_id: TraceId) -> None:
    """Queue missing jobs of tenants with an open suite.

    Needs the worker's role.
    """
    await tx.execute(SQL["queue_missing_jobs"], trace_id)


async def remove_old(tx: Transaction, before: datetime, most: int) -> int:
    """Remove up to `most` answers that were not changed since a time.

    Returns their number.
    """
    await tx.execute(PLANNING)
    (row,) = await tx.fetch(SQL["remove_old"], before, most)
    return int(row["removed"])


def _about(tx: Transaction, resource_id: MailboxId, invitation: Invitation) -> tuple[object, ...]:
    recurrences = [each.recurrence for each in invitation.appointments]
    sequences = [each.version.sequence for each in invitation.appointments]
    return tx.tenant_id, resource_id, invitation.uid, recurrences, sequences


def _answer(row: Record) -> StoredAnswer:
    answer, refusal = row["answer"], row["refusal"]
    return StoredAnswer(
        recurrence=row["recurrence"],
        version=Version(row["sequence"], row["stamp"]),
        method=Method(row["method"]),
        organizer=row["organizer"],
        state=AnswerState(row["state"]),
        updated_at=row["updated_at"],
        answer=None if answer is None else Answer(answer),
        refusal=None if refusal is None else Refusal(refusal),
        calendar=row["calendar"],
        decided_at=row["decided_at"],
    )
