"""Findings: kept while they are true, and afterwards as what they have become. Newest first."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.rules.callers import Actor
from chamberlain.rules.changes import Json
from chamberlain.rules.findings import (
    Acceptance,
    Ended,
    FindingFilter,
    FindingKind,
    FindingRecord,
    FindingSource,
    FindingState,
    FindingSubject,
    Found,
    FoundMailbox,
)
from chamberlain.rules.ids import GroupId, MailboxId, PolicyId, TenantId
from chamberlain.rules.pages import Page, PageWanted, Position
from chamberlain.rules.subjects import SubjectType
from chamberlain.store.database import Record, Transaction
from chamberlain.store.request_lists import PLANNING

# What was found before and stands is seen again: with the time, and as it is now. What somebody has accepted stays so
# as long as it stands.
SEE: Final = """
INSERT INTO chamberlain.finding AS f (
    finding_id, tenant_id, kind, state, source, subject_type, subject_id, subject_name, about, property, wanted,
    observed, detail, action, action_at, policy_id, first_seen_at, last_seen_at
)
SELECT finding_id, tenant_id, kind, 'open', source, subject_type, subject_id, subject_name, about, property,
    wanted::json, observed::json, detail, action, action_at, policy_id, $16, $16
FROM unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::uuid[]
) AS o (
    finding_id, tenant_id, kind, source, subject_type, subject_id, subject_name, about, property, wanted, observed,
    detail, action, action_at, policy_id
)
ORDER BY tenant_id, subject_id, kind, about
ON CONFLICT (tenant_id, subject_id, kind, about) WHERE state IN ('open', 'accepted') DO UPDATE SET
    subject_name = excluded.subject_name, property = excluded.property, wanted = excluded.wanted,
    observed = excluded.observed, detail = excluded.detail, action = excluded.action,
    action_at = excluded.action_at, policy_id = excluded.policy_id, last_seen_at = excluded.last_seen_at
"""

# What one source had found about these subjects and does not find any more: by what we did, or by itself.
SETTLE: Final = """
UPDATE chamberlain.finding f SET
    state = CASE WHEN f.action IS NULL THEN 'gone' ELSE 'repaired' END, last_seen_at = $8
FROM unnest($1::uuid[], $2::uuid[]) AS s (tenant_id, subject_id)
WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.kind = $3 AND f.source = $4
AND f.state IN ('open', 'accepted') AND NOT EXISTS (
    SELECT FROM unnest($5::uuid[], $6::uuid[], $7::text[]) AS o (tenant_id, subject_id, about)
    WHERE o.tenant_id = f.tenant_id AND o.subject_id = f.subject_id AND o.about = f.about
)
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
WHERE f.tenant_id = s.tenant_id AND f.subject_id = s.subject_id AND f.kind = $3 AND f.source = $4
AND f.state IN ('open', 'accepted') AND f.action IS NOT NULL AND (s.about IS NULL OR f.about = s.about)
"""

LEAVE: Final = """
UPDATE chamberlain.finding SET state = 'gone', last_seen_at = $3
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND state IN ('open', 'accepted')
"""

# $1 tenant, $2 and $3 the position (null at the beginning), $4 states, $5 kinds, $6 subject, $7 number of rows. The
# newest of each state and kind, and of these the newest.
_SELECT: Final = """
SELECT r.finding_id, r.tenant_id, r.kind, r.state, r.subject_type, r.subject_id, r.subject_name, r.property, r.wanted,
    r.observed, r.detail, r.policy_id, r.action, r.action_at, r.first_seen_at, r.last_seen_at, r.about, r.accepted_at,
    r.accepted_by, r.accepted_reason, r.accepted_until
"""
FIND: Final = f"{_SELECT} FROM chamberlain.finding r WHERE r.tenant_id = $1 AND r.finding_id = $2"
HOLD: Final = f"{FIND} FOR NO KEY UPDATE"

# How many are open, of each kind, in all tenants.
COUNT_OPEN: Final = "SELECT kind, count(*) AS number FROM chamberlain.finding WHERE state = 'open' GROUP BY kind"


def _page_where(condition: str) -> str:
    return f"""{_SELECT} FROM unnest($4::text[]) AS s (state) CROSS JOIN unnest($5::text[]) AS k (kind)
    CROSS JOIN LATERAL (
        {_SELECT} FROM chamberlain.finding r
        WHERE r.tenant_id = $1 AND r.state = s.state AND r.kind = k.kind AND {condition}
        AND ($2::timestamptz IS NULL OR (r.first_seen_at, r.finding_id) < ($2, $3::uuid))
        ORDER BY r.first_seen_at DESC, r.finding_id DESC LIMIT $7
    ) r ORDER BY r.first_seen_at DESC, r.finding_id DESC LIMIT $7"""


PAGE: Final = _page_where("$6::uuid IS NULL")
PAGE_OF_SUBJECT: Final = _page_where("r.subject_id = $6")

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
    subjects: Sequence[FindingSubject],
    kind: FindingKind,
    source: FindingSource,
    *,
    found: Collection[Found],
    at: datetime,
) -> None:
    """Let go what one source does not find about these any more. What was about to be mended is repaired then."""
    if subjects:
        await tx.execute(
            SETTLE,
            [each.tenant_id for each in subjects],
            [each.id for each in subjects],
            kind,
            source,
            [each.subject.tenant_id for each in found],
            [each.subject.id for each in found],
            [each.about for each in found],
            at,
        )


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
    tx: Transaction,
    announced: Collection[tuple[FindingSubject, str | None]],
    kind: FindingKind,
    source: FindingSource,
) -> None:
    """What was about to be done did not come about: of each subject about one thing, or about all of it (None)."""
    if announced:
        await tx.execute(
            CALL_OFF,
            [subject.tenant_id for subject, _ in announced],
            [subject.id for subject, _ in announced],
            kind,
            source,
            [about for _, about in announced],
        )


async def leave(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId], *, at: datetime) -> None:
    """Nothing is true any more about groups that are not there any more."""
    if subject_ids:
        await tx.execute(LEAVE, tenant_id, subject_ids, at)


async def find(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """One finding."""
    row = await tx.fetch_row(FIND, tenant_id, finding_id)
    return _record(row) if row else None


async def hold(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """One finding, which stays as it is until the transaction ends."""
    row = await tx.fetch_row(HOLD, tenant_id, finding_id)
    return _record(row) if row else None


async def count_open(tx: Transaction) -> Mapping[str, int]:
    """How many findings of each kind are open, in all tenants; as the worker's role."""
    return {row["kind"]: row["number"] for row in await tx.fetch(COUNT_OPEN)}


async def find_page(
    tx: Transaction, tenant_id: TenantId, wanted: FindingFilter, page: PageWanted
) -> Page[FindingRecord]:
    """A page of the findings that the filter names."""
    await tx.execute(PLANNING)
    statement, values = page_statement(tenant_id, wanted, page)
    rows = await tx.fetch(statement, *values)
    records = [_record(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return Page(records, None)
    return Page(records, Position(records[-1].first_seen_at, records[-1].id))


def page_statement(tenant_id: TenantId, wanted: FindingFilter, page: PageWanted) -> tuple[str, tuple[object, ...]]:
    """The statement that reads a page and one row more, with its values."""
    after = page.after
    place = (None, None) if after is None else (after.created_at, after.id)
    states = list(FindingState) if wanted.state is None else [wanted.state]
    kinds = list(FindingKind) if wanted.kind is None else [wanted.kind]
    statement = PAGE if wanted.subject_id is None else PAGE_OF_SUBJECT
    return statement, (tenant_id, *place, states, kinds, wanted.subject_id, page.limit + 1)


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
    )


def _json(value: Json) -> str:
    return _encode(value).decode()


def _record(row: Record) -> FindingRecord:
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
