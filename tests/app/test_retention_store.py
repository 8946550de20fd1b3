# SPDX-License-Identifier: Apache-2.0
"""Expired rows are found along an index, however many others there are."""

from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.app import retention
from chamberlain.database.transactions import PLANNING
from chamberlain.http import idempotency
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE, open_estate
from tests.postgres import connected
from tests.query_plans import rows_looked_at

NUMBER = 20_000
BATCH = 1_000
# The first hundred of each tenant are 500 days old, the others are of the last days.
AT = "now() - CASE WHEN n <= 100 THEN interval '500 days' ELSE interval '6 days' END + n * interval '1 ms'"
FILL = {
    "idempotency_key": """
        INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest, created_at)
        SELECT $1, '', $1, n::text, '', {at} FROM generate_series(1, $2::integer) n
    """,
    "failed": """
        INSERT INTO chamberlain.request_by_state (tenant_id, state, kind, created_at, request_id, since)
        SELECT $1, 'failed', 'group', now(), gen_random_uuid(), {at} FROM generate_series(1, $2::integer) n
    """,
    "request": """
        INSERT INTO chamberlain.request (
            request_id, tenant_id, kind, state, display_name, body, approval_required, people_checked, client_id,
            actor_type, actor_name, trace_id, steps, created_at, finished_at
        )
        SELECT gen_random_uuid(), $1, 'group', 'succeeded', '', '{}', false, true, '', 'user', '', '', '[]', at, at
        FROM generate_series(1, $2::integer) n CROSS JOIN LATERAL (SELECT {at} AS at) made
    """,
    "event": """
        INSERT INTO chamberlain.event (event_id, tenant_id, type, at, data)
        SELECT gen_random_uuid(), $1, 'group.created', {at}, '{}' FROM generate_series(1, $2::integer) n
    """,
    "finding": """
        INSERT INTO chamberlain.finding (
            tenant_id, finding_id, kind, state, source, subject_type, subject_id, subject_name, about, detail,
            first_seen_at, last_seen_at
        )
        SELECT $1, gen_random_uuid(), 'drift', CASE WHEN n % 2 = 1 THEN 'gone' ELSE 'open' END, 'drift', 'group',
            gen_random_uuid(), '', '', '', {at}, {at}
        FROM generate_series(1, $2::integer) n
    """,
    "drift_repair": """
        INSERT INTO chamberlain.drift_repair (tenant_id, subject_id, about, repairs, digest, found_at, has_given_up)
        SELECT $1, gen_random_uuid(), 'city', 1, '', {at}, false FROM generate_series(1, $2::integer) n
    """,
    "adoption": """
        INSERT INTO chamberlain.adoption (
            tenant_id, adoption_id, kind, template_id, template_revision, template_name, filter, state, total,
            created_by, trace_id, created_at, updated_at, finished_at
        )
        SELECT $1, gen_random_uuid(), 'shared', gen_random_uuid(), 1, '', '{}', 'undone', 1, '{}', '', {at}, {at},
            {at}
        FROM generate_series(1, $2::integer) n
    """,
    "release": """
        INSERT INTO chamberlain.release (
            tenant_id, release_id, types, state, total, created_by, trace_id, created_at, updated_at, finished_at
        )
        SELECT $1, gen_random_uuid(), '{mailbox}', 'succeeded', 1, '{}', '', {at}, {at}, {at}
        FROM generate_series(1, $2::integer) n
    """,
}
# The rows that each statement reads beyond those that it removes: the next ones, and one for each tenant.
CASES = [
    ("idempotency_key", idempotency.SWEEP, 200),
    ("failed", retention.FAILED, 200),
    ("request", retention.REMOVE_FINISHED, 200),
    ("event", retention.REMOVE_EVENTS, 2 * BATCH),
    ("finding", retention.REMOVE_FINDINGS, 100),
    ("drift_repair", retention.REMOVE_REPAIRS, 200),
    ("adoption", retention.REMOVE_ADOPTIONS, 20),
    ("release", retention.REMOVE_RELEASES, 20),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("filled", "statement", "most"), CASES, ids=[name for name, _, _ in CASES])
async def test_it_works_along_an_index(databases: Databases, filled: str, statement: str, most: int) -> None:
    await open_estate(databases)
    async with databases.worker.across_tenants() as tx:
        for tenant in (ESTATE, OTHER_HOUSE):
            await tx.execute(FILL[filled].replace("{at}", AT), tenant, NUMBER)
    # The planner believes at first what was true while the tables were empty.
    before = datetime.now(UTC) - timedelta(days=400)
    looked_at = []
    for _ in range(2):
        async with databases.worker.across_tenants() as tx:
            await tx.execute(PLANNING)
            looked_at.append(await rows_looked_at(tx, statement, before, BATCH))
        async with connected(databases.addresses.owner) as connection:
            await connection.execute("ANALYZE")

    assert max(looked_at) <= most + 10


async def test_a_large_release_goes_in_batches(databases: Databases) -> None:
    async with databases.worker.across_tenants() as tx:
        await tx.execute(FILL["release"].replace("{at}", AT), ESTATE, 1)
        await tx.execute(
            "INSERT INTO chamberlain.release_item (tenant_id, release_id, type, key, id, display_name, state) "
            "SELECT tenant_id, release_id, 'mailbox', gen_random_uuid(), gen_random_uuid(), '', 'released' "
            "FROM chamberlain.release, generate_series(1, 150)"
        )
    before = datetime.now(UTC) - timedelta(days=400)

    removed = []
    for _ in range(4):
        async with databases.worker.across_tenants() as tx:
            removed.append(await retention.remove_releases(tx, before, 100))

    assert removed == [100, 50, 1, 0]


async def test_a_large_adoption_goes_in_batches(databases: Databases) -> None:
    async with databases.worker.across_tenants() as tx:
        await tx.execute(FILL["adoption"].replace("{at}", AT), ESTATE, 1)
        await tx.execute(
            "INSERT INTO chamberlain.adoption_item "
            "(tenant_id, adoption_id, object_id, request_id, display_name, mail, state) "
            "SELECT tenant_id, adoption_id, gen_random_uuid(), gen_random_uuid(), '', '', 'released' "
            "FROM chamberlain.adoption, generate_series(1, 250)"
        )
    before = datetime.now(UTC) - timedelta(days=400)

    removed = []
    for _ in range(5):
        async with databases.worker.across_tenants() as tx:
            removed.append(await retention.remove_adoptions(tx, before, 100))

    assert removed == [100, 100, 50, 1, 0]
