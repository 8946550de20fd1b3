"""What has become of everything that was acknowledged, as the database has it."""

import asyncio
from collections.abc import Sequence

from tests.postgres import connected
from tests.services import wait_until

# Leases of the dead last for ten seconds, and a backlog takes its time.
DONE_WITHIN = 180.0

LOST = "SELECT count(*) FROM (SELECT unnest($1::uuid[]) EXCEPT SELECT request_id FROM chamberlain.request) AS lost"
# Names carry the key of their caller, so one that is there twice was accepted twice.
DOUBLE = """
SELECT count(*) FROM (
    SELECT FROM chamberlain.request WHERE display_name = ANY ($1::text[]) GROUP BY display_name HAVING count(*) > 1
) AS double
"""
UNFINISHED = "SELECT count(*) FROM chamberlain.job WHERE kind = 'groupProvision'"
# Of those that were not lost, how many do not have exactly one group.
NOT_MADE = """
SELECT count(*) FROM chamberlain.request r
WHERE r.request_id = ANY ($1::uuid[]) AND (
    SELECT count(*) FROM directory.extension_values v
    WHERE v.tenant_id = r.tenant_id AND v.name = 'chamberlain_group' AND v.member = 'requestId'
        AND v.value = r.request_id::text
) <> 1
"""
LEASED = (
    "SELECT coalesce(array_agg(lease_id::text || ' ' || job_id), '{}') FROM chamberlain.job WHERE lease_until > now()"
)
STILL_LEASED = """
SELECT count(*) FROM chamberlain.job WHERE lease_id IS NOT NULL AND lease_id::text || ' ' || job_id = ANY ($1::text[])
"""


def count(address: str, statement: str, values: Sequence[str] | None = None) -> int:
    """One number, as the worker's role sees it."""
    return int(str(_asked(address, statement, *(() if values is None else (values,)))))


def leased(address: str) -> Sequence[str]:
    """The jobs that somebody holds, each with its lease."""
    found = _asked(address, LEASED)
    assert isinstance(found, list)
    return found


def wait_until_made(address: str) -> None:
    """Wait until everything that was asked for has come about."""
    wait_until(
        lambda: count(address, UNFINISHED) == 0, DONE_WITHIN, lambda: f"{count(address, UNFINISHED)} jobs are left."
    )


def _asked(address: str, statement: str, *values: object) -> object:
    async def fetch() -> object:
        async with connected(address) as connection:
            return await connection.fetchval(statement, *values)

    return asyncio.run(fetch())
