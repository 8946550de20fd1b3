"""Findings: kept while they are true, and afterwards as what they have become."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.auth.models import Actor
from chamberlain.changes.record import encode_actor
from chamberlain.core.ids import GroupId, MailboxId, PolicyId, TenantId
from chamberlain.core.values import Json
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import (
    Acceptance,
    Ended,
    FindingKind,
    FindingRecord,
    FindingState,
    FindingSubject,
    Found,
    FoundMailbox,
    Place,
    Searched,
    Settled,
    Standpoint,
)
from chamberlain.queue.models import MOST_COUNTED

# What was found before and stands is seen again: with the time, and as it is now. What somebody has accepted stays so
# as long as it stands.
SEE: Final = """
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

# What one source had found about these subjects and does not find any more: by what we did, or by itself. Where it is
# said what we did ($11, $12), nothing else is repaired.
SETTLE: Final = """
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

# What its source says has come to an end.
END: Final = """
UPDATE chamberlain.finding f SET state = e.state, last_seen_at = $6
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS e (tenant_id, subject_id, kind, about, state)
WHERE f.tenant_id = e.tenant_id AND f.subject_id = e.subject_id AND f.kind = e.kind AND f.about = e.about
AND f.state IN ('open', 'accepted')
"""

# What was announced about these and did not come about.
CALL_OFF: Final = """
UPDATE chamberlain.finding f SET action = NULL
FROM unnest($1::uuid[], $2::uuid[], $5::text[]) AS s (tenant_id, subject_id, about)
WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.kind = ANY ($3) AND f.source = $4
AND f.state IN ('open', 'accepted') AND f.action IS NOT NULL AND (s.about IS NULL OR f.about = s.about)
"""

LEAVE: Final = """
UPDATE chamberlain.finding SET state = 'gone', last_seen_at = $3
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state IN ('open', 'accepted')
"""

SELECT: Final = """
SELECT r.finding_id, r.tenant_id, r.kind, r.state, r.subject_type, r.subject_id, r.subject_name, r.property, r.wanted,
    r.observed, r.detail, r.policy_id, r.action, r.action_at, r.first_seen_at, r.last_seen_at, r.about, r.accepted_at,
    r.accepted_by, r.accepted_reason, r.accepted_until
"""
FIND: Final = f"{SELECT} FROM chamberlain.finding r WHERE r.tenant_id = $1 AND r.finding_id = $2"
HOLD: Final = f"{FIND} FOR NO KEY UPDATE"

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


async def keep(tx: Transaction, found: Sequence[tuple[UUID, Found]], *, at: datetime) -> None:
    """Keep what was found, each with the id that it gets when it is new. Nothing may be there twice."""
    if found:
        columns = zip(*[_row(finding_id, each) for finding_id, each in found], strict=True)
        await tx.execute(SEE, *map(list, columns), at)


async def settle(
    tx: Transaction,
    subjects: Collection[tuple[TenantId, UUID]],
    searched: Searched,
    *,
    standing: Collection[Standpoint],
    at: datetime,
    mended: Collection[tuple[UUID, str]] | None = None,
) -> Sequence[Settled]:
    """Let go what was looked for about these and is not found any more, and give it. What was about to be mended is
    repaired then: all of it, or where they are named, what was mended about these subjects and things alone."""
    if not subjects:
        return ()
    rows = await tx.fetch(
        SETTLE,
        [tenant_id for tenant_id, _ in subjects],
        [subject_id for _, subject_id in subjects],
        searched.source,
        list(searched.kinds),
        None if searched.abouts is None else list(searched.abouts),
        [each.tenant_id for each in standing],
        [each.subject_id for each in standing],
        [each.kind for each in standing],
        [each.about for each in standing],
        at,
        None if mended is None else [subject_id for subject_id, _ in mended],
        None if mended is None else [about for _, about in mended],
    )
    return [_settled(row) for row in rows]


async def end(tx: Transaction, ended: Sequence[Ended], *, at: datetime) -> None:
    """Let go what is not true any more, be it repaired or gone by itself."""
    if ended:
        await tx.execute(
            END,
            [each.subject.tenant_id for each in ended],
            [each.subject.id for each in ended],
            [each.kind for each in ended],
            [each.about for each in ended],
            [each.state for each in ended],
            at,
        )


async def call_off(
    tx: Transaction, announced: Collection[tuple[FindingSubject, str | None]], searched: Searched
) -> None:
    """What was about to be done did not come about: of each subject about one thing, or about all of it (None)."""
    if announced:
        await tx.execute(
            CALL_OFF,
            [subject.tenant_id for subject, _ in announced],
            [subject.id for subject, _ in announced],
            list(searched.kinds),
            searched.source,
            [about for _, about in announced],
        )


async def leave(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId], *, at: datetime) -> None:
    """Nothing is true any more about groups that are not there any more."""
    if subject_ids:
        await tx.execute(LEAVE, tenant_id, subject_ids, at)


async def find(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """One finding."""
    row = await tx.fetch_row(FIND, tenant_id, finding_id)
    return record_of(row) if row else None


async def hold(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """One finding, which stays as it is until the transaction ends."""
    row = await tx.fetch_row(HOLD, tenant_id, finding_id)
    return record_of(row) if row else None


async def count_open(tx: Transaction, *, most: int = MOST_COUNTED) -> Mapping[str, int]:
    """How many findings of each kind are open, in all tenants; as the worker's role. No more than `most` of one kind
    are counted."""
    return {row["kind"]: row["number"] for row in await tx.fetch(COUNT_OPEN, list(FindingKind), most)}


def _row(finding_id: UUID, found: Found) -> tuple[object, ...]:
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
        _json(found.wanted),
        _json(found.observed),
        found.detail,
        found.action,
        found.action_at,
        found.policy_id,
        found.request_id,
    )


def _settled(row: Record) -> Settled:
    state = FindingState(row["state"])
    return Settled(subject_of(row), row["about"], state, _value(row["wanted"]), _value(row["observed"]))


def _json(value: Json) -> str:
    return _encode(value).decode()


def record_of(row: Record) -> FindingRecord:
    """The finding of a row."""
    return FindingRecord(
        id=row["finding_id"],
        kind=FindingKind(row["kind"]),
        state=FindingState(row["state"]),
        subject=subject_of(row),
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


def _acceptance(row: Record) -> Acceptance | None:
    if row["accepted_at"] is None:
        return None
    return Acceptance(
        by=_decode_actor(row["accepted_by"]),
        reason=row["accepted_reason"],
        accepted_at=row["accepted_at"],
        until=row["accepted_until"],
    )


def subject_of(row: Record) -> FindingSubject | FoundMailbox:
    """What the finding of a row is about."""
    tenant_id, subject_id, name = TenantId(row["tenant_id"]), row["subject_id"], row["subject_name"]
    if row["subject_type"] == "mailbox":
        return FoundMailbox(tenant_id, MailboxId(subject_id), name)
    return FindingSubject(tenant_id, GroupId(subject_id), SubjectType(row["subject_type"]), name)


def _value(text: str | None) -> Json:
    value: Json = None if text is None else _decode(text)
    return value


PUT: Final = """
UPDATE chamberlain.finding SET state = $3, accepted_at = $4, accepted_by = $5, accepted_reason = $6, accepted_until = $7
WHERE tenant_id = $1 AND finding_id = $2
"""

# Whoever accepts one of these waits until the transaction ends, and then meets what it has written of them.
HOLD_ACCEPTED: Final = """
SELECT f.tenant_id, f.subject_id, f.about, f.state FROM chamberlain.finding f
JOIN unnest($1::uuid[], $2::uuid[]) AS s (tenant_id, subject_id)
    ON f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id
WHERE f.kind = ANY ($3) AND f.source = $4 AND f.state IN ('open', 'accepted')
ORDER BY f.tenant_id, f.subject_id, f.kind, f.about FOR NO KEY UPDATE OF f
"""
# Whether a worker is just bringing about what is assigned where something was found, or will at once: also an earlier
# request that is taken up again brings about what the newest one says, while that one is still queued.
IS_APPLIED: Final = """
SELECT FROM chamberlain.subject s
JOIN chamberlain.request r ON r.tenant_id = s.tenant_id AND r.request_id = s.assignment_request_id
WHERE s.tenant_id = $1 AND s.subject_id = $2 AND r.state IN ('queued', 'running')
"""


async def hold_accepted(
    tx: Transaction, places: Collection[Place], searched: Searched
) -> Mapping[Place, frozenset[str]]:
    """What was found about these groups and sites and somebody lets stand, by what it is about. It stays so until the
    transaction ends."""
    tenants, ids = [tenant_id for tenant_id, _ in places], [group_id for _, group_id in places]
    kept: dict[Place, set[str]] = {}
    for row in await tx.fetch(HOLD_ACCEPTED, tenants, ids, list(searched.kinds), searched.source):
        if row["state"] == FindingState.ACCEPTED:
            kept.setdefault((TenantId(row["tenant_id"]), GroupId(row["subject_id"])), set()).add(row["about"])
    return {place: frozenset(abouts) for place, abouts in kept.items()}


async def is_applied(tx: Transaction, record: FindingRecord) -> bool:
    """Whether a worker is just bringing about what is assigned to the group or site of a finding, or will at once."""
    return await tx.fetch_row(IS_APPLIED, record.subject.tenant_id, record.subject.id) is not None


async def put(tx: Transaction, record: FindingRecord) -> None:
    """Keep state and acceptance of a finding that is held."""
    values = _values(record.acceptance)
    await tx.execute(PUT, record.subject.tenant_id, record.id, record.state, *values)


def _values(acceptance: Acceptance | None) -> tuple[object, ...]:
    if acceptance is None:
        return None, None, None, None
    return acceptance.accepted_at, encode_actor(acceptance.by), acceptance.reason, acceptance.until
