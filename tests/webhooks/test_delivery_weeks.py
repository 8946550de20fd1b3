# SPDX-License-Identifier: Apache-2.0
"""Deliveries are kept in weeks: an id leads to one of them, and no query reaches one past the whole."""

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from chamberlain.core.ids import TemplateId
from chamberlain.core.paging import PageWanted
from chamberlain.database.migrate import MigrationSet, migrate
from chamberlain.database.transactions import PLANNING
from chamberlain.embedded import postgres
from chamberlain.queue.models import JobKind
from chamberlain.webhooks import store as webhook_store
from chamberlain.webhooks.models import DeliveryFilter, DeliveryState
from tests.databases import PACKAGE, SETS, Databases
from tests.estates import ESTATE, OTHER_HOUSE, PROJECT_GROUP, PROJECT_TEAM
from tests.postgres import connected, new_database
from tests.query_plans import rows_looked_at, tables_looked_into

pytestmark = pytest.mark.heavy

# So many of each tenant, made one after another over the weeks that are kept, for two templates; one in a hundred
# waits.
FILL = """
INSERT INTO chamberlain.delivery (
    tenant_id, delivery_id, event_id, type, request_id, template_id, url, payload, trace_id, state, created_at
)
SELECT $1::uuid, chamberlain.new_delivery_id(made.at), gen_random_uuid(), 'group.created', gen_random_uuid(),
    (ARRAY[$2, $3]::uuid[])[1 + n % 2], '', '{}', '', CASE WHEN n % 100 = 0 THEN 'pending' ELSE 'succeeded' END, made.at
FROM generate_series(1, $4::integer) n CROSS JOIN LATERAL (
    SELECT now() - interval '36 days' * (1 - n::float8 / $4) AS at
) made
"""
PARTS = "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'chamberlain.delivery'::regclass"
# Rows as they were written before there were weeks; the one whose id begins as that of a week was just as random.
BEFORE = """
INSERT INTO chamberlain.delivery (tenant_id, delivery_id, event_id, type, template_id, url, payload, trace_id, state)
SELECT $1, id, gen_random_uuid(), 'group.created', gen_random_uuid(), '', '{}', '', 'pending' FROM unnest($2::uuid[]) id
"""
SHOWN = "SELECT state FROM chamberlain.delivery WHERE tenant_id = $1 AND delivery_id = $2"
NUMBER = 40_000
BOUNDS = """
SELECT c.oid::regclass::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'chamberlain.delivery'::regclass AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
"""
PENDING = """
INSERT INTO chamberlain.delivery (
    tenant_id, delivery_id, event_id, type, template_id, url, payload, trace_id, created_at
) VALUES (
    $1, chamberlain.new_delivery_id($2), gen_random_uuid(), 'group.created', gen_random_uuid(), '', '{}', '', $2
)
"""
# The last moment of a week before any that a migration makes.
SUNDAY = datetime(2020, 5, 11, tzinfo=UTC) - timedelta(milliseconds=1)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
async def filled(databases: Databases) -> Databases:
    """Two tenants with deliveries of five weeks, each week in a part."""
    now = datetime.now(UTC)
    async with databases.worker.across_tenants() as tx:
        for age in (35, 21, 14):
            await webhook_store.maintain_weeks(tx, now=now - timedelta(days=age), oldest=now - timedelta(days=400))
        for tenant in (ESTATE, OTHER_HOUSE):
            await tx.execute(FILL, tenant, PROJECT_GROUP, PROJECT_TEAM, NUMBER)
    async with connected(databases.addresses.owner) as connection:
        await connection.execute("ANALYZE chamberlain.delivery")
    return databases


async def some_of(databases: Databases, number: int) -> list[UUID]:
    """Ids of a middle week."""
    async with databases.worker.across_tenants() as tx:
        rows = await tx.fetch(
            "SELECT delivery_id FROM chamberlain.delivery WHERE tenant_id = $1 ORDER BY created_at OFFSET $2 LIMIT $3",
            ESTATE,
            NUMBER // 2,
            number,
        )
    return [row["delivery_id"] for row in rows]


def by_id(ids: list[UUID]) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The statements that look for deliveries by their ids."""
    tenants = [ESTATE] * len(ids)
    nothing: list[object] = [None] * len(ids)
    states = ["failed"] * len(ids)
    ends = min(ids), max(ids)
    results = (tenants, ids, nothing, nothing, states, nothing, nothing, nothing, 10, *ends)
    yield webhook_store.FIND, (ESTATE, ids[0])
    yield webhook_store.LOAD_DUE, (tenants, ids, *ends)
    yield webhook_store.SAVE_RESULTS, results
    yield webhook_store.REDELIVER, (ESTATE, JobKind.WEBHOOK_DELIVER, ids[0])


async def test_it_works_that_an_id_says_where_its_delivery_is(filled: Databases) -> None:
    ids = await some_of(filled, 20)

    async with filled.worker.across_tenants() as tx:
        for statement, values in by_id(ids):
            looked_into = await tables_looked_into(tx, statement, *values)
            parts = {name for name in looked_into if name.startswith("delivery")}
            assert len(parts) == 1, (parts, statement)
            assert parts != {"delivery_elsewhere"}


async def test_what_is_looked_for_by_id_is_all_that_is_looked_at(filled: Databases) -> None:
    ids = await some_of(filled, 20)

    async with filled.worker.across_tenants() as tx:
        await tx.execute(webhook_store.PLANNED_ONCE)
        for statement, values in by_id(ids):
            assert await rows_looked_at(tx, statement, *values) <= 2 * len(ids), statement


async def test_a_page_takes_a_page_of_each_part_at_most(filled: Databases) -> None:
    filters = [
        DeliveryFilter(),
        DeliveryFilter(state=DeliveryState.PENDING),
        DeliveryFilter(template_id=TemplateId(PROJECT_TEAM)),
    ]

    async with filled.application.transaction(ESTATE) as tx:
        await tx.execute(PLANNING)
        for wanted in filters:
            statement, values = webhook_store.page_statement(tx, wanted, PageWanted(50, None))
            assert await rows_looked_at(tx, statement, *values) <= 51 + 20, wanted


async def test_a_batch_of_a_sweep_takes_a_batch(filled: Databases) -> None:
    before = datetime.now(UTC) - timedelta(days=30)

    async with filled.worker.across_tenants() as tx:
        await tx.execute(PLANNING)
        assert await rows_looked_at(tx, webhook_store.DELETE_OLD, before, 1_000) <= 1_100
        nothing = before - timedelta(days=30)
        assert await rows_looked_at(tx, webhook_store.DELETE_OLD, nothing, 1_000) <= 10


async def test_ids_follow_the_time(databases: Databases) -> None:
    async with databases.worker.across_tenants() as tx:
        (row,) = await tx.fetch(
            "SELECT chamberlain.new_delivery_id($1) AS new, chamberlain.lowest_delivery_id($1) AS low, "
            "chamberlain.lowest_delivery_id($1 + interval '1 ms') AS high",
            datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC),
        )

    assert row["low"] < row["new"] < row["high"]
    assert row["new"].version == 7
    assert row["new"].int >> 80 == 1795167001000


async def test_it_makes_the_week_of_a_moment_and_the_next_two(databases: Databases) -> None:
    before = await weeks(databases)

    await keep(databases, now=SUNDAY, oldest=LONG_AGO)
    first = await weeks(databases) - before
    again = await keep(databases, now=SUNDAY, oldest=LONG_AGO)
    await keep(databases, now=SUNDAY + timedelta(milliseconds=1), oldest=LONG_AGO)
    then = await weeks(databases) - before

    # 4 May 2020 is a Monday.
    assert first == {(week(date(2020, 5, day)), *bounds(date(2020, 5, day))) for day in (4, 11, 18)}
    assert again == 0
    assert then - first == {(week(date(2020, 5, 25)), *bounds(date(2020, 5, 25)))}


async def test_it_removes_a_week_at_the_moment_when_it_has_ended(databases: Databases) -> None:
    await keep(databases, now=SUNDAY, oldest=LONG_AGO)
    before = await weeks(databases)
    end = datetime(2020, 5, 18, tzinfo=UTC)

    too_early = await keep(databases, now=SUNDAY, oldest=datetime(2020, 5, 11, tzinfo=UTC) - timedelta(milliseconds=1))
    unchanged = await weeks(databases)
    removed = await keep(databases, now=end, oldest=end)

    assert (too_early, unchanged) == (0, before)
    assert removed == 2
    assert {name for name, *_ in before - await weeks(databases)} == {week(date(2020, 5, day)) for day in (4, 11)}


async def test_a_week_stays_as_long_as_a_delivery_of_it_is_to_be_sent(databases: Databases) -> None:
    await keep(databases, now=SUNDAY, oldest=LONG_AGO)
    async with databases.worker.across_tenants() as tx:
        await tx.execute(PENDING, ESTATE, datetime(2020, 5, 12, tzinfo=UTC))
    end = datetime(2020, 5, 25, tzinfo=UTC)

    waiting = await keep(databases, now=end, oldest=end)
    async with databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.delivery SET state = 'succeeded'")
    done = await keep(databases, now=end, oldest=end)

    assert (waiting, done) == (2, 1)


async def keep(databases: Databases, *, now: datetime, oldest: datetime) -> int:
    async with databases.worker.across_tenants() as tx:
        return await webhook_store.maintain_weeks(tx, now=now, oldest=oldest)


async def weeks(databases: Databases) -> set[tuple[str, str, str]]:
    """The weeks that are there, each with its first id and the first of the next."""
    async with connected(databases.addresses.owner) as connection:
        found = await connection.fetch(BOUNDS)
    return {(row["name"], *re.findall(r"'([^']+)'", row["bounds"])) for row in found}


def week(monday: date) -> str:
    return f"chamberlain.delivery_of_{monday:%Y_%m_%d}"


def bounds(monday: date) -> tuple[str, str]:
    """The ids of a week begin with its milliseconds since 1970."""
    begin = datetime.combine(monday, datetime.min.time(), UTC)
    ends = (begin, begin + timedelta(days=7))
    first, last = (str(UUID(int=int(each.timestamp() * 1000) << 80)) for each in ends)
    return first, last


async def test_nobody_but_the_owner_reaches_a_part(filled: Databases) -> None:
    async with filled.worker.across_tenants() as tx:
        parts = [row["name"] for row in await tx.fetch(PARTS)]

    assert len(parts) > 8
    for part in parts:
        for database in (filled.application, filled.worker):
            for statement in ("SELECT FROM {}", "DELETE FROM {}", "UPDATE {} SET url = ''", "DROP TABLE {}"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    async with database.transaction(ESTATE) as tx:
                        await tx.execute(statement.format(part))


async def test_a_part_that_somebody_was_let_into_shows_nothing(filled: Databases) -> None:
    async with connected(filled.addresses.owner) as connection:
        parts = [row["name"] for row in await connection.fetch(PARTS)]
        for part in parts:
            await connection.execute(f"GRANT SELECT ON {part} TO chamberlain_application")

    async with filled.application.transaction(ESTATE) as tx:
        for part in parts:
            assert await tx.fetch(f"SELECT FROM {part}") == []


async def test_weeks_are_for_the_role_of_the_worker_to_keep(databases: Databases) -> None:
    now = datetime.now(UTC)

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with databases.application.transaction(ESTATE) as tx:
            await webhook_store.maintain_weeks(tx, now=now, oldest=now)


async def test_what_was_there_before_stays_where_an_update_finds_it(
    postgres_server: postgres.Server, tmp_path: Path
) -> None:
    for file in (PACKAGE / "database" / "migrations").glob("*.sql"):
        if file.name < "0028":
            shutil.copy(file, tmp_path)
    monday = datetime.now(UTC) - timedelta(days=datetime.now(UTC).weekday())
    milliseconds = f"{int((monday + timedelta(days=17)).timestamp() * 1000):012x}"
    misplaced = UUID(milliseconds + "4" + "ab" * 9 + "0")
    usual = UUID("5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f11")
    async with new_database(postgres_server) as addresses, connected(addresses.owner) as connection:
        await migrate(addresses.owner, [MigrationSet("chamberlain", tmp_path, tmp_path / "sql")])
        await connection.execute(BEFORE, ESTATE, [usual, misplaced])

        await migrate(addresses.owner, SETS)

        found = await connection.fetch("SELECT delivery_id, tableoid::regclass::text FROM chamberlain.delivery")
        async with connected(addresses.worker) as worker:
            by_id = [await worker.fetchval(SHOWN, ESTATE, each) for each in (usual, misplaced)]
    places = dict(map(tuple, found))
    assert places[usual] == "chamberlain.delivery_elsewhere"
    assert places[misplaced].startswith("chamberlain.delivery_of_")
    assert by_id == ["pending", "pending"]
