# SPDX-License-Identifier: Apache-2.0
"""Batched queries for groups by the value of an extension attribute."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.app.directory import found_together
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Unreachable
from chamberlain.embedded.directory.groups import GroupQuery, Row, find_groups
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.sample_data import HOUSE, OTHER_HOUSE, OTHERS, SALES, SECTION, STAFF
from tests.postgres import connected

# The same value in both tenants, twice in one of them, at the same position by id.
SHARED = """
INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id)
SELECT tenant_id, 'house_group', 'policyId', 'p', id FROM directory.groups WHERE id = ANY ($1)
"""
# Rows of the indexed table that the transaction has read.
READ = "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'directory.extension_values'::regclass"


@pytest.fixture
async def pool(databases: Databases) -> Pool:
    """Return the pool of the application role, with two tenants."""
    await load(databases.worker.pool, SECTION)
    await databases.worker.pool.execute(SHARED, [STAFF, SALES, OTHERS])
    return databases.application.pool


def wanted(
    tenant_id: UUID, value: str, member: str = "policyId", *, after: UUID | None = None, most: int = 5
) -> GroupQuery:
    return GroupQuery(tenant_id, "house_group", member, value, after, most)


def ids(answers: Sequence[Sequence[Row]]) -> list[list[UUID]]:
    return [[row["id"] for row in rows] for rows in answers]


async def test_it_works(pool: Pool) -> None:
    found = await find_groups(pool, [wanted(HOUSE, "abc-1", "requestId"), wanted(HOUSE, "P"), wanted(HOUSE, "none")])

    assert ids(found) == [[STAFF], [STAFF, SALES], []]
    assert found[0][0]["label_name"] == "Internal"


async def test_each_query_has_its_own_page(pool: Pool) -> None:
    asked = [wanted(HOUSE, "p", most=1), wanted(HOUSE, "p", after=STAFF), wanted(HOUSE, "p")]

    assert ids(await find_groups(pool, asked)) == [[STAFF], [SALES], [STAFF, SALES]]


async def test_a_late_page_skips_no_rows(databases: Databases, pool: Pool) -> None:
    await databases.worker.pool.execute(
        "INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id) "
        "SELECT $1, 'house_group', 'policyId', 'many', lpad(to_hex(number), 32, '0')::uuid "
        "FROM generate_series(1, 2000) number",
        HOUSE,
    )

    async with pool.acquire() as connection, connection.transaction():
        await find_groups(connection, [wanted(HOUSE, "many", after=UUID(int=1_990))])
        read = await connection.fetchval(READ)

    assert 10 <= read < 100


async def test_each_query_sees_its_own_tenant(pool: Pool) -> None:
    asked = [wanted(OTHER_HOUSE, "p"), wanted(HOUSE, "p"), wanted(OTHER_HOUSE, "ABC-1", "requestId")]

    assert ids(await find_groups(pool, asked)) == [[OTHERS], [STAFF, SALES], []]


async def test_it_handles_a_value_of_another_tenant(databases: Databases, pool: Pool) -> None:
    async with databases.worker.pool.acquire() as worker:
        await worker.execute(
            "INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id) "
            "VALUES ($1, 'house_group', 'policyId', 'p', $2)",
            OTHER_HOUSE,
            STAFF,
        )

    asked = [wanted(OTHER_HOUSE, "p"), wanted(HOUSE, "p")]
    assert ids(await find_groups(pool, asked)) == [[OTHERS], [STAFF, SALES]]


async def test_a_call_resets_the_tenant(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await connection.fetch(
            "SELECT FROM directory.groups_by_values($1, '{house_group}', '{policyId}', '{p}', '{null}', '{1}')", [HOUSE]
        )
        assert await connection.fetchval("SELECT count(*) FROM directory.groups") == 0


async def test_concurrent_queries_get_their_own_results(pool: Pool) -> None:
    find = found_together(pool)
    asked = [wanted(HOUSE, "p", most=most) for most in range(1, 40)] + [wanted(OTHER_HOUSE, "p")] * 40

    found = await asyncio.gather(*map(find, asked))

    assert ids(found) == [[STAFF], *[[STAFF, SALES]] * 38, *[[OTHERS]] * 40]


async def test_a_locked_table_times_out(databases: Databases, pool: Pool) -> None:
    find = found_together(pool, patience=timedelta(seconds=0.2))

    async with connected(databases.addresses.owner) as owner, owner.transaction():
        await owner.execute("LOCK TABLE directory.groups")
        # More than two batches.
        found = await asyncio.gather(*(find(wanted(HOUSE, "p")) for _ in range(200)), return_exceptions=True)

    assert {type(each) for each in found} == {Unreachable}
    assert ids([await found_together(pool)(wanted(HOUSE, "p"))]) == [[STAFF, SALES]]
