"""The accounts of guests, for those who may keep them from signing in."""

from collections.abc import Sequence
from uuid import UUID

from chamberlain.embedded.directory.database import Queryable, answering, one_transaction
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.follow_rules import follow_changed

# In the order of their ids, so that two who name the same ones never wait for each other crosswise.
_LOCK = """
SELECT u.tenant_id, u.id, u.user_type, u.account_enabled FROM directory.users u
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, id) ON u.tenant_id = i.tenant_id AND u.id = i.id
ORDER BY u.tenant_id, u.id FOR NO KEY UPDATE OF u
"""
_DISABLE = """
UPDATE directory.users u SET account_enabled = false
FROM unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, id) WHERE u.tenant_id = i.tenant_id AND u.id = i.id
"""
_NOT_A_GUEST = "The user {} is no guest any more and was not disabled."


async def disable_guests(database: Queryable, users: Sequence[tuple[UUID, UUID]]) -> Sequence[Refused | None]:
    """Keep these guests, each named by tenant and id, from signing in; groups whose rules ask for that follow. Whoever
    has no account is passed over; refused is who is no guest (`notAGuest`)."""
    with answering():
        async with one_transaction(database) as connection:
            rows = await connection.fetch(_LOCK, *_columns(users))
            others = {(row["tenant_id"], row["id"]) for row in rows if row["user_type"] != "Guest"}
            enabled = {(row["tenant_id"], row["id"]) for row in rows if row["account_enabled"]} - others
            if enabled:
                await connection.execute(_DISABLE, *_columns(sorted(enabled)))
                await follow_changed(connection, _by_tenant(enabled))
    return [Refused("notAGuest", _NOT_A_GUEST.format(user[1])) if user in others else None for user in users]


def _columns(users: Sequence[tuple[UUID, UUID]]) -> tuple[list[UUID], list[UUID]]:
    return [tenant_id for tenant_id, _ in users], [user_id for _, user_id in users]


def _by_tenant(users: set[tuple[UUID, UUID]]) -> dict[UUID, list[UUID]]:
    found: dict[UUID, list[UUID]] = {}
    for tenant_id, user_id in sorted(users):
        found.setdefault(tenant_id, []).append(user_id)
    return found
