# SPDX-License-Identifier: Apache-2.0
"""Read and write substitutions.

`now` is the time of the service or of the worker, as for the deadlines of approvals.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from chamberlain.core.ids import RequestId, UserId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queries import load_queries
from chamberlain.substitutes.models import Substitution

SQL = load_queries(__name__)


async def find_of_user(tx: Transaction, user: UserId, now: datetime) -> tuple[Substitution, ...]:
    """Find the current substitutions of a user, as approver and as substitute."""
    rows = await tx.fetch(SQL["find_of_user"], tx.tenant_id, user, now)
    return tuple(map(_substitution, rows))


async def find_of_approvers(tx: Transaction, users: Collection[UserId], now: datetime) -> tuple[Substitution, ...]:
    """Find the current substitutes of users."""
    rows = await tx.fetch(SQL["find_of_approvers"], tx.tenant_id, list(users), now)
    return tuple(map(_substitution, rows))


async def hold_represented(tx: Transaction, substitute: UserId, now: datetime) -> frozenset[UserId]:
    """Find the approvers for whom a user decides.

    Their substitutions cannot change until the end of the transaction.
    """
    rows = await tx.fetch(SQL["hold_represented"], tx.tenant_id, substitute, now)
    return frozenset(UserId(row["user_id"]) for row in rows)


async def hold_requests(tx: Transaction, approver: UserId) -> Sequence[RequestId]:
    """Lock the requests that wait for a decision of the approver."""
    rows = await tx.fetch(SQL["hold_requests"], tx.tenant_id, approver)
    return [RequestId(row["request_id"]) for row in rows]


async def hold(tx: Transaction, approver: UserId) -> Substitution | None:
    """Read the substitution of an approver, and lock it.

    It may have ended.
    """
    row = await tx.fetch_row(SQL["hold"], tx.tenant_id, approver)
    return None if row is None else _substitution(row)


async def save(tx: Transaction, substitution: Substitution, now: datetime) -> None:
    """Save the only substitution of an approver."""
    values = (substitution.user_id, substitution.substitute_id, substitution.until, now)
    await tx.execute(SQL["save"], tx.tenant_id, *values)


async def delete(tx: Transaction, approver: UserId) -> None:
    """Delete the substitution of an approver."""
    await tx.execute(SQL["delete"], tx.tenant_id, approver)


async def remove_ended(tx: Transaction, before: datetime, most: int) -> int:
    """Remove substitutions that have ended, and return their number."""
    row = await tx.fetch_row(SQL["remove_ended"], before, most)
    return 0 if row is None else int(row["removed"])


async def hurry(tx: Transaction, request_ids: Iterable[RequestId]) -> None:
    """Make the approval jobs of requests due."""
    await tx.execute(SQL["hurry"], tx.tenant_id, list(request_ids))


def _substitution(row: Record) -> Substitution:
    return Substitution(UserId(row["user_id"]), UserId(row["substitute_id"]), row["until"])
