# SPDX-License-Identifier: Apache-2.0
"""Seals of the audit trail: one hash chain for each tenant.

A changed, removed or inserted row breaks the chain. Each link is the SHA-256 of the previous link and the content of a
row. Of the payload the chain has only the digest, so that an erasure can empty it.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from chamberlain.core.ids import RequestId, TenantId, TraceId

# Rows sealed in one transaction: a fraction of a second.
BATCH = 10_000
# Batches of one run, so that it ends soon when the worker stops.
BATCHES = 20
# Time until the next run: if rows are left, after some rows, and after none.
SHORT_PAUSE = timedelta(seconds=1)
PAUSE = timedelta(seconds=5)
LONG_PAUSE = timedelta(minutes=1)
# Interval of log lines with the head, while it moves.
LOG_PERIOD = timedelta(minutes=1)

# A trail without new rows is marked as looked at after this time. A row that is an hour older than the last look is
# suspect, so this adds to that hour.
LOOK_PERIOD = timedelta(minutes=10)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Lengths of a position, which has 63 bits, and of a digest.
_MOST_DIGITS = 18
_DIGEST_DIGITS = 64
# The digest before the first link.
NO_DIGEST = bytes(32)


def next_look(*, sealed: int) -> timedelta:
    """Return the time until the next run."""
    if sealed >= BATCH * BATCHES:
        return SHORT_PAUSE
    return PAUSE if sealed else LONG_PAUSE


@dataclass(frozen=True, slots=True)
class Head:
    """The last link of a chain, which proves all rows before it."""

    position: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.position}:{written(self.digest)}"


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """The sealed content of a row beside its payload.

    `payload_digest` is that of the current payload. `erasure` is the trace of the erasure that emptied it. PostgreSQL
    cannot parse a payload that is not readable.
    """

    at: datetime
    action: str
    request_id: RequestId | None
    trace_id: TraceId
    payload_digest: bytes
    erasure: TraceId | None
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """One stored link with its row; None for a missing row.

    `agrees` says that the columns of lists match the row.
    """

    position: int
    sequence: int
    previous: bytes
    digest: bytes
    payload_digest: bytes
    is_suspect: bool
    facts: AuditFacts | None
    agrees: bool


@dataclass(frozen=True, slots=True)
class ErasureRecord:
    """The audit record of an erasure.

    `sequences` is the digest of the erased rows.
    """

    sequence: int
    trace_id: TraceId
    sequences: str


@dataclass(frozen=True, slots=True)
class UnsealedRow:
    """A row without a seal.

    A suspect one should have a seal, or is not from the service.
    """

    sequence: int
    at: datetime
    is_suspect: bool
    erasure: TraceId | None


class FaultKind(StrEnum):
    """Kinds of faults of an audit trail."""

    CHANGED = "changed"
    MISSING = "missing"
    INSERTED = "inserted"
    CUT = "cut"
    UNREADABLE = "unreadable"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class AuditFault:
    """One fault; `sequence` names the row if it is known."""

    kind: FaultKind
    sequence: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """Result of the verification of one tenant.

    `waiting` rows are not sealed yet, the oldest since `waiting_since`.
    """

    tenant_id: TenantId
    head: Head
    erased: int
    waiting: int
    waiting_since: datetime | None
    faults: int


def head_of(text: str) -> Head | None:
    """Parse a head of the log; None if it is invalid."""
    position, _, digest = text.partition(":")
    hexadecimal = digest.removeprefix("sha256:").lower()
    if not (position.isascii() and position.isdigit() and len(position) <= _MOST_DIGITS):
        return None
    if len(hexadecimal) != _DIGEST_DIGITS or set(hexadecimal) - set("0123456789abcdef"):
        return None
    return Head(int(position), bytes.fromhex(hexadecimal))


def written(digest: bytes) -> str:
    """Format a digest."""
    return f"sha256:{digest.hex()}"


def digest_of_sequences(sequences: Iterable[int]) -> str:
    """Return the digest of a set of sequences."""
    return written(sha256(json.dumps(sorted(sequences)).encode()).digest())


def digest_of(tenant_id: TenantId, link: Link, facts: AuditFacts) -> bytes:
    """Compute the digest of a link.

    The database computes the same in database/sql/seals.sql.
    """
    content = [
        "chamberlain audit 1",
        str(tenant_id),
        link.position,
        link.sequence,
        (facts.at - _EPOCH) // _MICROSECOND,
        facts.action,
        None if facts.request_id is None else str(facts.request_id),
        facts.trace_id,
        link.payload_digest.hex(),
        link.is_suspect,
    ]
    return sha256(link.previous + json.dumps(content, ensure_ascii=False).encode()).digest()


def faults_of(tenant_id: TenantId, link: Link, before: Head) -> Iterator[AuditFault]:
    """Validate a link and its row against the previous link."""
    row = f"Row {link.sequence} (position {link.position})"
    if link.position != before.position + 1:
        span = _span(before.position + 1, link.position - 1)
        yield AuditFault(FaultKind.MISSING, None, f"{span} of the chain is missing, with the rows that were there.")
    elif link.previous != before.digest:
        yield AuditFault(FaultKind.CHANGED, link.sequence, f"{row} does not follow the link before it.")
    facts = link.facts
    if facts is None:
        yield AuditFault(FaultKind.MISSING, link.sequence, f"{row} is missing: it was removed after it was sealed.")
    elif digest_of(tenant_id, link, facts) != link.digest:
        yield AuditFault(
            FaultKind.CHANGED, link.sequence, f"{row} is not as it was sealed: it or its seal was changed."
        )
    elif facts.erasure is None and facts.payload_digest != link.payload_digest:
        yield AuditFault(FaultKind.CHANGED, link.sequence, f"{row} is not as it was sealed: its payload was changed.")
    elif not link.agrees:
        yield AuditFault(FaultKind.CHANGED, link.sequence, f"{row} is listed under other names than its own.")
    if facts is not None and not facts.is_readable:
        detail = (
            f"{row} has in it what no text can have: \\u0000, or half a surrogate pair. No list finds whom it names."
        )
        yield AuditFault(FaultKind.UNREADABLE, link.sequence, detail)
    if link.is_suspect:
        yield AuditFault(FaultKind.INSERTED, link.sequence, f"{row} was inserted: the service did not write it then.")


def faults_of_end(last: Head, stored: Head | None) -> Iterator[AuditFault]:
    """Validate the end of a chain against the stored head."""
    if stored is None:
        if last.position:
            yield AuditFault(FaultKind.CHANGED, None, "The note of the head of the chain is gone.")
    elif stored.position > last.position:
        span = _span(last.position + 1, stored.position)
        yield AuditFault(FaultKind.CUT, None, f"{span} of the chain was cut off, with the rows that were there.")
    elif stored != last:
        yield AuditFault(FaultKind.CHANGED, None, f"The head of the chain is {last}, and is noted as {stored}.")


def faults_of_copy(kept: Head, found: bytes | None, last: Head) -> Iterator[AuditFault]:
    """Validate the chain against a head from the log.

    `found` is the current digest at its position.
    """
    if not kept.position:
        # Position 0 has no link and a constant digest.
        found = NO_DIGEST
    if found is None:
        detail = f"The chain ends at position {last.position}, before {kept.position}: its tail was cut off."
        yield AuditFault(FaultKind.CUT, None, detail)
    elif found != kept.digest:
        detail = (
            f"Position {kept.position} has another digest than the copy: what is up to it was changed and sealed again."
        )
        yield AuditFault(FaultKind.CHANGED, None, detail)


def faults_of_erasures(
    erased: Mapping[TraceId, Collection[int]], records: Iterable[ErasureRecord]
) -> Iterator[AuditFault]:
    """Validate erased rows against the audit records of erasures.

    Each row names the trace of an erasure, and `records` have the digests of its rows. Of two records of one trace the
    older one counts.
    """
    on_record: dict[TraceId, str] = {}
    for record in sorted(records, key=lambda each: each.sequence):
        on_record.setdefault(record.trace_id, record.sequences)
    nothing = digest_of_sequences(())
    for trace_id in sorted({*erased, *on_record}):
        sequences = erased.get(trace_id, frozenset())
        if digest_of_sequences(sequences) != on_record.get(trace_id, nothing):
            detail = (
                f"{len(sequences)} rows say that they were emptied by the erasure of trace {trace_id}, and these are "
                "not the rows that it has on record."
            )
            yield AuditFault(FaultKind.CHANGED, None, detail)


def faults_of_sealer(held_reason: str | None) -> Iterator[AuditFault]:
    """Report a held sealing job."""
    if held_reason is not None:
        detail = (
            f"The job that seals this trail is held ({held_reason}). `chamberlain jobs list` shows it; fix the cause "
            "and release it."
        )
        yield AuditFault(FaultKind.HELD, None, detail)


def _span(first: int, last: int) -> str:
    return f"Position {first}" if first == last else f"Positions {first} to {last}"
