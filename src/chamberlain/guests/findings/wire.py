# SPDX-License-Identifier: Apache-2.0
"""API models of findings."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Raw, Struct, json

from chamberlain.changes.models import format_time
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import Shape, name
from chamberlain.core.time import Moment, read_moment
from chamberlain.core.validation import Reader
from chamberlain.core.values import Json
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.findings.rules import AcceptanceRequest
from chamberlain.guests.models import Acceptance as RecordedAcceptance
from chamberlain.guests.models import (
    FindingKind,
    FindingMailbox,
    FindingRecord,
    FindingState,
    FindingSubject,
)
from chamberlain.http.wire import Actor, Time


class AcceptanceBody(Shape, frozen=True, kw_only=True):
    """The reason of an acceptance, and its end.

    Without `until` it has none.
    """

    reason: Annotated[str, name(1024)]
    until: Moment | None = None


ACCEPTANCE = Reader(AcceptanceBody)
# Any value of a property.
Observed = Annotated[Raw, Meta(extra_json_schema={"description": "Any JSON value, or null."})]


class FoundAbout(Struct, rename="camel", frozen=True):
    """The group, site or mailbox that something was found about."""

    type: Literal["group", "site", "mailbox"]
    id: UUID
    display_name: str


class Acceptance(Struct, rename="camel", frozen=True):
    """The acceptance of a finding, or the decision to ignore it.

    `until` is null if it has no end.
    """

    by: Actor
    reason: str
    accepted_at: Time
    until: Time | None


class Finding(Struct, rename="camel", frozen=True):
    """A violation of a rule, or drift.

    For a guest, `observed` identifies the guest. `acceptance` is null unless the finding is accepted or ignored.
    `repairRequestId` is the last request that repairs it, if any.
    """

    id: UUID
    kind: FindingKind
    state: FindingState
    subject: FoundAbout
    property: str | None
    wanted: Observed
    observed: Observed
    detail: str
    policy_id: UUID | None
    action: str | None
    action_at: Time | None
    first_seen_at: Time
    last_seen_at: Time
    acceptance: Acceptance | None
    repair_request_id: UUID | None


class FindingPage(Struct, rename="camel", frozen=True):
    """Some findings, newest first; `nextCursor` is null on the last page."""

    items: tuple[Finding, ...]
    next_cursor: str | None


def to_acceptance_request(body: AcceptanceBody) -> AcceptanceRequest:
    """Convert a body. Raises BodyInvalid for an invalid date."""
    until = None if body.until is None else read_moment(body.until, "until")
    if isinstance(until, Fault):
        raise BodyInvalid((until,))
    return AcceptanceRequest(body.reason, until)


def _finding(record: FindingRecord) -> Finding:
    subject = record.subject
    return Finding(
        id=record.id,
        kind=record.kind,
        state=record.state,
        subject=FoundAbout(_type_of(subject), subject.id, subject.display_name),
        property=record.property,
        wanted=_raw(record.wanted),
        observed=_raw(record.observed),
        detail=record.detail,
        policy_id=record.policy_id,
        action=record.action,
        action_at=None if record.action_at is None else format_time(record.action_at),
        first_seen_at=format_time(record.first_seen_at),
        last_seen_at=format_time(record.last_seen_at),
        acceptance=None if record.acceptance is None else _acceptance(record.acceptance),
        repair_request_id=record.repair_request_id,
    )


def _acceptance(acceptance: RecordedAcceptance) -> Acceptance:
    by = acceptance.by
    return Acceptance(
        by=Actor(by.type, by.id, by.display_name),
        reason=acceptance.reason,
        accepted_at=format_time(acceptance.accepted_at),
        until=None if acceptance.until is None else format_time(acceptance.until),
    )


def _type_of(subject: FindingSubject | FindingMailbox) -> Literal["group", "site", "mailbox"]:
    match subject.type:
        case SubjectType.GROUP:
            return "group"
        case SubjectType.SITE:
            return "site"
        case "mailbox":
            return "mailbox"


def _raw(value: Json) -> Raw:
    return Raw(json.encode(value))
