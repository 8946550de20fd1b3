# SPDX-License-Identifier: Apache-2.0
"""SQL for other nouns: remove the records of released objects."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

FORGET_REQUESTS: Final = (
    "UPDATE chamberlain.subject SET request_id = NULL WHERE tenant_id = $1 AND request_id = ANY ($2)",
    "DELETE FROM chamberlain.request WHERE tenant_id = $1 AND request_id = ANY ($2)",
)
# In the order in which a check for drift locks them.
HOLD_OBJECTS: Final = (
    "SELECT FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = ANY ($2) ORDER BY request_id FOR UPDATE",
    "SELECT FROM chamberlain.request WHERE tenant_id = $1 AND request_id = ANY ($2) ORDER BY request_id FOR UPDATE",
)
_OF_DRIFT: Final = ("drift", "repairDoesNotHold")


async def lock_objects(tx: Transaction, tenant_id: TenantId, request_ids: Sequence[RequestId]) -> None:
    """Lock the records of mailboxes and groups.

    A check for drift waits, and does not repair them afterwards.
    """
    for statement in HOLD_OBJECTS:
        await tx.execute(statement, tenant_id, request_ids)


async def forget_objects(
    tx: Transaction,
    tenant_id: TenantId,
    request_ids: Sequence[RequestId],
    object_ids: Sequence[UUID],
    paths: Sequence[str],
    *,
    at: datetime,
) -> None:
    """Delete the records of mailboxes and groups.

    Deletes the metadata of groups, and closes the findings of drift. `object_ids` are the groups in the directory,
    `paths` the properties that drift compares. Reservations stay.
    """
    await lock_objects(tx, tenant_id, request_ids)
    mailboxes = await tx.fetch(SQL["forget_mailboxes"], tenant_id, request_ids)
    for statement in FORGET_REQUESTS:
        await tx.execute(statement, tenant_id, request_ids)
    await tx.execute(SQL["forget_metadata"], tenant_id, object_ids)
    await close_drift(tx, tenant_id, [*[row["mailbox_id"] for row in mailboxes], *object_ids], paths, at=at)


async def close_drift(
    tx: Transaction, tenant_id: TenantId, object_ids: Sequence[UUID], paths: Sequence[str], *, at: datetime
) -> None:
    """Close the findings of drift about these properties, and delete their repairs."""
    await tx.execute(SQL["leave"], tenant_id, object_ids, list(_OF_DRIFT), at, list(paths))
    await tx.execute(SQL["forget_repairs"], tenant_id, object_ids, list(paths))


async def release_items(
    tx: Transaction, tenant_id: TenantId, request_ids: Sequence[RequestId], *, at: datetime
) -> None:
    """Mark adopted items of these requests as released.

    Their objects can be adopted again.
    """
    await tx.execute(SQL["release_by_requests"], tenant_id, request_ids, at)
