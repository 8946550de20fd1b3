# SPDX-License-Identifier: Apache-2.0
"""Lists of requests stay quick: each filter is read along an index, and a million requests are like a thousand."""

from collections.abc import Sequence
from itertools import product
from uuid import UUID

import pytest

from chamberlain.core.paging import PageWanted, Position
from chamberlain.database import transactions
from chamberlain.database.transactions import Transaction
from chamberlain.queue import jobs as queue_jobs
from chamberlain.requests import store as request_store
from chamberlain.requests.models import RequestFilter, RequestKind, RequestState
from tests.databases import Databases
from tests.estates import ADA, ESTATE, OTHER_HOUSE
from tests.query_plans import SIZES, rows_looked_at

# One request in a thousand is in each of the states that people look for, one in five thousand is queued, and one is
# running; all others have succeeded. Some are Ada's.
FILL = """
INSERT INTO chamberlain.request (
    request_id, tenant_id, kind, state, display_name, template_id, template_name, body, approval_required,
    people_checked, client_id, actor_type, actor_id, actor_name, trace_id, steps, created_at
)
SELECT gen_random_uuid(), $1, CASE n % 3 WHEN 0 THEN 'team' ELSE 'group' END,
    CASE n % 5000 WHEN 1007 THEN 'queued' WHEN 2007 THEN 'running' ELSE
    CASE n % 1000 WHEN 1 THEN 'failed' WHEN 2 THEN 'cancelled' WHEN 3 THEN 'waiting' WHEN 4 THEN 'pendingApproval'
    WHEN 5 THEN 'rejected' WHEN 6 THEN 'expired' ELSE 'succeeded' END END,
    'Group ' || n, gen_random_uuid(), 'Template', '{}', false, true, 'client', 'user',
    CASE WHEN n % 10 = 0 OR n % 7 = 0 THEN $2 ELSE gen_random_uuid() END, 'Somebody', '', '[]',
    now() - interval '1 year' + n * interval '1 second'
FROM generate_series(1, $3::integer) n
"""
JOBS = """
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at)
SELECT tenant_id, 'groupProvision', request_id, '',
    now() + CASE state WHEN 'waiting' THEN interval '1 hour' ELSE interval '0' END
FROM chamberlain.request
WHERE state IN ('queued', 'running', 'waiting')
"""
APPROVERS = """
INSERT INTO chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id)
SELECT tenant_id, approver, kind, created_at, request_id
FROM chamberlain.request CROSS JOIN unnest(ARRAY[$1::uuid, gen_random_uuid()]) approver WHERE state = 'pendingApproval'
"""
KINDS = [None, RequestKind.TEAM, RequestKind.ASSIGNMENT]
FILTERS = [
    (RequestFilter(state, kind), owner) for state, kind, owner in product([None, *RequestState], KINDS, [None, ADA])
] + [
    (RequestFilter(state, kind, to_decide=True), ADA)
    for state, kind in product([None, RequestState.PENDING_APPROVAL, RequestState.FAILED], KINDS)
]


async def fill(databases: Databases, number: int) -> None:
    """Requests of two tenants, with what belongs to them."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute("SET LOCAL statement_timeout = '300s'")
        await tx.connection.execute(FILL, ESTATE, ADA, number, timeout=300)
        await tx.connection.execute(FILL, OTHER_HOUSE, ADA, number // 10, timeout=300)
        await tx.execute(JOBS)
        await tx.execute(APPROVERS, ADA)


async def positions(tx: Transaction) -> Sequence[Position | None]:
    """The beginning, the middle and the end of all requests."""
    behind = "SELECT created_at, request_id FROM chamberlain.request WHERE tenant_id = $1 AND created_at > $2"
    rows = await tx.fetch(
        "SELECT first + interval '1 min', first + (last - first) / 2 FROM (SELECT min(created_at) AS first, "
        "max(created_at) AS last FROM chamberlain.request WHERE tenant_id = $1) span",
        ESTATE,
    )
    found = [await tx.fetch_row(f"{behind} ORDER BY created_at LIMIT 1", ESTATE, each) for each in rows[0]]
    return [None, *[Position(row["created_at"], row["request_id"]) for row in found if row]]


@pytest.mark.parametrize("number", SIZES)
async def test_it_works_along_indexes_for_every_filter(databases: Databases, number: int) -> None:
    await fill(databases, number)

    async with databases.worker.across_tenants() as tx:
        (row,) = await tx.fetch("SELECT count(*) FROM chamberlain.job")
    # Requests under way are found by their jobs. With fresh statistics, PostgreSQL reads a small table as a whole.
    most = max(1_000, row[0])
    async with databases.application.transaction(ESTATE) as tx:
        for position, (wanted, owner) in product(await positions(tx), FILTERS):
            assert await looked_at(tx, wanted, owner, position) <= most, (wanted, owner, position)


async def looked_at(tx: Transaction, wanted: RequestFilter, owner: UUID | None, position: Position | None) -> int:
    await tx.execute(transactions.PLANNING)
    few_due = await queue_jobs.are_few_due(tx)
    statement, values = request_store.page_statement(tx, wanted, owner, PageWanted(50, position), few_due=few_due)
    return await rows_looked_at(tx, statement, *values)
