# SPDX-License-Identifier: Apache-2.0
"""Lists of findings stay quick for every filter, and find what it names."""

from itertools import product
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId
from chamberlain.core.paging import PageWanted, Position
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.guests.findings import store as finding_store
from chamberlain.guests.models import FindingFilter, FindingKind, FindingState
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE
from tests.query_plans import rows_looked_at

SUBJECT = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
# Nearly all are gone; one in a thousand is open, and one in five hundred is about the one group.
FILL = """
INSERT INTO chamberlain.finding (
    tenant_id, finding_id, kind, state, source, subject_type, subject_id, subject_name, about, detail, first_seen_at,
    last_seen_at
)
SELECT $1, gen_random_uuid(), ($3::text[])[1 + n % 7], CASE WHEN n % 1000 < 4 THEN 'open' ELSE 'gone' END, 'assignment',
    'group', CASE WHEN n % 500 = 1 THEN $2::uuid ELSE gen_random_uuid() END, 'All staff', n::text, '',
    now() - n * interval '1 second', now()
FROM generate_series(1, $4::integer) n
"""
FILTERS = [
    FindingFilter(state, kind, subject)
    for state, kind, subject in product(
        [None, FindingState.OPEN, FindingState.GONE, FindingState.ACCEPTED],
        [None, FindingKind.GUEST_AGAINST_RULE, FindingKind.DRIFT],
        [None, SUBJECT, GroupId(UUID(int=7))],
    )
]
COUNT = """
SELECT count(*) AS found FROM chamberlain.finding WHERE tenant_id = $1 AND ($2::text IS NULL OR state = $2)
AND ($3::text IS NULL OR kind = $3) AND ($4::uuid IS NULL OR subject_id = $4)
"""


async def fill(databases: Databases, number: int) -> None:
    async with databases.worker.across_tenants() as tx:
        await tx.connection.execute("SET LOCAL statement_timeout = '300s'")
        for tenant in (ESTATE, OTHER_HOUSE):
            await tx.connection.execute(FILL, tenant, SUBJECT, list(FindingKind), number, timeout=300)


async def test_it_works_for_every_filter(databases: Databases) -> None:
    await fill(databases, 1_500)

    async with databases.application.transaction(ESTATE) as tx:
        for wanted in FILTERS:
            (row,) = await tx.fetch(COUNT, ESTATE, wanted.state, wanted.kind, wanted.subject_id)
            found: list[UUID] = []
            page = await finding_store.find_page(tx, ESTATE, wanted, PageWanted(200, None))
            while True:
                found += [each.id for each in page.items]
                assert list(page.items) == sorted(page.items, key=lambda each: each.first_seen_at, reverse=True)
                if page.next is None:
                    break
                page = await finding_store.find_page(tx, ESTATE, wanted, PageWanted(200, page.next))
            assert len(set(found)) == len(found) == row["found"], wanted


@pytest.mark.heavy
async def test_it_works_along_indexes(databases: Databases) -> None:
    await fill(databases, 50_000)

    async with databases.application.transaction(ESTATE) as tx:
        (middle,) = await tx.fetch(
            "SELECT first_seen_at, finding_id FROM chamberlain.finding WHERE tenant_id = $1 "
            "ORDER BY first_seen_at OFFSET 25000 LIMIT 1",
            ESTATE,
        )
        place = Position(middle["first_seen_at"], middle["finding_id"])
        for position, wanted in product([None, place], FILTERS):
            # A page of each state and kind, at most, from which the newest are taken.
            assert await looked_at(tx, wanted, position) <= 30 * 51, (wanted, position)


async def looked_at(tx: Transaction, wanted: FindingFilter, position: Position | None) -> int:
    await tx.execute(PLANNING)
    statement, values = finding_store.page_statement(ESTATE, wanted, PageWanted(50, position))
    return await rows_looked_at(tx, statement, *values)
