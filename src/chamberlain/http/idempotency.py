# SPDX-License-Identifier: Apache-2.0
"""Claim idempotency keys, and store and replay their responses."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import asyncpg

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, KeyReused
from chamberlain.core.idempotency import IdempotencyKey, KeptAnswer
from chamberlain.database.transactions import Record, Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# How long a second call waits for the first (docs/reference/api.md, "Headers").
WAIT = timedelta(seconds=10)


SWEEP = SQL["sweep"]


async def once(
    tx: Transaction, caller: Caller, idempotency: IdempotencyKey | None, work: Callable[[], Awaitable[bytes]]
) -> KeptAnswer:
    """Do the work and store its response, or replay the stored one.

    The response is stored under the key, in the same transaction.
    """

    async def without_secret() -> tuple[bytes, bytes]:
        body = await work()
        return body, body

    return await once_with_secret(tx, caller, idempotency, without_secret)


async def once_with_secret(
    tx: Transaction,
    caller: Caller,
    idempotency: IdempotencyKey | None,
    work: Callable[[], Awaitable[tuple[bytes, bytes]]],
) -> KeptAnswer:
    """Do the same for work that returns a secret.

    `work` returns a response with the secret, and one without it to store.
    """
    if idempotency is None:
        shown, _ = await work()
        return KeptAnswer(shown)
    if (kept := await claim(tx, caller, idempotency)) is not None:
        return KeptAnswer(kept, replayed=True)
    shown, to_keep = await work()
    await keep(tx, caller, idempotency, to_keep)
    return KeptAnswer(shown)


async def find(tx: Transaction, caller: Caller, idempotency: IdempotencyKey | None) -> KeptAnswer | None:
    """Return the stored response of a key. Raises KeyReused.

    For work in several transactions that may run twice: it counts as not done until its response is stored.
    """
    if idempotency is None:
        return None
    row = await tx.fetch_row(SQL["find"], *_key(caller, idempotency))
    return None if row is None else KeptAnswer(_stored(row, idempotency), replayed=True)


async def claim(
    tx: Transaction, caller: Caller, idempotency: IdempotencyKey, *, wait: timedelta = WAIT
) -> bytes | None:
    """Claim a key in this transaction.

    Returns the stored response if the key was claimed before, otherwise None. Raises KeyReused if the key belongs to
    another request, and Conflict if the first call takes longer than `wait`.
    """
    # Other locks are held briefly and keep their shorter timeout.
    await tx.execute("SELECT set_config('lock_timeout', $1, true)", f"{wait // timedelta(milliseconds=1)}ms")
    try:
        claimed = await tx.fetch_row(SQL["claim"], *_key(caller, idempotency), idempotency.digest)
    except asyncpg.LockNotAvailableError as error:
        raise Conflict.in_progress() from error
    await tx.execute("SET LOCAL lock_timeout = DEFAULT")
    if claimed is not None:
        return None
    return _stored(await tx.fetch_row(SQL["find"], *_key(caller, idempotency)), idempotency)


async def keep(tx: Transaction, caller: Caller, idempotency: IdempotencyKey, answer: bytes) -> None:
    """Store the response under the key."""
    await tx.execute(SQL["keep"], *_key(caller, idempotency), answer.decode())


def _key(caller: Caller, idempotency: IdempotencyKey) -> tuple[object, ...]:
    return (caller.tenant_id, caller.client_id, caller.id, idempotency.key)


def _stored(row: Record | None, idempotency: IdempotencyKey) -> bytes:
    if row is None or row["digest"] != idempotency.digest or row["answer"] is None:
        raise KeyReused
    return str(row["answer"]).encode()


async def sweep(tx: Transaction, *, before: datetime, most: int) -> int:
    """Remove the oldest keys of all tenants, and return their number.

    It needs the worker's role.
    """
    return len(await tx.fetch(SWEEP, before, most))
