# SPDX-License-Identifier: Apache-2.0
"""SQL of lists with the newest rows first, paginated by key."""

from typing import Final

# $1 tenant, $2 and $3 the position (null at the beginning), $4 owner, $5 kinds, $6 state, $7 number of rows. Null
# matches everything; each call is planned for its own values, so null costs nothing.
BEHIND: Final = "($2::timestamptz IS NULL OR (r.created_at, r.request_id) < ($2, $3::uuid))"


NEWEST: Final = "ORDER BY r.created_at DESC, r.request_id DESC LIMIT $7"


def newest(table: str, *conditions: str) -> str:
    """Select the newest positions along one index."""
    return f"""SELECT r.created_at, r.request_id FROM {table} r
    WHERE r.tenant_id = $1 AND {BEHIND} AND {" AND ".join(conditions)} {NEWEST}"""  # noqa: S608 - as above.


def merged(table: str, *conditions: str) -> str:
    """Select the newest of each kind, then the newest of these.

    So an index by kind serves lists of all kinds.
    """
    return f"""SELECT r.created_at, r.request_id FROM unnest($5::text[]) AS wanted (kind)
    CROSS JOIN LATERAL ({newest(table, "r.kind = wanted.kind", *conditions)}) r {NEWEST}"""  # noqa: S608 - as above.
