# SPDX-License-Identifier: Apache-2.0
"""The audit trail is sealed in the order in which rows were committed, and the chain says what was in them."""

import asyncio

import asyncpg
import pytest

from chamberlain.audit import records as audit_records
from chamberlain.changes.records import RECORD_AUDIT, record_change
from chamberlain.core.ids import TenantId
from tests.audit.audit_fixture import AuditFixture, change, record, seal, tamper
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE, rows
from tests.postgres import connected

CHAIN = "SELECT sequence FROM chamberlain.audit_seal WHERE tenant_id = $1 ORDER BY position"
PLACES = "SELECT action, position FROM chamberlain.audit_seal"
WRITTEN = "SELECT sequence FROM chamberlain.audit WHERE tenant_id = $1 ORDER BY sequence"


async def chain(databases: Databases, tenant_id: TenantId = ESTATE) -> list[object]:
    return [sequence for (sequence,) in await rows(databases, CHAIN, tenant_id)]


async def written(databases: Databases, tenant_id: TenantId = ESTATE) -> list[object]:
    return [sequence for (sequence,) in await rows(databases, WRITTEN, tenant_id)]


async def test_it_works(databases: Databases) -> None:
    await record(databases, *[change(f"template.{verb}") for verb in ("create", "replace", "delete")])

    sealed = await seal(databases)
    again = await seal(databases)

    assert (sealed, again) == (3, 0)
    assert await chain(databases) == await written(databases)
    links = await rows(databases, "SELECT position, previous, digest FROM chamberlain.audit_seal ORDER BY position")
    digests = [digest for _, _, digest in links]
    assert [position for position, _, _ in links] == [1, 2, 3]
    assert [previous for _, previous, _ in links] == [bytes(32), *digests[:-1]]
    assert await rows(databases, "SELECT position, digest FROM chamberlain.audit_head") == [(3, digests[-1])]
    assert (await AuditFixture(databases).verify()).faults == 0


async def test_the_chain_goes_on_where_it_stopped(databases: Databases) -> None:
    for _ in range(3):
        await record(databases, change(), change())
        assert await seal(databases) == 2

    assert await chain(databases) == await written(databases)
    assert (await AuditFixture(databases).verify()).head.position == 6


async def test_each_tenant_has_a_chain_of_its_own(databases: Databases) -> None:
    await record(databases, change(), change(tenant_id=OTHER_HOUSE), change())

    assert await seal(databases, OTHER_HOUSE) == 1
    assert await seal(databases) == 2

    assert await rows(databases, "SELECT tenant_id, position FROM chamberlain.audit_seal ORDER BY 1, 2") == [
        (ESTATE, 1),
        (ESTATE, 2),
        (OTHER_HOUSE, 1),
    ]


async def test_a_look_may_take_several_calls(databases: Databases) -> None:
    await record(databases, *[change() for _ in range(7)])

    async with databases.worker.across_tenants() as tx:
        first = await audit_records.seal(tx, ESTATE, 3)
    await record(databases, change())
    rest = await seal(databases, most=3)
    later = await seal(databases, most=3)

    assert (first, rest, later) == (3, 4, 1)
    assert await chain(databases) == await written(databases)
    assert (await AuditFixture(databases).verify()).faults == 0


async def test_what_is_committed_first_is_sealed_first_whatever_its_sequence(databases: Databases) -> None:
    async with databases.application.transaction(ESTATE) as slow:
        await record_change(slow, change("slow.begin"))
        await record(databases, change("quick.one"))
        before = await seal(databases)
        await record(databases, change("quick.two"))
        meanwhile = await seal(databases)
    after = await seal(databases)

    assert (before, meanwhile, after) == (1, 1, 1)
    statement = "SELECT action FROM chamberlain.audit_seal ORDER BY position"
    assert await rows(databases, statement) == [("quick.one",), ("quick.two",), ("slow.begin",)]
    assert (await AuditFixture(databases).verify()).faults == 0


async def test_a_transaction_that_was_given_up_leaves_no_gap(databases: Databases) -> None:
    async def give_up() -> None:
        async with databases.application.transaction(ESTATE) as tx:
            await record_change(tx, change())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await give_up()
    await record(databases, change())

    assert await seal(databases) == 1
    assert (await AuditFixture(databases).verify()).head.position == 1


async def test_nothing_is_lost_or_out_of_turn_while_many_write_and_several_seal(databases: Databases) -> None:
    """Rows that were committed before a read are in the chain before those of later reads."""
    now = asyncio.get_running_loop().time
    committed: dict[str, float] = {}
    looks: list[tuple[float, int]] = []
    done = asyncio.Event()

    async def write(number: int) -> None:
        for turn in range(10):
            action = f"writer{number}.turn{turn}"
            async with databases.application.transaction(ESTATE) as tx:
                await record_change(tx, change(action))
                for _ in range(number * turn % 5):
                    await tx.execute("SELECT")
            committed[action] = now()

    async def look() -> None:
        while not done.is_set():
            began = now()
            await seal(databases, most=7)
            ((position,),) = await rows(databases, "SELECT position FROM chamberlain.audit_head")
            looks.append((began, int(str(position))))

    sealers = [asyncio.create_task(look()) for _ in range(2)]
    await asyncio.gather(*map(write, range(8)))
    done.set()
    await asyncio.gather(*sealers)
    await seal(databases)

    places = {str(action): int(str(at)) for action, at in await rows(databases, PLACES)}
    assert sorted(places.values()) == list(range(1, 81))
    assert places.keys() == committed.keys()
    # Two look in turn: one may have to end first what the other has begun.
    late = [
        (action, position)
        for (began, _), (_, position) in zip(looks, looks[2:], strict=False)
        for action, at in committed.items()
        if at < began and places[action] > position
    ]
    assert late == []
    verdict = await AuditFixture(databases).verify()
    assert (verdict.faults, verdict.waiting, verdict.head.position) == (0, 0, 80)


async def test_a_long_transaction_elsewhere_does_not_hold_anything_up(databases: Databases) -> None:
    async with connected(databases.addresses.owner) as other:
        await other.execute("BEGIN; SELECT pg_current_xact_id()")
        for _ in range(3):
            await record(databases, change())
            assert await seal(databases) == 1
        await other.execute("ROLLBACK")

    assert await seal(databases) == 0
    assert (await AuditFixture(databases).verify()).faults == 0


async def test_rows_that_were_carried_into_another_server_are_sealed_on(databases: Databases) -> None:
    """A restored dump has numbers of transactions that the new server has not come to yet."""
    await record(databases, change(), change())
    await seal(databases)
    await record(databases, change())
    await carry_over(databases)

    await record(databases, change())
    first = await seal(databases)
    await record(databases, change())
    then = await seal(databases)

    # The look that finds it out counts as a full one.
    assert (first, then) == (1000 + 2, 1)
    assert await chain(databases) == await written(databases)
    assert (await AuditFixture(databases).verify()).faults == 0


async def test_rows_that_were_carried_into_another_server_are_sealed_tenant_by_tenant(databases: Databases) -> None:
    """Sealing one tenant leaves the rows of the others as they are, sealed or not."""
    for tenant_id in (ESTATE, OTHER_HOUSE):
        await record(databases, change(tenant_id=tenant_id))
        await seal(databases, tenant_id)
        await record(databases, change(tenant_id=tenant_id))
    await carry_over(databases)

    await seal(databases)

    transactions = "SELECT tenant_id, written_in = '1000000000' FROM chamberlain.audit ORDER BY sequence"
    assert await rows(databases, transactions) == [
        (ESTATE, True),
        (ESTATE, False),
        (OTHER_HOUSE, True),
        (OTHER_HOUSE, True),
    ]
    assert len(await chain(databases, OTHER_HOUSE)) == 1
    await seal(databases, OTHER_HOUSE)
    assert await chain(databases, OTHER_HOUSE) == await written(databases, OTHER_HOUSE)


async def test_a_row_that_another_tenant_has_sealed_is_sealed_on_another_server_too(databases: Databases) -> None:
    """A row that changed its tenant has no seal in the new one, although one of the old one has its number."""
    await record(databases, change())
    await seal(databases)
    await record(databases, change(tenant_id=OTHER_HOUSE))
    await seal(databases, OTHER_HOUSE)
    await tamper(databases, "UPDATE chamberlain.audit SET tenant_id = $1 WHERE tenant_id = $2", ESTATE, OTHER_HOUSE)
    await carry_over(databases)

    await seal(databases)

    assert len(await written(databases)) == 2
    assert await chain(databases) == await written(databases)


async def carry_over(databases: Databases) -> None:
    """Give all rows numbers of transactions of another server, which this one has not come to yet."""
    await tamper(databases, "UPDATE chamberlain.audit SET written_in = '1000000000'")
    await tamper(
        databases, "UPDATE chamberlain.audit_head SET snapshot = '1000000000:1000000000:', horizon = '1000000000'"
    )


@pytest.mark.parametrize("table", ["audit_seal", "audit_head"])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO chamberlain.{} (tenant_id) VALUES ($1)",
        "UPDATE chamberlain.{} SET position = 1 WHERE tenant_id = $1",
        "DELETE FROM chamberlain.{} WHERE tenant_id = $1",
    ],
)
async def test_it_rejects_writing_by_the_role_of_calls(databases: Databases, table: str, statement: str) -> None:
    await record(databases, change())
    await seal(databases)

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with databases.application.transaction(ESTATE) as tx:
            await tx.execute(statement.format(table), ESTATE)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chamberlain.audit SET action = '' WHERE tenant_id = $1",
        "DELETE FROM chamberlain.audit WHERE tenant_id = $1",
    ],
)
async def test_it_rejects_changing_the_trail_by_the_role_of_calls(databases: Databases, statement: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with databases.application.transaction(ESTATE) as tx:
            await tx.execute(statement, ESTATE)


async def test_the_digest_takes_every_kind_of_text(databases: Databases) -> None:
    """The database seals and Python verifies: they must write the same."""
    odd = 'Größe "\\/\b\f\n\r\t\x01\x1f\x7f\u2028 ünï 😀'
    await record(databases, change(odd, after={"text": odd, "number": 1.5, "none": None}))
    await seal(databases)

    assert (await AuditFixture(databases).verify()).faults == 0


@pytest.mark.parametrize(
    ("columns", "values", "refusal"),
    [
        pytest.param("sequence", "9000000000000000000", "permission denied", id="sequence"),
        pytest.param("at", "'infinity'", "permission denied", id="time"),
        pytest.param("written_in", "'1'", "permission denied", id="transaction"),
        pytest.param("written_by", "'chamberlain_worker'::regrole", "permission denied", id="role"),
    ],
)
async def test_the_application_cannot_say_when_and_by_whom_a_row_was_written(
    databases: Databases, columns: str, values: str, refusal: str
) -> None:
    async with databases.application.transaction(ESTATE) as tx:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match=refusal):
            await tx.execute(
                f"INSERT INTO chamberlain.audit (tenant_id, action, trace_id, payload, {columns}) "  # noqa: S608 - ours.
                f"OVERRIDING SYSTEM VALUE VALUES ($1, 'template.replace', '', '{{}}', {values})",
                ESTATE,
            )


async def test_the_application_cannot_say_that_it_has_erased_somebody(databases: Databases) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        await record(databases, change("user.erase"))


@pytest.mark.parametrize("at", ["infinity", "-infinity", "9999-12-31T00:00:00Z"])
async def test_a_row_has_a_time_that_can_be_counted(databases: Databases, at: str) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await tamper(
            databases,
            "INSERT INTO chamberlain.audit (tenant_id, at, action, trace_id, payload) "
            "VALUES ($1, $2::text::timestamptz, 'template.replace', '', '{}')",
            ESTATE,
            at,
        )


async def test_a_transaction_draws_its_number_before_its_row_draws_a_sequence(databases: Databases) -> None:
    async with databases.application.transaction(ESTATE) as tx:
        values = (ESTATE, "template.replace", None, "", "{}")
        plan = await tx.fetch(f"EXPLAIN (VERBOSE) {RECORD_AUDIT}", *values)
    lines = [row[0].strip() for row in plan]

    # The number is asked for below the row that the sequence is put into.
    assert "Filter: (begun.number IS NOT NULL)" in lines
    assert "Output: pg_current_xact_id()" in lines
