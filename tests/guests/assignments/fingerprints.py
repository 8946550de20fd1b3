# SPDX-License-Identifier: Apache-2.0
"""A fingerprint of the whole database, to prove that a call leaves no trace in it."""

from collections.abc import Mapping
from typing import TypeAlias

from tests.databases import Databases
from tests.postgres import connected

Fingerprint: TypeAlias = Mapping[str, object]
DIGEST = """
SELECT '{name}', count(*) || ' ' || coalesce(md5(string_agg(ROW(t.*)::text, '' ORDER BY ROW(t.*)::text)), '')
FROM {name} t
"""


async def fingerprint(databases: Databases) -> Fingerprint:
    """Number and digest of the rows of every table of every schema, and the position of every sequence."""
    async with connected(databases.addresses.owner) as connection:
        tables = await connection.fetch(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'S', 'm') AND relpersistence = 'p' "
            "AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
        )
        names = [str(table[0]) for table in tables]
        assert {"chamberlain.request", "directory.groups", "identity.signing_keys"} <= set(names)
        digests = [DIGEST.format(name=name) for name in names]
        return {row[0]: row[1] for row in await connection.fetch(" UNION ALL ".join(digests))}
