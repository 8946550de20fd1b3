# SPDX-License-Identifier: Apache-2.0
"""Lists of requests stay quick: each filter is read along an index, and a million requests are like a thousand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID

import pytest

from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database import transactions
from chamberlain.database.transactions import Transaction
from chamberlain.requests import store as request_store
from chamberlain.requests.models import RequestFilter, RequestKind, RequestRecord, RequestState
from chamberlain.requests.store import Route
from tests.databases import Databases
from tests.estates import ADA, ESTATE, OTHER_HOUSE
from tests.postgres import connected
from tests.query_plans import SIZES, blocks_touched, rows_looked_at

# One request in a thousand is in each of the states that people look for, one in five thousand is queued, and one is
# running; all others have succeeded. Some are Ada's.
FILL = """
INSERT INTO chamberlain.request (
    request_id, tenant_id, kind, state, display_name, address, template_id, template_name, body, approval_required,
    people_checked, client_id, actor_type, actor_id, actor_name, trace_id, steps, created_at
)
SELECT gen_random_uuid(), $1, CASE n % 3 WHEN 0 THEN 'team' ELSE 'group' END,
    CASE n % 5000 WHEN 1007 THEN 'queued' WHEN 2007 THEN 'running' ELSE
    CASE n % 1000 WHEN 1 THEN 'failed' WHEN 2 THEN 'cancelled' WHEN 3 THEN 'waiting' WHEN 4 THEN 'pendingApproval'
    WHEN 5 THEN 'rejected' WHEN 6 THEN 'expired' ELSE 'succeeded' END END,
    'Group ' || n, 'Mail-' || n || '@estate.example', gen_random_uuid(), 'Template', '{}', false, true, 'client',
    'user',
    CASE WHEN n % 10 = 0 OR n % 7 = 0 THEN $2 ELSE gen_random_uuid() END, 'Somebody', '', '[]',
    now() - interval '400 days' + n * make_interval(secs => $4)
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

PREFIXES = ["group 1", "GROUP 777", "mail", "nothing"]
BY_PREFIX = [
    (RequestFilter(state, kind, prefix=prefix), owner)
    for prefix, state, kind, owner in product(
        PREFIXES, [None, RequestState.FAILED, RequestState.QUEUED], KINDS, [None, ADA]
    )
] + [(RequestFilter(to_decide=True, prefix=prefix), ADA) for prefix in PREFIXES]
# In the order of the list, however it is read.
MATCHES = """
SELECT r.request_id FROM chamberlain.request r
WHERE r.tenant_id = $1 AND (r.display_name ILIKE $2 || '%' OR r.address ILIKE $2 || '%')
AND ($3::text IS NULL OR r.state = $3) AND ($4::text IS NULL OR r.kind = $4) AND ($5::uuid IS NULL OR r.actor_id = $5)
AND ($6::timestamptz IS NULL OR r.created_at >= $6) AND ($7::timestamptz IS NULL OR r.created_at < $7)
ORDER BY r.created_at DESC, r.request_id DESC
"""


async def fill(databases: Databases, number: int, *, seconds: int = 1) -> None:
    """Requests of two tenants at intervals of so many seconds, with what belongs to them."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute("SET LOCAL statement_timeout = '300s'")
        await tx.connection.execute(FILL, ESTATE, ADA, number, seconds, timeout=300)
        await tx.connection.execute(FILL, OTHER_HOUSE, ADA, number // 10, seconds, timeout=300)
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


@pytest.mark.parametrize("number", SIZES)
async def test_a_span_of_time_is_read_along_the_same_indexes(databases: Databases, number: int) -> None:
    await fill(databases, number)

    async with databases.worker.across_tenants() as tx:
        (row,) = await tx.fetch("SELECT count(*) FROM chamberlain.job")
    async with databases.application.transaction(ESTATE) as tx:
        _, since, until = await positions(tx)
        assert since is not None
        assert until is not None
        for wanted, owner in FILTERS[::2]:
            spans = [replace(wanted, until=until.created_at), replace(wanted, since=until.created_at)]
            for span in (*spans, replace(wanted, since=since.created_at, until=until.created_at)):
                assert await looked_at(tx, span, owner, None) <= max(1_000, row[0]), (span, owner)


@pytest.mark.parametrize("number", SIZES)
async def test_a_prefix_is_read_by_buckets_or_among_few(databases: Databases, number: int) -> None:
    await fill(databases, number)
    async with databases.worker.across_tenants() as tx:
        await tx.execute("ANALYZE chamberlain.request")

    async with databases.application.transaction(ESTATE) as tx:
        for position, (wanted, owner) in product(await positions(tx), BY_PREFIX):
            await tx.execute(transactions.PLANNING)
            route = await request_store.find_route(tx, wanted, owner)
            statement, values = request_store.page_statement(tx, wanted, owner, PageWanted(50, position), route)
            # The requests of four hours, one in a second, and two short scans for each other bucket.
            assert await blocks_touched(tx, statement, *values) <= 50_000, (wanted, owner, position)


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_pages_by_prefix_and_time_have_no_gap_and_nothing_twice(databases: Databases, prefix: str) -> None:
    await fill(databases, 18_000)
    async with databases.application.transaction(ESTATE) as tx:
        _, _, middle = await positions(tx)
        assert middle is not None
        at = middle.created_at
        for state, kind, owner, (since, until) in product(
            [None, RequestState.FAILED],
            [None, RequestKind.TEAM],
            [None, ADA],
            [(None, None), (at, None), (None, at), (at, at + timedelta(hours=1))],
        ):
            wanted = RequestFilter(state, kind, prefix=prefix, since=since, until=until)
            rows = await tx.fetch(MATCHES, ESTATE, prefix, state, kind, owner, since, until)
            expected = [row["request_id"] for row in rows][:500]
            found: list[UUID] = []
            page: Page[RequestRecord] | None = None
            while len(found) < len(expected) and (page is None or page.next is not None):
                place = PageWanted(200, None if page is None else page.next)
                page = await request_store.find_page(tx, wanted, owner=owner, page=place)
                found += [each.request_id for each in page.items]
            assert found[:500] == expected, wanted


async def test_lists_by_prefix_are_the_same_before_their_indexes_exist(databases: Databases) -> None:
    await fill(databases, 3_000)
    wanted = RequestFilter(prefix="group 12")
    async with databases.application.transaction(ESTATE) as tx:
        before = await request_store.find_page(tx, wanted, owner=None, page=PageWanted(50, None))
        by_bucket = await request_store.find_route(tx, wanted, None)
    async with connected(databases.addresses.owner) as owner:
        await owner.execute("DROP INDEX chamberlain.request_bucket_name")
    async with databases.application.transaction(ESTATE) as tx:
        after = await request_store.find_page(tx, wanted, owner=None, page=PageWanted(50, None))
        from_newest = await request_store.find_route(tx, wanted, None)

    assert (by_bucket, from_newest) == (Route.BEGINNING, Route.NEWEST)
    assert len(before.items) == 50
    assert before == after


async def test_a_list_by_prefix_has_the_requests_of_its_tenant_only(databases: Databases) -> None:
    await fill(databases, 2_000)
    beginning = (
        "SELECT * FROM chamberlain.requests_beginning($1, 'group', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10)"
    )

    async with databases.application.transaction(OTHER_HOUSE) as tx:
        own, foreign = await tx.fetch(beginning, OTHER_HOUSE), await tx.fetch(beginning, ESTATE)
    async with databases.application.statement() as connection:
        of_none = await connection.fetch(beginning, ESTATE)

    assert (len(own), foreign, of_none) == (10, [], [])


async def test_a_tenant_without_requests_has_no_buckets(databases: Databases) -> None:
    ages = RequestFilter(prefix="group", since=datetime.min.replace(tzinfo=UTC), until=datetime.max.replace(tzinfo=UTC))

    async with databases.application.transaction(ESTATE) as tx:
        await tx.execute(transactions.PLANNING)
        statement, values = request_store.page_statement(tx, ages, None, PageWanted(50, None), Route.BEGINNING)
        assert await blocks_touched(tx, statement, *values) <= 1_000


async def looked_at(tx: Transaction, wanted: RequestFilter, owner: UUID | None, position: Position | None) -> int:
    await tx.execute(transactions.PLANNING)
    route = await request_store.find_route(tx, wanted, owner)
    statement, values = request_store.page_statement(tx, wanted, owner, PageWanted(50, position), route)
    return await rows_looked_at(tx, statement, *values)
