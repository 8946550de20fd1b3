"""Locks of configuration changes."""

from collections.abc import Collection
from datetime import timedelta

import asyncpg

from chamberlain.core.errors import Conflict
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.templates import records as template_records

# A plan is looked at as it is at one moment.
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


# One after the other, and none waits for ever. It is less than the time that the driver gives a statement.
PATIENCE = timedelta(seconds=20)


WAIT = "SELECT set_config('lock_timeout', $1, true)"


LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('chamberlain.configuration', 0))"


# Whoever changes these over HTTP, or assigns one, waits, so that a plan that was made is the one that is carried out.
LOCK_ROWS = (
    "SELECT FROM chamberlain.tenant WHERE tenant_id = ANY ($1) ORDER BY tenant_id FOR UPDATE",
    "SELECT FROM chamberlain.template WHERE tenant_id = ANY ($1) ORDER BY tenant_id, template_id FOR UPDATE",
    "SELECT FROM chamberlain.policy WHERE tenant_id = ANY ($1) ORDER BY tenant_id, policy_id FOR UPDATE",
)


async def look(tx: Transaction) -> None:
    """See the tables as they are at this moment, to the end of the transaction, which writes nothing. Comes first."""
    await tx.execute(SNAPSHOT)


async def hold(tx: Transaction, tenant_ids: Collection[TenantId], *, patience: timedelta = PATIENCE) -> None:
    """Be the only one who changes what files can say of these tenants, until the transaction ends. Raises Conflict when
    others take too long."""
    try:
        await tx.execute(WAIT, str(round(patience.total_seconds() * 1000)))
        await tx.execute(LOCK)
        for tenant_id in sorted(tenant_ids):
            await template_records.lock(tx, tenant_id)
        for statement in LOCK_ROWS:
            await tx.execute(statement, list(tenant_ids))
        await tx.execute(WAIT, "0")
    except asyncpg.LockNotAvailableError as error:
        detail = "Somebody else is applying configuration files. Nothing was changed; try again when they are done."
        raise Conflict("stateDoesNotAllow", detail) from error
