"""SQL of lists with the newest rows first, paginated by key."""

from typing import Final

# $1 tenant, $2 and $3 the position (null at the beginning), $4 owner, $5 kinds, $6 state, $7 number of rows. What is
# null does not count; each call is planned for its own values, so that it costs nothing either.
BEHIND: Final = "($2::timestamptz IS NULL OR (r.created_at, r.request_id) < ($2, $3::uuid))"


NEWEST: Final = "ORDER BY r.created_at DESC, r.request_id DESC LIMIT $7"


def newest(table: str, *conditions: str) -> str:
    """The newest places of a table, along one of its indexes."""
    return f"""SELECT r.created_at, r.request_id FROM {table} r
    WHERE r.tenant_id = $1 AND {BEHIND} AND {" AND ".join(conditions)} {NEWEST}"""  # noqa: S608 - as above.


def merged(table: str, *conditions: str) -> str:
    """The newest of each kind, and of these the newest: so an index that names the kind serves those who name none."""
    return f"""SELECT r.created_at, r.request_id FROM unnest($5::text[]) AS wanted (kind)
    CROSS JOIN LATERAL ({newest(table, "r.kind = wanted.kind", *conditions)}) r {NEWEST}"""  # noqa: S608 - as above.
