# SPDX-License-Identifier: Apache-2.0
"""Faults of a chain follow from its links alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

import pytest

from chamberlain.audit.rules import (
    LOG_PERIOD,
    NO_DIGEST,
    AuditFacts,
    ErasureRecord,
    FaultKind,
    Head,
    Link,
    digest_of,
    digest_of_sequences,
    faults_of,
    faults_of_copy,
    faults_of_end,
    faults_of_erasures,
    faults_of_sealer,
    head_of,
    next_look,
)
from chamberlain.core.ids import RequestId, TenantId, TraceId

pytestmark = pytest.mark.pure

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
PAYLOAD = sha256(b"{}").digest()
FACTS = AuditFacts(
    at=datetime(2026, 11, 20, 9, 30, 0, 123_456, tzinfo=UTC),
    action="group.create",
    request_id=RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10")),
    trace_id=TraceId("4bf92f3577b34da6a3ce929d0e0e4736"),
    payload_digest=PAYLOAD,
    erasure=None,
)
BEFORE = Head(6, b"\x06" * 32)
UNSEALED = Link(
    position=7,
    sequence=9,
    previous=BEFORE.digest,
    digest=b"",
    payload_digest=PAYLOAD,
    is_suspect=False,
    facts=FACTS,
    agrees=True,
)
LINK = replace(UNSEALED, digest=digest_of(TENANT, UNSEALED, FACTS))
OTHER = b"\xff" * 32
UNREADABLE = FaultKind.UNREADABLE
CHANGED, MISSING, INSERTED, CUT = FaultKind.CHANGED, FaultKind.MISSING, FaultKind.INSERTED, FaultKind.CUT


def resealed(link: Link) -> Link:
    """The same with the digest that it then has."""
    return replace(link, digest=digest_of(TENANT, link, FACTS))


def test_it_works() -> None:
    content = (
        '["chamberlain audit 1", "e57a7e00-0000-4000-8000-000000000001", 7, 9, 1795167000123456, "group.create", '
        '"0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10", "4bf92f3577b34da6a3ce929d0e0e4736", "' + PAYLOAD.hex() + '", false]'
    )

    assert LINK.digest == sha256(BEFORE.digest + content.encode()).digest()
    assert list(faults_of(TENANT, LINK, BEFORE)) == []


@pytest.mark.parametrize(
    ("link", "kinds"),
    [
        pytest.param(replace(LINK, facts=None), [MISSING], id="row gone"),
        pytest.param(replace(LINK, facts=replace(FACTS, action="x")), [CHANGED], id="action"),
        pytest.param(replace(LINK, facts=replace(FACTS, request_id=None)), [CHANGED], id="request"),
        pytest.param(replace(LINK, facts=replace(FACTS, at=FACTS.at + timedelta(hours=1))), [CHANGED], id="time"),
        pytest.param(replace(LINK, facts=replace(FACTS, payload_digest=OTHER)), [CHANGED], id="payload"),
        pytest.param(
            replace(LINK, facts=replace(FACTS, payload_digest=OTHER, erasure=TraceId("e0"))), [], id="erased payload"
        ),
        pytest.param(
            replace(LINK, facts=replace(FACTS, action="x", erasure=TraceId("e0"))), [CHANGED], id="erased and changed"
        ),
        pytest.param(replace(LINK, facts=replace(FACTS, is_readable=False)), [UNREADABLE], id="unreadable"),
        pytest.param(replace(LINK, payload_digest=OTHER), [CHANGED], id="sealed payload"),
        pytest.param(replace(LINK, digest=OTHER), [CHANGED], id="digest"),
        pytest.param(replace(LINK, sequence=8), [CHANGED], id="sequence"),
        pytest.param(replace(LINK, agrees=False), [CHANGED], id="listed otherwise"),
        pytest.param(replace(LINK, is_suspect=True), [CHANGED, INSERTED], id="mark of a suspect"),
        pytest.param(resealed(replace(LINK, is_suspect=True)), [INSERTED], id="suspect"),
        pytest.param(resealed(replace(LINK, previous=OTHER)), [CHANGED], id="follows another"),
        pytest.param(resealed(replace(LINK, position=9)), [MISSING], id="gap"),
    ],
)
def test_each_fault_of_a_link_is_reported(link: Link, kinds: list[FaultKind]) -> None:
    assert [fault.kind for fault in faults_of(TENANT, link, BEFORE)] == kinds


def test_a_link_belongs_to_its_tenant() -> None:
    other = TenantId(UUID("e57a7e00-0000-4000-8000-000000000002"))

    assert [fault.kind for fault in faults_of(other, LINK, BEFORE)] == [CHANGED]


@pytest.mark.parametrize(
    ("stored", "kinds"),
    [
        (BEFORE, []),
        (Head(7, OTHER), [CUT]),
        (Head(6, OTHER), [CHANGED]),
        (Head(5, BEFORE.digest), [CHANGED]),
        (None, [CHANGED]),
    ],
)
def test_the_end_is_where_it_was_noted(stored: Head | None, kinds: list[FaultKind]) -> None:
    assert [fault.kind for fault in faults_of_end(BEFORE, stored)] == kinds


def test_a_chain_without_a_link_has_no_head() -> None:
    assert list(faults_of_end(Head(0, NO_DIGEST), None)) == []


def test_a_head_of_a_chain_without_a_link_holds_for_ever() -> None:
    assert list(faults_of_copy(Head(0, NO_DIGEST), None, BEFORE)) == []
    assert [fault.kind for fault in faults_of_copy(Head(0, OTHER), None, BEFORE)] == [CHANGED]


ERASURE = TraceId("e0" * 16)


@pytest.mark.parametrize(
    ("erased", "on_record", "number"),
    [
        ({}, [], 0),
        ({ERASURE: {3, 1}}, [(9, [1, 3])], 0),
        ({ERASURE: {1}}, [], 1),
        ({ERASURE: {1}}, [(9, [1, 3])], 1),
        ({ERASURE: {1, 4}}, [(9, [1, 3])], 1),
        ({}, [(9, [1, 3])], 1),
        ({}, [(9, [])], 0),
        ({ERASURE: {1, 4}}, [(10, [1, 4]), (9, [1, 3])], 1),
        ({ERASURE: {1}, TraceId("e1"): {2}}, [(9, [1])], 1),
    ],
)
def test_emptied_rows_are_those_on_record(
    erased: dict[TraceId, set[int]], on_record: list[tuple[int, list[int]]], number: int
) -> None:
    records = [ErasureRecord(sequence, ERASURE, digest_of_sequences(rows)) for sequence, rows in on_record]

    assert [fault.kind for fault in faults_of_erasures(erased, records)] == [CHANGED] * number


@pytest.mark.parametrize(("found", "kinds"), [(BEFORE.digest, []), (OTHER, [CHANGED]), (None, [CUT])])
def test_a_copy_shows_what_has_changed_up_to_it(found: bytes | None, kinds: list[FaultKind]) -> None:
    assert [fault.kind for fault in faults_of_copy(BEFORE, found, BEFORE)] == kinds


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (str(BEFORE), BEFORE),
        (f"6:{'06' * 32}", BEFORE),
        (f"6:SHA256:{'06' * 32}", None),
        (f"6:sha256:{'0A' * 32}", Head(6, b"\x0a" * 32)),
        (f"0:{'00' * 32}", Head(0, NO_DIGEST)),
        ("", None),
        ("6", None),
        ("6:", None),
        (f":{'06' * 32}", None),
        (f"-6:{'06' * 32}", None),
        (f"²:{'06' * 32}", None),
        (f"{'9' * 19}:{'06' * 32}", None),
        (f"6:{'06' * 31}", None),
        (f"6:{'0g' * 32}", None),
        (f"6:{'06' * 33}", None),
    ],
)
def test_a_head_is_read_as_it_was_written(text: str, head: Head | None) -> None:
    assert head_of(text) == head


@pytest.mark.parametrize(("sealed", "seconds"), [(0, 60), (1, 5), (199_999, 5), (200_000, 1)])
def test_the_next_look_comes_sooner_where_there_is_more(sealed: int, seconds: int) -> None:
    assert next_look(sealed=sealed) == timedelta(seconds=seconds)


def test_the_head_is_logged_every_minute() -> None:
    assert timedelta(minutes=1) == LOG_PERIOD


def test_faults_have_these_words() -> None:
    assert [str(each) for each in FaultKind] == ["changed", "missing", "inserted", "cut", "unreadable", "held"]


def test_a_sealer_that_is_held_is_a_fault() -> None:
    assert list(faults_of_sealer(None)) == []
    assert [(fault.kind, fault.sequence) for fault in faults_of_sealer("It broke.")] == [(FaultKind.HELD, None)]


@pytest.mark.parametrize(("position", "missing"), [(8, "Position 7 "), (9, "Positions 7 to 8 ")])
def test_a_gap_is_named_by_its_positions(position: int, missing: str) -> None:
    (fault,) = faults_of(TENANT, resealed(replace(LINK, position=position)), BEFORE)

    assert (fault.kind, fault.sequence) == (MISSING, None)
    assert missing in fault.detail


@pytest.mark.parametrize(("stored", "missing"), [(7, "Position 7 "), (9, "Positions 7 to 9 ")])
def test_a_tail_that_was_cut_off_is_named_by_its_positions(stored: int, missing: str) -> None:
    (fault,) = faults_of_end(BEFORE, Head(stored, OTHER))

    assert missing in fault.detail


def test_a_fault_of_a_row_names_it() -> None:
    for link in (replace(LINK, facts=None), replace(LINK, agrees=False), replace(LINK, digest=OTHER)):
        assert [fault.sequence for fault in faults_of(TENANT, link, BEFORE)] == [9]
