# SPDX-License-Identifier: Apache-2.0
"""The audit trail is read newest first by any filter, at the same cost with a million rows as with a thousand."""

from datetime import UTC, datetime, timedelta
from itertools import combinations
from uuid import UUID

import msgspec
import pytest

from chamberlain.audit import records as audit_records
from chamberlain.audit import store as audit_store
from chamberlain.audit.models import AuditFilter, AuditRecord
from chamberlain.changes.records import record_change
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.database.transactions import PLANNING, Transaction
from tests.audit.audit_fixture import TEMPLATE, change, record, seal, tamper
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, ESTATE, OTHER_HOUSE, TRACE, rows
from tests.query_plans import SIZES, rows_looked_at

# One row in a thousand is by Cleo or about the template; half are by Ada. Of thirty kinds of actions one is rare.
# Times follow sequences.
FILL = """
INSERT INTO chamberlain.audit (tenant_id, at, action, trace_id, payload)
SELECT $1, $2::timestamptz + n * interval '1 second',
    CASE n % 10000 WHEN 7 THEN 'job.release' ELSE 'noun' || n % 29 || '.create' END, '',
    json_build_object(
        'actor', json_build_object('type', 'user', 'id', CASE
            WHEN n % 1000 = 1 THEN $4::uuid WHEN n % 2 = 0 THEN $3::uuid ELSE gen_random_uuid()
        END, 'displayName', 'Somebody'),
        'client', NULL,
        'subject', json_build_object('type', 'request', 'id', CASE WHEN n % 1000 = 2 THEN $5::uuid
            ELSE gen_random_uuid() END, 'displayName', 'Group'),
        'before', NULL, 'after', json_build_object('displayName', 'Group')
    )
FROM generate_series(1, $6::integer) n
"""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ANY = AuditFilter()


async def fill(databases: Databases, number: int) -> None:
    """Rows of two tenants, all but the last few of them sealed."""
    async with databases.worker.across_tenants() as tx:
        await tx.connection.execute("SET LOCAL statement_timeout = '300s'")
        for tenant_id, part in ((OTHER_HOUSE, number // 10), (ESTATE, number)):
            await tx.connection.execute(FILL, tenant_id, BEGIN, ADA, CLEO, TEMPLATE, part, timeout=300)
    for tenant_id in (ESTATE, OTHER_HOUSE):
        await seal(databases, tenant_id, most=10_000)
    await record(databases, *[change() for _ in range(20)])


def filters(number: int) -> list[AuditFilter]:
    """Every filter there is, alone and with each other one, and with times in the middle."""
    middle = BEGIN + timedelta(seconds=number // 2)
    single: list[dict[str, object]] = [
        {"subject_id": TEMPLATE},
        {"actor_id": ADA},
        {"actor_id": CLEO},
        {"actor_id": BEN},
        {"action": "job.release"},
        {"action": "noun3.create"},
        {"action": "nothing.ever"},
        {"since": middle},
        {"until": middle},
        {"since": middle, "until": middle + timedelta(minutes=1)},
    ]
    pairs = [{**one, **other} for one, other in combinations(single, 2) if not one.keys() & other.keys()]
    return [msgspec.convert(each, AuditFilter) for each in [{}, *single, *pairs]]


async def read(
    databases: Databases, wanted: AuditFilter, *, limit: int = 50, after: Position | None = None
) -> Page[AuditRecord]:
    async with databases.application.transaction(ESTATE) as tx:
        return await audit_store.find_page(tx, wanted, PageWanted(limit, after))


async def actions(databases: Databases, wanted: AuditFilter = ANY, *, limit: int = 50) -> list[str]:
    """The actions on all pages, one behind the other."""
    found: list[str] = []
    after: Position | None = None
    while True:
        page = await read(databases, wanted, limit=limit, after=after)
        found += [each.action for each in page.items]
        after = page.next
        if after is None:
            return found


async def test_it_works(databases: Databases) -> None:
    await record(databases, change(before={"a": 1}, after={"a": 2}), change("template.delete"))
    await seal(databases)
    await record(databases, change("template.create", actor=BEN))

    newest, second, third = (await read(databases, AuditFilter())).items

    assert [each.action for each in (newest, second, third)] == [
        "template.create", "template.delete", "template.replace",
    ]  # fmt: skip
    assert (third.before, third.after, third.trace_id) == (b'{"a":1}', b'{"a":2}', TRACE)
    assert third.actor is not None
    assert (third.actor.id, third.actor.display_name) == (ADA, "Ada Achterberg")
    assert newest.seal is None
    assert second.seal is not None
    assert third.seal is not None
    assert (second.seal.previous, third.seal.previous) == (third.seal.digest, bytes(32))


async def test_it_comes_in_pages_without_a_gap_or_anything_twice(databases: Databases) -> None:
    # Rows of one transaction have the same time.
    await record(databases, *[change(f"one.{number}") for number in range(5)])
    await seal(databases)
    await record(databases, *[change(f"two.{number}") for number in range(5)])

    for limit in (1, 3, 5, 10, 11):
        assert await actions(databases, limit=limit) == [
            *[f"two.{number}" for number in reversed(range(5))],
            *[f"one.{number}" for number in reversed(range(5))],
        ]


@pytest.mark.parametrize("is_sealed", [True, False])
async def test_each_filter_finds_its_rows_and_no_other(databases: Databases, *, is_sealed: bool) -> None:
    other = UUID("7e000000-0000-4000-8000-0000000000bb")
    await record(
        databases,
        change("a.one"),
        change("a.two", actor=BEN),
        change("a.one", actor=BEN, subject=other),
        # An id in another place is neither the actor nor the subject.
        change("a.three", actor=CLEO, subject=other, after={"owner": str(BEN), "template": str(TEMPLATE)}),
        change("a.one", tenant_id=OTHER_HOUSE),
    )
    if is_sealed:
        await seal(databases)
    ((middle,),) = await rows(databases, "SELECT at FROM chamberlain.audit WHERE action = 'a.two'")
    assert isinstance(middle, datetime)

    found = {
        "all": await actions(databases),
        "actor": await actions(databases, AuditFilter(actor_id=BEN)),
        "subject": await actions(databases, AuditFilter(subject_id=TEMPLATE)),
        "action": await actions(databases, AuditFilter(action="a.one")),
        "both": await actions(databases, AuditFilter(actor_id=BEN, action="a.one")),
        "since": await actions(databases, AuditFilter(since=middle)),
        "until": await actions(databases, AuditFilter(until=middle)),
        "subject and actor": await actions(databases, AuditFilter(actor_id=BEN, subject_id=other)),
        "nothing": await actions(databases, AuditFilter(actor_id=ADA, action="a.three")),
    }

    assert found == {
        "all": ["a.three", "a.one", "a.two", "a.one"],
        "actor": ["a.one", "a.two"],
        "subject": ["a.two", "a.one"],
        "action": ["a.one", "a.one"],
        "both": ["a.one"],
        "since": ["a.three", "a.one", "a.two"],
        "until": ["a.one"],
        "subject and actor": ["a.one"],
        "nothing": [],
    }


async def test_a_row_that_was_removed_does_not_end_the_list(databases: Databases) -> None:
    await record(databases, *[change(f"one.{number}") for number in range(4)])
    await seal(databases)
    await tamper(databases, "DELETE FROM chamberlain.audit WHERE action = 'one.2'")

    assert await actions(databases, limit=1) == ["one.3", "one.1", "one.0"]


async def test_the_change_that_came_last_is_first_though_it_began_first(databases: Databases) -> None:
    """Two change one thing: the one that has to wait for the other says what is true in the end."""
    async with databases.application.transaction(ESTATE) as early:
        await record(databases, change("late.begun"))
        await record_change(early, change("early.begun"))

    waiting = await actions(databases)
    await seal(databases)

    assert waiting == ["early.begun", "late.begun"]
    assert await actions(databases) == waiting


async def test_a_row_has_the_address_of_the_call_or_none(databases: Databases) -> None:
    await record(databases, change("by.call", client_address="2001:db8::1"), change("by.job"))
    await seal(databases)

    by_job, by_call = (await read(databases, AuditFilter())).items

    assert (by_call.action, by_call.client_address) == ("by.call", "2001:db8::1")
    assert (by_job.action, by_job.client_address) == ("by.job", None)
    # A row without an address is written as it was before there were any.
    written = await rows(
        databases, "SELECT payload::text LIKE '%clientAddress%' FROM chamberlain.audit ORDER BY sequence"
    )
    assert written == [(True,), (False,)]


@pytest.mark.parametrize(
    "payload",
    ["{}", "[]", '{"actor": 1}', '{"erased": {}}', "null", '{"actor": {"type": "king"}}', '{"clientAddress": 5}'],
)
async def test_it_handles_a_payload_that_is_none_of_ours(databases: Databases, payload: str) -> None:
    await record(databases, change())
    await tamper(databases, "UPDATE chamberlain.audit SET payload = $1::text::json", payload)
    await seal(databases)

    (found,) = (await read(databases, AuditFilter())).items

    assert (found.actor, found.subject, found.client_address, found.is_erased) == (None, None, None, False)


async def test_it_is_seen_while_a_look_is_half_done(databases: Databases) -> None:
    await record(databases, *[change(f"one.{number}") for number in range(4)])
    async with databases.worker.across_tenants() as tx:
        await audit_records.seal(tx, ESTATE, 2)
    await record(databases, change("two.0"))

    assert await actions(databases) == ["two.0", "one.3", "one.2", "one.1", "one.0"]


@pytest.mark.heavy
@pytest.mark.parametrize("number", SIZES)
async def test_it_is_read_along_indexes_for_every_filter(databases: Databases, number: int) -> None:
    await fill(databases, number)
    middle = Position(BEGIN + timedelta(seconds=number // 2), UUID(int=number // 2))

    async with databases.application.transaction(ESTATE) as tx:
        for position in (None, middle):
            for wanted in filters(number):
                assert await looked_at(tx, wanted, position) <= 2_500, (wanted, position)


async def looked_at(tx: Transaction, wanted: AuditFilter, position: Position | None) -> int:
    await tx.execute(PLANNING)
    statement, values = await audit_store.page_statement(tx, wanted, PageWanted(50, position))
    return await rows_looked_at(tx, statement, *values)
