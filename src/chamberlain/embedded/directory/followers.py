"""Who follows a membership rule: the rule is made into a condition with parameters and asked of the database.

It is not evaluated here, because the users of a large tenant need not travel for that, and because the database matches
patterns without back-tracking.
"""

from uuid import UUID

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.membership import condition_of


async def users_by_rule(pool: Pool, tenant_id: UUID, rule: str) -> list[UUID]:
    """The users of the tenant that the rule names. Raises BadRule."""
    condition, parameters = condition_of(rule)
    statement = f"SELECT u.id FROM directory.users u WHERE u.tenant_id = $1 AND ({condition}) ORDER BY u.id"  # noqa: S608 - the condition is made of fixed pieces; whatever the rule says is a parameter.
    return [row[0] for row in await pool.fetch(statement, tenant_id, *parameters)]
