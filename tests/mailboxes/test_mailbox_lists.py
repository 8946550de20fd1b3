# SPDX-License-Identifier: Apache-2.0
"""Lists of mailboxes stay quick: each filter is read along an index, and a million mailboxes are like a thousand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID

import asyncpg
import pytest

from chamberlain.core.ids import TenantId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.mailboxes import store as mailbox_store
from chamberlain.mailboxes.models import MailboxFilter, MailboxRecord, ProvisioningState
from tests.databases import PACKAGE, Databases
from tests.estates import ADA, BEN, ESTATE, OTHER_HOUSE, rows
from tests.postgres import connected
from tests.query_plans import SIZES, blocks_touched, rows_looked_at

pytestmark = pytest.mark.heavy

# One mailbox in a thousand is in each of the states that people look for, one in five thousand is queued or running.
# Some may be read by Ada. The oldest tenth begins with "old", half of the others with "room"; all others differ.
FILL = """
WITH made AS (
    INSERT INTO chamberlain.request (
        request_id, tenant_id, kind, state, display_name, template_id, template_name, body, approval_required,
        people_checked, client_id, actor_type, actor_id, actor_name, trace_id, steps, created_at
    )
    SELECT gen_random_uuid(), $1, CASE n % 3 WHEN 0 THEN 'room' WHEN 1 THEN 'equipment' ELSE 'shared' END,
        CASE n % 5000 WHEN 1007 THEN 'queued' WHEN 2007 THEN 'running' ELSE
        CASE n % 1000 WHEN 1 THEN 'failed' WHEN 2 THEN 'cancelled' WHEN 3 THEN 'waiting' WHEN 4 THEN 'pendingApproval'
        WHEN 5 THEN 'rejected' WHEN 6 THEN 'expired' ELSE 'succeeded' END END,
        CASE WHEN n <= $3::integer / 10 THEN 'old ' WHEN n % 2 = 0 THEN 'room ' ELSE '' END || n,
        gen_random_uuid(), 'Template', '{}', false, true, 'client',
        'user', CASE WHEN n % 10 = 0 THEN $2 ELSE gen_random_uuid() END, 'Somebody', '', '[]',
        now() - interval '1 year' + n * interval '1 second'
    FROM generate_series(1, $3::integer) n
    RETURNING *
), described AS (
    INSERT INTO chamberlain.mailbox (
        request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, template_id, template_source,
        content, readers, approval_required, actor_type, actor_id, actor_name, created_at
    )
    SELECT request_id, gen_random_uuid(), tenant_id, kind, display_name, display_name, display_name,
        replace(display_name, ' ', '-') || '@estate.example', template_id, 'default',
        json_build_object('name', display_name, 'displayName', display_name), ARRAY[actor_id], false, actor_type,
        actor_id, actor_name, created_at
    FROM made
)
INSERT INTO chamberlain.mailbox_reader (tenant_id, user_id, kind, created_at, request_id)
SELECT tenant_id, actor_id, kind, created_at, request_id FROM made
"""
JOBS = """
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at)
SELECT tenant_id, 'mailboxProvision', request_id, '',
    now() + CASE state WHEN 'waiting' THEN interval '1 hour' ELSE interval '0' END
FROM chamberlain.request
WHERE state IN ('queued', 'running', 'waiting')
"""
MATCHES = """
SELECT request_id FROM chamberlain.mailbox
WHERE tenant_id = $1 AND (starts_with(name_key, $2) OR starts_with(address, $2))
AND ($3::uuid IS NULL OR $3 = ANY (readers)) ORDER BY created_at DESC, request_id DESC
"""
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)
MAILBOX = """
INSERT INTO chamberlain.mailbox (
    request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, alias, template_id, template_source,
    content, readers, approval_required, actor_type, actor_id, actor_name, created_at, span
) VALUES (
    gen_random_uuid(), gen_random_uuid(), $1, $2, $3, $3, $3, $4, $5, gen_random_uuid(), 'default', '{}', $6, false,
    'user', gen_random_uuid(), '', $7, $8
) RETURNING request_id
"""
BEGINNING = "SELECT request_id FROM chamberlain.mailboxes_beginning($1, $2, $2, $3, $4, $5, $6, $7, $8)"
FILTERS = [
    (MailboxFilter(mailbox_type, state, prefix), reader)
    for mailbox_type, state, prefix, reader in product(
        [None, MailboxType.ROOM],
        [None, ProvisioningState.ACTIVE, ProvisioningState.PROVISIONING, ProvisioningState.FAILED],
        [None, "o", "old", "room", "room 1", "1999", "nobody"],
        [None, ADA],
    )
]


async def fill(databases: Databases, number: int) -> None:
    """Mailboxes of two tenants, with what belongs to them."""
    async with databases.worker.across_tenants() as tx:
        await tx.connection.execute("SET LOCAL statement_timeout = '300s'")
        await tx.connection.execute(FILL, ESTATE, ADA, number, timeout=300)
        await tx.connection.execute(FILL, OTHER_HOUSE, ADA, number // 10, timeout=300)
        await tx.execute(JOBS)
    # The planner chooses another plan for a prefix when it knows how many mailboxes there are.
    connection = await asyncpg.connect(databases.addresses.owner)
    await connection.execute("VACUUM ANALYZE", timeout=300)
    await connection.close()


async def middle(tx: Transaction) -> Position:
    """A place in the middle of all."""
    row = await tx.fetch_row(
        "SELECT created_at, request_id FROM chamberlain.mailbox WHERE tenant_id = $1 ORDER BY created_at "
        "OFFSET (SELECT count(*) / 2 FROM chamberlain.mailbox WHERE tenant_id = $1) LIMIT 1",
        ESTATE,
    )
    assert row is not None
    return Position(row["created_at"], row["request_id"])


@pytest.mark.parametrize("number", SIZES)
async def test_it_works_along_indexes_for_every_filter(databases: Databases, number: int) -> None:
    await fill(databases, number)

    async with databases.application.transaction(ESTATE) as tx:
        for position, (wanted, reader) in product([None, await middle(tx)], FILTERS):
            assert await looked_at(tx, wanted, reader, position) <= 2_500, (wanted, reader, position)
            assert await blocks(tx, wanted, reader, position) <= 25_000, (wanted, reader, position)


async def test_pages_of_a_prefix_have_no_gap_and_nothing_twice(databases: Databases) -> None:
    await fill(databases, 12_000)

    async with databases.application.transaction(ESTATE) as tx:
        for prefix, reader in product(["o", "old", "room 1", "1"], [None, ADA]):
            wanted = MailboxFilter(prefix=prefix)
            rows = await tx.fetch(MATCHES, ESTATE, prefix, reader)
            found: list[UUID] = []
            page = await mailbox_store.find_page(tx, wanted, reader=reader, page=PageWanted(200, None))
            while True:
                found += [each.request_id for each in page.items]
                if page.next is None:
                    break
                page = await mailbox_store.find_page(tx, wanted, reader=reader, page=PageWanted(200, page.next))
            assert found == [row["request_id"] for row in rows], (prefix, reader)


async def test_a_page_goes_on_where_its_last_mailbox_has_gone(databases: Databases) -> None:
    await fill(databases, 12_000)
    wanted = MailboxFilter(prefix="old")
    async with databases.application.transaction(ESTATE) as tx:
        first = await mailbox_store.find_page(tx, wanted, reader=None, page=PageWanted(50, None))
        expected = await mailbox_store.find_page(tx, wanted, reader=None, page=PageWanted(50, first.next))
    async with databases.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM chamberlain.mailbox WHERE request_id = $1", first.items[-1].request_id)

    async with databases.application.transaction(ESTATE) as tx:
        found = await mailbox_store.find_page(tx, wanted, reader=None, page=PageWanted(50, first.next))

    assert [each.request_id for each in found.items] == [each.request_id for each in expected.items]


async def test_mailboxes_from_before_the_spans_are_listed_before_and_after_they_are_numbered(
    databases: Databases,
) -> None:
    await fill(databases, 9_000)
    expected = await listed(databases, "o")
    numbers = PACKAGE / "database" / "migrations" / "0040_mailbox_span_numbers.post.alone.sql"

    async with connected(databases.addresses.owner) as connection:
        await connection.execute("UPDATE chamberlain.mailbox SET span = -2147483648 WHERE tenant_id = $1", ESTATE)
        before = await listed(databases, "o")
        await connection.execute(numbers.read_text(encoding="utf-8"))
        spans = await connection.fetch(
            "SELECT span, count(*) AS number FROM chamberlain.mailbox WHERE tenant_id = $1 GROUP BY 1 ORDER BY 1",
            ESTATE,
        )
    after = await listed(databases, "o")

    assert len(expected) == 900
    assert before == after == expected
    assert [tuple(row) for row in spans] == [(-3, 808), (-2, 4096), (-1, 4096)]


async def make(
    databases: Databases,
    name: str,
    *,
    address: str = "-",
    alias: str | None = None,
    span: int = 0,
    minute: int = 0,
    kind: str = "shared",
    tenant_id: TenantId = ESTATE,
) -> UUID:
    """One mailbox in a span, made at a minute of the day, whose request is gone."""
    at = MIDNIGHT + timedelta(minutes=minute)
    ((request_id,),) = await rows(databases, MAILBOX, tenant_id, kind, name, address, alias, [ADA], at, span)
    return UUID(str(request_id))


async def beginning(
    databases: Databases,
    prefix: str,
    *,
    kinds: Sequence[str] = ("shared", "room"),
    states: Sequence[str] | None = None,
    reader: UUID | None = None,
    behind: tuple[int, UUID] | None = None,
    most: int = 50,
) -> list[object]:
    """The mailboxes with a prefix, as the worker's role reads them, which sees every tenant."""
    place = (None, None) if behind is None else (MIDNIGHT + timedelta(minutes=behind[0]), behind[1])
    found = await rows(databases, BEGINNING, ESTATE, prefix, list(kinds), states, reader, *place, most)
    return [request_id for (request_id,) in found]


async def test_a_name_an_address_or_an_alias_begins_with_the_prefix(databases: Databases) -> None:
    """Each in a span of its own, where nothing else makes the span worth a look."""
    by_name = await make(databases, "info", address="a@x", span=1)
    by_address = await make(databases, "a", address="info@x", span=2)
    by_alias = await make(databases, "a", address="z@x", alias="info@x", span=3)
    by_all = await make(databases, "info", address="info@x", alias="info@x", span=4)
    await make(databases, "inf", address="inf", alias="inf", span=4)
    await make(databases, "ing", address="inz", alias="z", span=4)

    assert await beginning(databases, "info") == [by_all, by_alias, by_address, by_name]
    assert await beginning(databases, "infos") == []


async def test_spans_come_first_and_times_second(databases: Databases) -> None:
    """A mailbox of a newer span is older where its transaction was open for longer."""
    older, newer = await make(databases, "a1", span=2, minute=1), await make(databases, "a2", span=1, minute=5)
    third, fourth = await make(databases, "a3", span=1, minute=2), await make(databases, "a4", span=0, minute=3)
    made = [(1, older), (5, newer), (2, third), (3, fourth)]

    assert await beginning(databases, "a") == [older, newer, third, fourth]
    assert await beginning(databases, "a", most=2) == [older, newer]
    for place, position in enumerate(made):
        assert await beginning(databases, "a", behind=position) == [older, newer, third, fourth][place + 1 :], place


async def test_a_list_goes_on_behind_a_mailbox_that_is_gone(databases: Databases) -> None:
    made = [await make(databases, f"a{number}", span=number // 2, minute=number) for number in range(5)]
    await rows(databases, "DELETE FROM chamberlain.mailbox WHERE request_id = $1 RETURNING 1", made[3])

    assert await beginning(databases, "a", behind=(3, made[3])) == [made[2], made[1], made[0]]


async def test_a_list_has_the_mailboxes_of_its_tenant_and_kinds(databases: Databases) -> None:
    room = await make(databases, "a", kind="room", span=1)
    equipment = await make(databases, "a", kind="equipment", span=2)
    await make(databases, "a", tenant_id=OTHER_HOUSE, span=1)
    await make(databases, "a", tenant_id=OTHER_HOUSE, span=3)

    assert await beginning(databases, "a") == [room]
    assert await beginning(databases, "a", kinds=["equipment"]) == [equipment]
    assert await beginning(databases, "a", kinds=["room", "equipment"]) == [equipment, room]


async def test_a_mailbox_whose_request_is_gone_has_succeeded(databases: Databases) -> None:
    mailbox = await make(databases, "a")

    assert await beginning(databases, "a", states=["succeeded"]) == [mailbox]
    assert await beginning(databases, "a", states=["failed"]) == []


async def test_a_reader_needs_both_the_right_and_the_state(databases: Databases) -> None:
    mailbox = await make(databases, "a")

    assert await beginning(databases, "a", reader=ADA) == [mailbox]
    assert await beginning(databases, "a", reader=BEN) == []
    assert await beginning(databases, "a", reader=ADA, states=["failed"]) == []
    assert await beginning(databases, "a", reader=BEN, states=["succeeded"]) == []


async def listed(databases: Databases, prefix: str) -> list[UUID]:
    """All mailboxes with a prefix, page by page."""
    found: list[UUID] = []
    page: Page[MailboxRecord] | None = None
    async with databases.application.transaction(ESTATE) as tx:
        while page is None or page.next is not None:
            wanted = PageWanted(200, None if page is None else page.next)
            page = await mailbox_store.find_page(tx, MailboxFilter(prefix=prefix), reader=None, page=wanted)
            found += [each.request_id for each in page.items]
    return found


async def blocks(tx: Transaction, wanted: MailboxFilter, reader: UUID | None, position: Position | None) -> int:
    route = await mailbox_store.find_route(tx, wanted, reader)
    statement, values = mailbox_store.page_statement(tx, wanted, reader, PageWanted(50, position), route)
    return await blocks_touched(tx, statement, *values)


async def looked_at(tx: Transaction, wanted: MailboxFilter, reader: UUID | None, position: Position | None) -> int:
    await tx.execute(PLANNING)
    page = PageWanted(50, position)
    route = await mailbox_store.find_route(tx, wanted, reader)
    statement, values = mailbox_store.page_statement(tx, wanted, reader, page, route)
    return await rows_looked_at(tx, statement, *values)
