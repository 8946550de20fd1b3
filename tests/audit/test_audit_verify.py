# SPDX-License-Identifier: Apache-2.0
"""Changes by the owner of the tables are found: changed, missing, inserted and cut-off rows are named."""

import pytest

from chamberlain.audit import records as audit_records
from chamberlain.audit import store as audit_store
from chamberlain.audit.models import AuditFilter
from chamberlain.audit.rules import FaultKind, Head
from chamberlain.audit.service import AuditVerifier
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TenantId
from chamberlain.core.paging import PageWanted
from tests.audit.audit_fixture import TEMPLATE, AuditFixture, change, record, seal, tamper
from tests.databases import Databases, accept_unreadable
from tests.estates import ADA, ESTATE, OTHER_HOUSE, rows

CHANGED, MISSING, INSERTED, CUT = FaultKind.CHANGED, FaultKind.MISSING, FaultKind.INSERTED, FaultKind.CUT
REMOVE = ("DELETE FROM chamberlain.audit WHERE sequence = $1", "DELETE FROM chamberlain.audit_seal WHERE sequence = $1")
# The sequences of the other tenant are gaps in those of this one.
INTO_A_GAP = """
INSERT INTO chamberlain.audit (sequence, tenant_id, at, action, trace_id, payload) OVERRIDING SYSTEM VALUE
SELECT 2, tenant_id, at, action, trace_id, payload FROM chamberlain.audit WHERE sequence = 5
"""
AT_THE_END = """
INSERT INTO chamberlain.audit (tenant_id, at, action, trace_id, payload)
SELECT tenant_id, at, action, trace_id, payload FROM chamberlain.audit WHERE sequence = 5
"""
OF_LONG_AGO = """
INSERT INTO chamberlain.audit (tenant_id, at, action, trace_id, payload, written_by)
SELECT tenant_id, at - interval '2 hours', action, trace_id, payload, written_by
FROM chamberlain.audit WHERE sequence = 5
"""
WITH_ALL_MARKS = """
INSERT INTO chamberlain.audit (sequence, tenant_id, at, action, trace_id, payload, written_in, written_by)
OVERRIDING SYSTEM VALUE
SELECT 2, tenant_id, at, action, trace_id, payload, written_in, written_by FROM chamberlain.audit WHERE sequence = 5
"""
AT_THE_END_WITH_ALL_MARKS = """
INSERT INTO chamberlain.audit (tenant_id, at, action, trace_id, payload, written_in, written_by)
SELECT tenant_id, at, action, trace_id, payload, written_in, written_by FROM chamberlain.audit WHERE sequence = 5
"""


@pytest.fixture
async def audit_fixture(databases: Databases) -> AuditFixture:
    """Two tenants, the first with five sealed rows of two looks, which have other sequences than positions."""
    await record(databases, change(tenant_id=OTHER_HOUSE), change(tenant_id=OTHER_HOUSE))
    await record(databases, *[change(f"template.{number}") for number in range(3)])
    await seal(databases)
    await record(databases, *[change(f"template.{number}") for number in range(3, 5)])
    await seal(databases)
    await seal(databases, OTHER_HOUSE)
    return AuditFixture(databases)


async def head(databases: Databases) -> Head:
    async with databases.worker.across_tenants() as tx:
        found = await audit_records.find_head(tx, ESTATE)
    assert found is not None
    return found


async def remove(databases: Databases, *sequences: int) -> None:
    """Remove rows with their seals."""
    for sequence in sequences:
        for statement in REMOVE:
            await tamper(databases, statement, sequence)


async def test_it_works(audit_fixture: AuditFixture) -> None:
    verdict = await audit_fixture.verify()

    assert (verdict.head.position, verdict.erased, verdict.waiting, verdict.faults) == (5, 0, 0, 0)
    assert str(verdict.head).startswith("5:sha256:")
    assert verdict.head == await head(audit_fixture.databases)


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        pytest.param("UPDATE chamberlain.audit SET action = 'job.release' WHERE sequence = 5", CHANGED, id="action"),
        pytest.param("UPDATE chamberlain.audit SET at = at - interval '1 us' WHERE sequence = 5", CHANGED, id="time"),
        pytest.param("UPDATE chamberlain.audit SET trace_id = '' WHERE sequence = 5", CHANGED, id="trace"),
        pytest.param(
            "UPDATE chamberlain.audit SET request_id = gen_random_uuid() WHERE sequence = 5", CHANGED, id="request"
        ),
        pytest.param(
            "UPDATE chamberlain.audit SET payload = replace(payload::text, 'Ada', 'Eva')::json WHERE sequence = 5",
            CHANGED,
            id="payload",
        ),
        pytest.param(
            "UPDATE chamberlain.audit SET payload = (payload::text || ' ')::json WHERE sequence = 5",
            CHANGED,
            id="a blank in the payload",
        ),
        pytest.param(
            "UPDATE chamberlain.audit SET payload = '{}' WHERE sequence = 5", CHANGED, id="emptied in silence"
        ),
        pytest.param(
            "UPDATE chamberlain.audit_seal SET payload_digest = sha256('') WHERE sequence = 5", CHANGED, id="seal"
        ),
        pytest.param("UPDATE chamberlain.audit_seal SET actor_id = '' WHERE sequence = 5", CHANGED, id="listed as"),
        pytest.param("DELETE FROM chamberlain.audit WHERE sequence = 5", MISSING, id="removed"),
        pytest.param("DELETE FROM chamberlain.audit WHERE sequence = 7", MISSING, id="the last one removed"),
    ],
)
async def test_it_finds_the_row_that_was_changed_or_removed(
    audit_fixture: AuditFixture, tampering: str, found: FaultKind
) -> None:
    await tamper(audit_fixture.databases, tampering)

    await audit_fixture.verify()

    assert audit_fixture.kinds == [(found, 7 if "7" in tampering else 5)]


async def test_it_finds_a_row_that_went_with_its_seal(audit_fixture: AuditFixture) -> None:
    await remove(audit_fixture.databases, 5)

    await audit_fixture.verify()

    assert audit_fixture.kinds == [(MISSING, None)]
    assert "Position 3 of the chain is missing" in audit_fixture.told[0][1].detail


async def test_it_finds_a_chain_that_was_made_to_fit(audit_fixture: AuditFixture) -> None:
    """The row, its seal and the position of the next are gone, and the numbers are without a gap again."""
    await remove(audit_fixture.databases, 5)
    await tamper(
        audit_fixture.databases,
        "UPDATE chamberlain.audit_seal SET position = position - 1 WHERE tenant_id = $1 AND position = 4",
        ESTATE,
    )
    await tamper(
        audit_fixture.databases,
        "UPDATE chamberlain.audit_seal SET position = position - 1 WHERE tenant_id = $1 AND position = 5",
        ESTATE,
    )

    await audit_fixture.verify()

    assert (CHANGED, 6) in audit_fixture.kinds
    assert (CUT, None) in audit_fixture.kinds


async def test_it_finds_a_row_that_changed_its_tenant(audit_fixture: AuditFixture) -> None:
    await tamper(audit_fixture.databases, "UPDATE chamberlain.audit SET tenant_id = $1 WHERE sequence = 5", OTHER_HOUSE)

    await audit_fixture.verify()
    lost = audit_fixture.kinds
    await audit_fixture.verify(OTHER_HOUSE)

    assert lost == [(MISSING, 5)]
    assert audit_fixture.kinds == [(INSERTED, 5)]


@pytest.mark.parametrize("sealed_after", [False, True], ids=["before the next look", "after the next look"])
@pytest.mark.parametrize(
    ("inserting", "sequence"),
    [
        pytest.param(INTO_A_GAP, 2, id="into a gap"),
        pytest.param(AT_THE_END, 8, id="at the end"),
        pytest.param(OF_LONG_AGO, 8, id="of long ago, as if by the service"),
        pytest.param(WITH_ALL_MARKS, 2, id="with all marks of a real one"),
        pytest.param(AT_THE_END_WITH_ALL_MARKS, 8, id="at the end with all marks of a real one"),
    ],
)
async def test_it_finds_a_row_that_was_inserted(
    audit_fixture: AuditFixture, inserting: str, sequence: int, *, sealed_after: bool
) -> None:
    await tamper(audit_fixture.databases, inserting)
    if sealed_after:
        await record(audit_fixture.databases, change())
        await seal(audit_fixture.databases)

    await audit_fixture.verify()

    assert audit_fixture.kinds == [(INSERTED, sequence)]


async def test_it_finds_that_the_tail_was_cut(audit_fixture: AuditFixture) -> None:
    await remove(audit_fixture.databases, 6, 7)

    await audit_fixture.verify()

    assert audit_fixture.kinds == [(CUT, None)]
    assert "Positions 4 to 5 of the chain" in audit_fixture.told[0][1].detail


async def cut_with_head(databases: Databases) -> None:
    """Cut the tail with everything that the database knows of it."""
    await remove(databases, 6, 7)
    await tamper(
        databases,
        "UPDATE chamberlain.audit_head h SET position = s.position, digest = s.digest FROM chamberlain.audit_seal s "
        "WHERE s.tenant_id = h.tenant_id AND h.tenant_id = $1 AND s.position = 3",
        ESTATE,
    )


async def test_it_finds_a_cut_that_left_no_trace_by_a_copy_of_the_head(audit_fixture: AuditFixture) -> None:
    kept = await head(audit_fixture.databases)
    await cut_with_head(audit_fixture.databases)

    without = await audit_fixture.verify()
    await audit_fixture.verify(kept=kept)

    assert without.faults == 0
    assert audit_fixture.kinds == [(CUT, None)]


async def test_it_finds_what_was_written_again_behind_a_cut(audit_fixture: AuditFixture) -> None:
    kept = await head(audit_fixture.databases)
    await cut_with_head(audit_fixture.databases)
    await record(audit_fixture.databases, *[change() for _ in range(4)])
    await seal(audit_fixture.databases)

    await audit_fixture.verify(kept=kept)

    assert audit_fixture.kinds == [(CHANGED, None)]


async def test_a_copy_of_a_head_is_good_for_as_long_as_what_is_up_to_it(audit_fixture: AuditFixture) -> None:
    kept = await head(audit_fixture.databases)
    await record(audit_fixture.databases, change())
    await seal(audit_fixture.databases)

    assert (await audit_fixture.verify(kept=kept)).faults == 0


@pytest.mark.parametrize(
    "tampering",
    [
        "DELETE FROM chamberlain.audit_head WHERE tenant_id = $1",
        "UPDATE chamberlain.audit_head SET digest = sha256('') WHERE tenant_id = $1",
        "UPDATE chamberlain.audit_head SET position = 4 WHERE tenant_id = $1",
    ],
)
async def test_it_finds_a_note_of_the_head_that_was_changed(audit_fixture: AuditFixture, tampering: str) -> None:
    await tamper(audit_fixture.databases, tampering, ESTATE)

    await audit_fixture.verify()

    assert audit_fixture.kinds == [(CHANGED, None)]


async def test_one_fault_is_reported_once(audit_fixture: AuditFixture) -> None:
    await tamper(audit_fixture.databases, "UPDATE chamberlain.audit_seal SET digest = sha256('') WHERE sequence = 5")

    await audit_fixture.verify()

    # The link itself, and the next one that does not follow it.
    assert audit_fixture.kinds == [(CHANGED, 5), (CHANGED, 6)]


async def test_it_handles_rows_that_wait_for_their_seal(audit_fixture: AuditFixture) -> None:
    await record(audit_fixture.databases, change(), change())

    verdict = await audit_fixture.verify()

    assert (verdict.waiting, verdict.faults) == (2, 0)
    ((oldest,),) = await rows(audit_fixture.databases, "SELECT at FROM chamberlain.audit WHERE sequence = 8")
    assert verdict.waiting_since == oldest


UNREADABLE = """
INSERT INTO chamberlain.audit (tenant_id, action, trace_id, payload) VALUES ($1, 'template.replace', '', $2::text::json)
"""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("\\u0000", [(FaultKind.UNREADABLE, 8)]),
        ("\\ud800", [(FaultKind.UNREADABLE, 8)]),
        ("\\udc00 \\ud83d", [(FaultKind.UNREADABLE, 8)]),
        ("\\ud83d\\ude00 \\u00e9", []),
        ("\\\\u0000", []),
    ],
)
async def test_a_row_that_cannot_be_read_is_reported_and_holds_up_no_seal(
    audit_fixture: AuditFixture, name: str, found: list[tuple[FaultKind, int | None]]
) -> None:
    await accept_unreadable(audit_fixture.databases, "audit")
    person = f'{{"type": "user", "id": "{ADA}", "displayName": "{name}"}}'
    async with audit_fixture.databases.application.transaction(ESTATE) as tx:
        await tx.execute(UNREADABLE, ESTATE, f'{{"actor": {person}, "subject": {person}}}')
    await record(audit_fixture.databases, change())
    waiting = await pages(audit_fixture.databases)
    verdict_before = await audit_fixture.verify()

    sealed = await seal(audit_fixture.databases)
    verdict = await audit_fixture.verify()

    assert (verdict_before.waiting, sealed, verdict.waiting) == (2, 2, 0)
    assert audit_fixture.kinds == found
    # It can be listed all the same, and is found by its actor where the actor is known.
    assert waiting == await pages(audit_fixture.databases) == [[9, 8, 7], [9, 7, 6] if found else [9, 8, 7]]


async def pages(databases: Databases) -> list[list[int]]:
    """The newest three rows, and those of Ada."""
    async with databases.application.transaction(ESTATE) as tx:
        found = [
            await audit_store.find_page(tx, wanted, PageWanted(3, None))
            for wanted in (AuditFilter(), AuditFilter(actor_id=ADA, since=None))
        ]
        await audit_store.find_window(tx, AuditFilter(actor_id=ADA), 0, 9)
    return [[row.sequence for row in page.items] for page in found]


async def test_it_finds_that_nobody_seals_because_the_job_is_held(audit_fixture: AuditFixture) -> None:
    await tamper(
        audit_fixture.databases,
        "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason) "
        "VALUES ($1, 'auditSeal', $1, '', 'It met a bug.')",
        ESTATE,
    )

    await audit_fixture.verify()

    assert audit_fixture.kinds == [(FaultKind.HELD, None)]
    assert "It met a bug." in audit_fixture.told[0][1].detail


async def test_it_handles_a_tenant_that_was_never_sealed(databases: Databases) -> None:
    await record(databases, change())

    verdict = await AuditFixture(databases).verify()

    assert (verdict.head.position, verdict.waiting, verdict.faults) == (0, 1, 0)


async def test_it_goes_through_all_tenants(audit_fixture: AuditFixture) -> None:
    await tamper(audit_fixture.databases, "DELETE FROM chamberlain.audit")

    verdicts = await AuditVerifier(audit_fixture.databases.worker, lambda _tenant, _fault: None).verify(None, None)

    assert [(verdict.tenant_id, verdict.faults) for verdict in verdicts] == [(ESTATE, 5), (OTHER_HOUSE, 2)]


async def test_it_rejects_a_tenant_that_there_is_not(audit_fixture: AuditFixture) -> None:
    with pytest.raises(NotFound):
        await audit_fixture.verify(TenantId(TEMPLATE))
