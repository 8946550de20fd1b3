# SPDX-License-Identifier: Apache-2.0
"""Tables: how large each is with its indexes, how many rows it has, and how its updates went."""

import json
from dataclasses import dataclass

from bench.measuring.database import Measured

# Parts of a table count as the table. Removed rows count until they are vacuumed away.
_TABLES = """
SELECT array_agg(figures::text) FROM (
    SELECT json_build_object(
        'name', t.name, 'rows', sum(s.n_live_tup), 'dead', sum(s.n_dead_tup), 'heap', sum(pg_table_size(s.relid)),
        'indexes', sum(pg_indexes_size(s.relid)), 'updates', sum(s.n_tup_upd), 'hot', sum(s.n_tup_hot_upd)
    ) AS figures
    FROM pg_stat_user_tables s LEFT JOIN pg_inherits i ON i.inhrelid = s.relid
    CROSS JOIN LATERAL (SELECT coalesce(i.inhparent, s.relid)::regclass::text AS name) t
    WHERE s.schemaname IN ('chamberlain', 'directory', 'identity') GROUP BY t.name
) tables
"""


@dataclass(frozen=True, slots=True)
class Table:
    """One table; sizes in bytes, counts since the server was started."""

    name: str
    rows: int
    dead: int
    heap: int
    indexes: int
    updates: int
    hot: int

    @property
    def size(self) -> int:
        """With all of its indexes."""
        return self.heap + self.indexes


def tables_of(database: Measured) -> dict[str, Table]:
    """All tables of the service and of what is embedded."""
    tables = [Table(**json.loads(text)) for text in database.texts(_TABLES)]
    return {table.name: table for table in tables}
