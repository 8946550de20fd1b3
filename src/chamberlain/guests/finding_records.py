"""SQL of findings: save, close, lock and accept them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.auth.models import Actor
from chamberlain.changes.records import encode_actor
from chamberlain.core.ids import GroupId, MailboxId, PolicyId, TenantId
from chamberlain.core.values import Json
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import (
    Acceptance,
    ClosedFinding,
    Finding,
    FindingClosure,
    FindingKey,
    FindingKind,
    FindingMailbox,
    FindingRecord,
    FindingSearch,
    FindingState,
    FindingSubject,
    Place,
)
from chamberlain.queue.models import MOST_COUNTED

# An existing open or accepted finding keeps its state and gets the new values.
SAVE: Final = """
INSERT INTO chamberlain.finding AS f (
    finding_id, tenant_id, kind, state, source, subject_type, subject_id, subject_name, about, property, wanted,
    observed, detail, action, action_at, policy_id, request_id, first_seen_at, last_seen_at
)
SELECT finding_id, tenant_id, kind, 'open', source, subject_type, subject_id, subject_name, about, property,
    wanted::json, observed::json, detail, action, action_at, policy_id, request_id, $17, $17
FROM unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::uuid[], $16::uuid[]
) AS o (
    finding_id, tenant_id, kind, source, subject_type, subject_id, subject_name, about, property, wanted, observed,
    detail, action, action_at, policy_id, request_id
)
ORDER BY tenant_id, subject_id, kind, about
ON CONFLICT (tenant_id, subject_id, kind, about) WHERE state IN ('open', 'accepted') DO UPDATE SET
    subject_name = excluded.subject_name, property = excluded.property, wanted = excluded.wanted,
    observed = excluded.observed, detail = excluded.detail, action = excluded.action,
    action_at = excluded.action_at, policy_id = excluded.policy_id, request_id = excluded.request_id,
    last_seen_at = excluded.last_seen_at
"""
# Findings of one source about these subjects that are no longer true. They are repaired if an action was announced. $11
# and $12 limit that to these subjects and properties.
CLOSE_MISSING: Final = """
UPDATE chamberlain.finding f SET last_seen_at = $10, state = CASE
    WHEN f.action IS NOT NULL AND ($11::uuid[] IS NULL OR EXISTS (
        SELECT FROM unnest($11::uuid[], $12::text[]) AS m (subject_id, about)
        WHERE m.subject_id = f.subject_id AND m.about = f.about
    )) THEN 'repaired' ELSE 'gone' END
FROM unnest($1::uuid[], $2::uuid[]) AS s (tenant_id, subject_id)
WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.source = $3 AND f.kind = ANY ($4)
AND ($5::text[] IS NULL OR f.about = ANY ($5)) AND f.state IN ('open', 'accepted') AND NOT EXISTS (
    SELECT FROM unnest($6::uuid[], $7::uuid[], $8::text[], $9::text[]) AS o (tenant_id, subject_id, kind, about)
    WHERE o.tenant_id = f.tenant_id AND o.subject_id = f.subject_id AND o.kind = f.kind AND o.about = f.about
)
RETURNING f.tenant_id, f.subject_id, f.subject_type, f.subject_name, f.about, f.state, f.wanted, f.observed
"""
# Findings that their source reports as closed.
CLOSE: Final = """
UPDATE chamberlain.finding f SET state = e.state, last_seen_at = $6
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS e (tenant_id, subject_id, kind, about, state)
WHERE f.tenant_id = e.tenant_id AND f.subject_id = e.subject_id AND f.kind = e.kind AND f.about = e.about
AND f.state IN ('open', 'accepted')
"""
# Announced actions that were not taken.
CANCEL_ACTIONS: Final = """
UPDATE chamberlain.finding f SET action = NULL
FROM unnest($1::uuid[], $2::uuid[], $5::text[]) AS s (tenant_id, subject_id, about)
WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.kind = ANY ($3) AND f.source = $4
AND f.state IN ('open', 'accepted') AND f.action IS NOT NULL AND (s.about IS NULL OR f.about = s.about)
"""
CLOSE_ALL: Final = """
UPDATE chamberlain.finding SET state = 'gone', last_seen_at = $3
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state IN ('open', 'accepted')
"""
SELECT: Final = """
SELECT r.finding_id, r.tenant_id, r.kind, r.state, r.subject_type, r.subject_id, r.subject_name, r.property, r.wanted,
    r.observed, r.detail, r.policy_id, r.action, r.action_at, r.first_seen_at, r.last_seen_at, r.about, r.accepted_at,
    r.accepted_by, r.accepted_reason, r.accepted_until
"""
FIND: Final = f"{SELECT} FROM chamberlain.finding r WHERE r.tenant_id = $1 AND r.finding_id = $2"
LOCK: Final = f"{FIND} FOR NO KEY UPDATE"
# How many are open, of each kind, in all tenants; no more than $2 of each are counted.
COUNT_OPEN: Final = """
SELECT wanted.kind, (
    SELECT count(*) FROM (
        SELECT f.finding_id FROM chamberlain.finding f WHERE f.kind = wanted.kind AND f.state = 'open' LIMIT $2
    ) counted
) AS number
FROM unnest($1::text[]) AS wanted (kind)
"""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_actor = msgspec.json.Decoder(Actor).decode
SAVE_ACCEPTANCE: Final = """
UPDATE chamberlain.finding SET state = $3, accepted_at = $4, accepted_by = $5, accepted_reason = $6, accepted_until = $7
WHERE tenant_id = $1 AND finding_id = $2
"""
# Concurrent acceptance waits until the transaction ends.
LOCK_ACCEPTED: Final = """
SELECT f.tenant_id, f.subject_id, f.about, f.state FROM chamberlain.finding f
JOIN unnest($1::uuid[], $2::uuid[]) AS s (tenant_id, subject_id)
    ON f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id
WHERE f.kind = ANY ($3) AND f.source = $4 AND f.state IN ('open', 'accepted')
ORDER BY f.tenant_id, f.subject_id, f.kind, f.about FOR NO KEY UPDATE OF f
"""
# A worker applies the assignment, or is about to. The retry of an earlier request applies the newest assignment too.
IS_APPLIED: Final = """
SELECT FROM chamberlain.subject s
JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
WHERE s.tenant_id = $1 AND s.subject_id = $2 AND r.state IN ('queued', 'running')
"""


async def save(tx: Transaction, found: Sequence[tuple[UUID, Finding]], *, at: datetime) -> None:
    """Save findings.

    Each has an id in case it is new. A duplicate raises an error.
    """
    if found:
        columns = zip(*[_row(finding_id, each) for finding_id, each in found], strict=True)
        await tx.execute(SAVE, *map(list, columns), at)


async def close_missing(
    tx: Transaction,
    subjects: Collection[tuple[TenantId, UUID]],
    searched: FindingSearch,
    *,
    remaining: Collection[FindingKey],
    at: datetime,
    repaired: Collection[tuple[UUID, str]] | None = None,
) -> Sequence[ClosedFinding]:
    """Close the findings about these subjects that are not in `remaining`.

    Returns the closed ones. A finding with an announced action becomes repaired. If `repaired` is given, only those
    are.
    """
    if not subjects:
        return ()
    rows = await tx.fetch(
        CLOSE_MISSING,
        [tenant_id for tenant_id, _ in subjects],
        [subject_id for _, subject_id in subjects],
        searched.source,
        list(searched.kinds),
        None if searched.abouts is None else list(searched.abouts),
        [each.tenant_id for each in remaining],
        [each.subject_id for each in remaining],
        [each.kind for each in remaining],
        [each.about for each in remaining],
        at,
        None if repaired is None else [subject_id for subject_id, _ in repaired],
        None if repaired is None else [about for _, about in repaired],
    )
    return [
        ClosedFinding(
            subject=to_subject(row),
            about=row["about"],
            state=FindingState(row["state"]),
            wanted=_value(row["wanted"]),
            observed=_value(row["observed"]),
        )
        for row in rows
    ]


async def close(tx: Transaction, ended: Sequence[FindingClosure], *, at: datetime) -> None:
    """Close findings as repaired or gone."""
    if ended:
        await tx.execute(
            CLOSE,
            [each.subject.tenant_id for each in ended],
            [each.subject.id for each in ended],
            [each.kind for each in ended],
            [each.about for each in ended],
            [each.state for each in ended],
            at,
        )


async def cancel_actions(
    tx: Transaction, announced: Collection[tuple[FindingSubject, str | None]], searched: FindingSearch
) -> None:
    """Cancel announced actions.

    They are about one property of each subject, or all of them (None).
    """
    if announced:
        await tx.execute(
            CANCEL_ACTIONS,
            [subject.tenant_id for subject, _ in announced],
            [subject.id for subject, _ in announced],
            list(searched.kinds),
            searched.source,
            [about for _, about in announced],
        )


async def close_all(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId], *, at: datetime) -> None:
    """Close all findings about deleted groups."""
    if subject_ids:
        await tx.execute(CLOSE_ALL, tenant_id, subject_ids, at)


async def find(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """Find a finding."""
    row = await tx.fetch_row(FIND, tenant_id, finding_id)
    return to_finding(row) if row else None


async def lock(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """Find and lock a finding."""
    row = await tx.fetch_row(LOCK, tenant_id, finding_id)
    return to_finding(row) if row else None


async def count_open(tx: Transaction, *, limit: int = MOST_COUNTED) -> Mapping[str, int]:
    """Count open findings by kind in all tenants, up to `limit` each.

    Needs the worker's role.
    """
    return {row["kind"]: row["number"] for row in await tx.fetch(COUNT_OPEN, list(FindingKind), limit)}


def to_finding(row: Record) -> FindingRecord:
    """Read a finding from a row."""
    return FindingRecord(
        id=row["finding_id"],
        kind=FindingKind(row["kind"]),
        state=FindingState(row["state"]),
        subject=to_subject(row),
        property=row["property"],
        wanted=_value(row["wanted"]),
        observed=_value(row["observed"]),
        detail=row["detail"],
        policy_id=None if row["policy_id"] is None else PolicyId(row["policy_id"]),
        action=row["action"],
        action_at=row["action_at"],
        first_seen_at=row["first_seen_at"],
        last_seen_at=row["last_seen_at"],
        about=row["about"],
        acceptance=_acceptance(row),
    )


def to_subject(row: Record) -> FindingSubject | FindingMailbox:
    """Read the subject of a finding from a row."""
    tenant_id, subject_id, name = TenantId(row["tenant_id"]), row["subject_id"], row["subject_name"]
    if row["subject_type"] == "mailbox":
        return FindingMailbox(tenant_id, MailboxId(subject_id), name)
    return FindingSubject(tenant_id, GroupId(subject_id), SubjectType(row["subject_type"]), name)


async def lock_accepted(
    tx: Transaction, places: Collection[Place], searched: FindingSearch
) -> Mapping[Place, frozenset[str]]:
    """Return accepted findings by subject, and lock all of these subjects."""
    tenants, ids = [tenant_id for tenant_id, _ in places], [group_id for _, group_id in places]
    kept: dict[Place, set[str]] = {}
    for row in await tx.fetch(LOCK_ACCEPTED, tenants, ids, list(searched.kinds), searched.source):
        if row["state"] == FindingState.ACCEPTED:
            kept.setdefault((TenantId(row["tenant_id"]), GroupId(row["subject_id"])), set()).add(row["about"])
    return {place: frozenset(abouts) for place, abouts in kept.items()}


async def is_applied(tx: Transaction, record: FindingRecord) -> bool:
    """Return whether a worker is applying the subject's assignment, or will soon."""
    return await tx.fetch_row(IS_APPLIED, record.subject.tenant_id, record.subject.id) is not None


async def save_acceptance(tx: Transaction, record: FindingRecord) -> None:
    """Save the state and acceptance of a locked finding."""
    acceptance = record.acceptance
    values = (
        (None, None, None, None)
        if acceptance is None
        else (acceptance.accepted_at, encode_actor(acceptance.by), acceptance.reason, acceptance.until)
    )
    await tx.execute(SAVE_ACCEPTANCE, record.subject.tenant_id, record.id, record.state, *values)


def _row(finding_id: UUID, found: Finding) -> tuple[object, ...]:
    subject = found.subject
    return (
        finding_id,
        subject.tenant_id,
        found.kind,
        found.source,
        subject.type,
        subject.id,
        subject.display_name,
        found.about,
        found.property,
        _encode(found.wanted).decode(),
        _encode(found.observed).decode(),
        found.detail,
        found.action,
        found.action_at,
        found.policy_id,
        found.request_id,
    )


def _value(text: str | None) -> Json:
    value: Json = None if text is None else _decode(text)
    return value


def _acceptance(row: Record) -> Acceptance | None:
    if row["accepted_at"] is None:
        return None
    return Acceptance(
        by=_decode_actor(row["accepted_by"]),
        reason=row["accepted_reason"],
        accepted_at=row["accepted_at"],
        until=row["accepted_until"],
    )
