# SPDX-License-Identifier: Apache-2.0
"""SQL of findings: save, close, lock, accept and ignore them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.auth.models import Actor
from chamberlain.changes.records import encode_actor
from chamberlain.core.ids import GroupId, MailboxId, PolicyId, RequestId, TenantId
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
from chamberlain.queries import load_queries
from chamberlain.queue.models import MOST_COUNTED

SQL = load_queries(__name__)
SELECT: Final = SQL["select"]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_actor = msgspec.json.Decoder(Actor).decode


async def save(tx: Transaction, found: Sequence[tuple[UUID, Finding]], *, at: datetime) -> None:
    """Save findings.

    Each has an id in case it is new. A duplicate raises an error.
    """
    if found:
        columns = zip(*[_row(finding_id, each) for finding_id, each in found], strict=True)
        await tx.execute(SQL["save"], *map(list, columns), at)


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
        SQL["close_missing"],
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
            SQL["close"],
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
            SQL["cancel_actions"],
            [subject.tenant_id for subject, _ in announced],
            [subject.id for subject, _ in announced],
            list(searched.kinds),
            searched.source,
            [about for _, about in announced],
        )


async def close_all(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId], *, at: datetime) -> None:
    """Close all findings about deleted groups."""
    if subject_ids:
        await tx.execute(SQL["close_all"], tenant_id, subject_ids, at)


async def opened_since(
    tx: Transaction, tenant_id: TenantId, kinds: Collection[FindingKind], since: datetime | None, *, limit: int
) -> tuple[Sequence[FindingRecord], int]:
    """Read the open findings that were opened after a time.

    Returns the first ones by subject, and their whole number.
    """
    rows = await tx.fetch(SQL["opened_since"], tenant_id, list(kinds), since, limit)
    return [to_finding(row) for row in rows], rows[0]["number"] if rows else 0


async def find(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """Find a finding."""
    row = await tx.fetch_row(SQL["find"], tenant_id, finding_id)
    return to_finding(row) if row else None


async def lock(tx: Transaction, tenant_id: TenantId, finding_id: UUID) -> FindingRecord | None:
    """Find and lock a finding."""
    row = await tx.fetch_row(SQL["lock"], tenant_id, finding_id)
    return to_finding(row) if row else None


async def count_open(tx: Transaction, *, limit: int = MOST_COUNTED) -> Mapping[str, int]:
    """Count open findings by kind in all tenants, up to `limit` each.

    Needs the worker's role.
    """
    return {row["kind"]: row["number"] for row in await tx.fetch(SQL["count_open"], list(FindingKind), limit)}


def to_finding(row: Record) -> FindingRecord:
    """Read a finding from a row."""
    return FindingRecord(
        id=row["finding_id"],
        kind=FindingKind(row["kind"]),
        state=_state(row),
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
        repair_request_id=None if row["repair_request_id"] is None else RequestId(row["repair_request_id"]),
        request_id=None if row["request_id"] is None else RequestId(row["request_id"]),
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
    for row in await tx.fetch(SQL["lock_accepted"], tenants, ids, list(searched.kinds), searched.source):
        if row["state"] == FindingState.ACCEPTED:
            kept.setdefault((TenantId(row["tenant_id"]), GroupId(row["subject_id"])), set()).add(row["about"])
    return {place: frozenset(abouts) for place, abouts in kept.items()}


async def find_current(tx: Transaction, tenant_id: TenantId, subject_id: GroupId) -> Mapping[FindingKey, FindingState]:
    """Read the open and accepted findings about a group or site."""
    return {
        FindingKey(tenant_id, subject_id, FindingKind(row["kind"]), row["about"]): FindingState(row["state"])
        for row in await tx.fetch(SQL["current"], tenant_id, subject_id)
    }


async def is_applied(tx: Transaction, record: FindingRecord) -> bool:
    """Return whether a worker is applying the subject's assignment, or will soon."""
    return await tx.fetch_row(SQL["is_applied"], record.subject.tenant_id, record.subject.id) is not None


async def name_editor(tx: Transaction, actor: Actor) -> None:
    """Name the user who closes findings in this transaction, for their events."""
    await tx.execute(SQL["name_editor"], encode_actor(actor))


async def save_acceptance(tx: Transaction, record: FindingRecord) -> None:
    """Save the state and acceptance of a locked finding."""
    acceptance = record.acceptance
    values = (
        (None, None, None, None)
        if acceptance is None
        else (acceptance.accepted_at, encode_actor(acceptance.by), acceptance.reason, acceptance.until)
    )
    is_ignored = record.state is FindingState.IGNORED
    state = FindingState.ACCEPTED if is_ignored else record.state
    ignored = encode_observed(record.observed) if is_ignored else None
    await tx.execute(SQL["save_acceptance"], record.subject.tenant_id, record.id, state, *values, ignored)


def encode_observed(observed: Json) -> str:
    """Encode an observed value as it is stored.

    Equal values have equal texts.
    """
    return _encode(observed).decode()


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
        encode_observed(found.observed),
        found.detail,
        found.action,
        found.action_at,
        found.policy_id,
        found.request_id,
    )


def _state(row: Record) -> FindingState:
    """Read the state.

    An ignored finding is stored as accepted, with the ignored value.
    """
    state = FindingState(row["state"])
    return FindingState.IGNORED if state is FindingState.ACCEPTED and row["ignored_observed"] is not None else state


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
