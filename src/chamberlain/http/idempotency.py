"""How a POST came in: its body, its idempotency key with the digest of what was asked, and its trace."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

import asyncpg

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, KeyReused
from chamberlain.core.idempotency import IdempotencyKey, KeptAnswer
from chamberlain.database.transactions import Transaction

Body = TypeVar("Body")


# How long a second call waits for the first (docs/reference/api.md, "Headers").
PATIENCE = timedelta(seconds=10)

# A second call waits here until the first is through, which is when its row is committed or gone.
CLAIM = """
INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING key
"""

FIND = """
SELECT digest, answer FROM chamberlain.idempotency_key
WHERE tenant_id = $1 AND client_id = $2 AND caller_id = $3 AND key = $4
"""

KEEP = """
UPDATE chamberlain.idempotency_key SET answer = $5
WHERE tenant_id = $1 AND client_id = $2 AND caller_id = $3 AND key = $4
"""

SWEEP = """
DELETE FROM chamberlain.idempotency_key WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM chamberlain.idempotency_key
    WHERE created_at < $1 AND NOT chamberlain.is_of_clock_fault(created_at, $1)
    ORDER BY created_at LIMIT $2
)) RETURNING key
"""


async def once(
    tx: Transaction, caller: Caller, idempotency: IdempotencyKey | None, work: Callable[[], Awaitable[bytes]]
) -> KeptAnswer:
    """Do the work and keep its answer under the key, or give the answer that is kept. All of it is one transaction."""

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
    """The same for work whose answer may show a secret: it gives the answer, and the one that may be kept."""
    if idempotency is None:
        shown, _ = await work()
        return KeptAnswer(shown)
    if (kept := await claim(tx, caller, idempotency)) is not None:
        return KeptAnswer(kept, replayed=True)
    shown, to_keep = await work()
    await keep(tx, caller, idempotency, to_keep)
    return KeptAnswer(shown)


async def find(tx: Transaction, caller: Caller, idempotency: IdempotencyKey | None) -> KeptAnswer | None:
    """The answer that is kept under a key, for work that is more than one transaction and does no harm when it is done
    twice: until its answer is kept, it counts as not done. Raises KeyReused."""
    if idempotency is None:
        return None
    row = await tx.fetch_row(FIND, caller.tenant_id, caller.client_id, caller.id, idempotency.key)
    if row is None:
        return None
    if row["digest"] != idempotency.digest or row["answer"] is None:
        raise KeyReused
    return KeptAnswer(str(row["answer"]).encode(), replayed=True)


async def claim(
    tx: Transaction, caller: Caller, idempotency: IdempotencyKey, *, patience: timedelta = PATIENCE
) -> bytes | None:
    """The kept answer when this was asked before; None when it is ours to do now, in this transaction.

    Raises KeyReused when the key was used for something else, and Conflict when the first call takes longer than
    `patience`.
    """
    # Only here somebody may be waited for so long; what else is locked is so for a moment.
    await tx.execute("SELECT set_config('lock_timeout', $1, true)", f"{patience // timedelta(milliseconds=1)}ms")
    place = (caller.tenant_id, caller.client_id, caller.id, idempotency.key)
    try:
        claimed = await tx.fetch_row(CLAIM, *place, idempotency.digest)
    except asyncpg.LockNotAvailableError as error:
        raise Conflict.in_progress() from error
    await tx.execute("SET LOCAL lock_timeout = DEFAULT")
    if claimed is not None:
        return None
    row = await tx.fetch_row(FIND, *place)
    if row is None or row["digest"] != idempotency.digest or row["answer"] is None:
        raise KeyReused
    return str(row["answer"]).encode()


async def keep(tx: Transaction, caller: Caller, idempotency: IdempotencyKey, answer: bytes) -> None:
    """Keep what is answered, with what was done."""
    await tx.execute(KEEP, caller.tenant_id, caller.client_id, caller.id, idempotency.key, answer.decode())


async def sweep(tx: Transaction, *, before: datetime, most: int) -> int:
    """Remove the oldest keys of all tenants, as the worker's role; gives the number of them."""
    return len(await tx.fetch(SWEEP, before, most))
