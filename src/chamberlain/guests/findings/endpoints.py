"""Endpoints of findings."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Raw, Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import GroupId
from chamberlain.core.values import Json
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.findings.schema import ACCEPTANCE, AcceptanceBody, to_wanted_acceptance
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.models import Acceptance as RecordedAcceptance
from chamberlain.guests.models import (
    FindingFilter,
    FindingKind,
    FindingMailbox,
    FindingRecord,
    FindingState,
    FindingSubject,
)
from chamberlain.http.calls import NO_STORE, Answer
from chamberlain.http.context import Call
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.resource import CACHE
from chamberlain.http.router import About, Endpoint, EndpointTable, Parameter, Success
from chamberlain.http.submission import ACTION, ActionBody, act_of, acted, creating_act_of
from chamberlain.http.wire import Actor, Time, time_of

# What was wanted or observed: whatever the property holds.
Observed = Annotated[Raw, Meta(extra_json_schema={"description": "Any JSON value, or null."})]


class FoundAbout(Struct, rename="camel", frozen=True):
    """The group, site or mailbox that something was found about."""

    type: Literal["group", "site", "mailbox"]
    id: UUID
    display_name: str


class Acceptance(Struct, rename="camel", frozen=True):
    """Who lets a finding stand, and why. `until` of null is for good."""

    by: Actor
    reason: str
    accepted_at: Time
    until: Time | None


class Finding(Struct, rename="camel", frozen=True):
    """Something that is against the rules, or was. Of a guest, `observed` says who it is. `acceptance` is null unless
    somebody has accepted it."""

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


class FindingPage(Struct, rename="camel", frozen=True):
    """Some findings, newest first; `nextCursor` is null on the last page."""

    items: tuple[Finding, ...]
    next_cursor: str | None


async def list_(findings: FindingService, call: Call[None]) -> Answer:
    """List the findings that match the filters."""
    query = call.query
    wanted = FindingFilter(
        state=FindingState(query["state"]) if "state" in query else None,
        kind=FindingKind(query["kind"]) if "kind" in query else None,
        subject_id=GroupId(UUID(query["subjectId"])) if "subjectId" in query else None,
    )
    page = await findings.list(call.caller, wanted, page_wanted(call))
    body = FindingPage(tuple(map(_finding, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def accept(findings: FindingService, call: Call[AcceptanceBody]) -> Answer:
    """Accept a finding."""
    wanted = to_wanted_acceptance(call.body)
    finding_id, act = call.ids["findingId"], creating_act_of(call)
    return acted(await findings.accept(call.caller, finding_id, wanted, act, render=_render))


async def confirm(findings: FindingService, call: Call[ActionBody]) -> Answer:
    """Confirm the guest of a review."""
    return acted(await findings.confirm(call.caller, call.ids["findingId"], act_of(call), _render))


def _render(record: FindingRecord) -> bytes:
    return json.encode(_finding(record))


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
        action_at=None if record.action_at is None else time_of(record.action_at),
        first_seen_at=time_of(record.first_seen_at),
        last_seen_at=time_of(record.last_seen_at),
        acceptance=None if record.acceptance is None else _acceptance(record.acceptance),
    )


def _acceptance(acceptance: RecordedAcceptance) -> Acceptance:
    by = acceptance.by
    return Acceptance(
        by=Actor(by.type, by.id, by.display_name),
        reason=acceptance.reason,
        accepted_at=time_of(acceptance.accepted_at),
        until=None if acceptance.until is None else time_of(acceptance.until),
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


ABOUT_LIST = About(
    id="listFindings",
    tag="Operation",
    summary="List findings, newest first",
    description="Found is what is against the rules of a guest template or policy in a group or site, and what the "
    "directory shows otherwise than it is wanted. "
    "An `open` one stands; it is `gone` when it is true no longer, and `repaired` when that was our doing.",
)
ABOUT_ACCEPT = About(
    id="acceptFinding",
    tag="Operation",
    summary="Accept a finding",
    description="It may stand, for a reason: it is `accepted`, and nothing is told or done about it by the policy that "
    "has found it. At `until`, where that is sent, it is `open` again, unless it has gone before. One that is accepted "
    "may be accepted anew, with another reason and another end.",
    example={"reason": "The project ends in spring.", "until": "2027-03-31T22:00:00Z"},
)
ABOUT_CONFIRM = About(
    id="confirmFinding",
    tag="Operation",
    summary="Confirm a guest in a review",
    description="The guest of a `reviewDue` that is `open` stays: the finding is `gone`, and the days to the next "
    "review are counted from now. Administrators confirm everybody but themselves; owners of the group or site do so "
    "where the policy leaves it to them. The body may be left out.",
    example={"comment": "Still on the project."},
)
FILTERS = (
    Parameter("state", {"type": "string", "enum": list(FindingState)}, "Only findings in this state."),
    Parameter("kind", {"type": "string", "enum": list(FindingKind)}, "Only findings of this kind."),
    Parameter("subjectId", {"type": "string", "format": "uuid"}, "Only findings about this group, site or mailbox."),
    *PARAMETERS,
)
_EXAMPLE = {
    "id": "f1d00000-0000-4000-8000-000000000001",
    "kind": "guestAgainstRule",
    "state": "open",
    "subject": {"type": "group", "id": "94000000-0000-4000-8000-000000000001", "displayName": "All staff"},
    "property": "guests",
    "wanted": None,
    "observed": {
        "id": "9e570000-0000-4000-8000-000000000001",
        "displayName": "Gil Hartmann",
        "mail": "gil@partner.example",
    },
    "detail": "Gil Hartmann is a guest, and guests are not allowed here.",
    "policyId": None,
    "action": None,
    "actionAt": None,
    "firstSeenAt": "2026-11-20T09:30:01.000Z",
    "lastSeenAt": "2026-11-20T09:30:01.000Z",
    "acceptance": None,
}
_ACCEPTED = {
    **_EXAMPLE,
    "state": "accepted",
    "acceptance": {
        "by": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
        "reason": "The project ends in spring.",
        "acceptedAt": "2026-11-20T09:45:00.000Z",
        "until": "2027-03-31T22:00:00.000Z",
    },
}
LISTED = (
    Success(
        200,
        "A page of findings.",
        FindingPage,
        headers=CACHE,
        example={"items": [_EXAMPLE], "nextCursor": None},
    ),
)
ACCEPTED = (
    Success(
        200,
        "The finding, which is accepted.",
        Finding,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
        },
        example=_ACCEPTED,
    ),
)
CONFIRMED = (
    Success(
        200,
        "The finding, which is gone.",
        Finding,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
        },
        example={**_EXAMPLE, "kind": "reviewDue", "state": "gone", "action": "disable"},
    ),
)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
CONFIRM_CODES = (
    "notAdministrator", "selfApproval", "notFound", "stateDoesNotAllow", "idempotencyKeyReused",
    "idempotencyKeyInProgress", "databaseUnavailable", "overloaded",
)  # fmt: skip
ACCEPT_CODES = (
    "notAdministrator", "notFound", "stateDoesNotAllow", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip

# fmt: off
ENDPOINTS = EndpointTable(FindingService, (
    Endpoint("GET", "/admin/v1/findings/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST,
             LISTED, parameters=FILTERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/v1/findings/{findingId}/accept/", accept, Operation.ADMINISTER_SERVICE,
             ABOUT_ACCEPT, ACCEPTED, shape=ACCEPTANCE, codes=ACCEPT_CODES),
    Endpoint("POST", "/admin/v1/findings/{findingId}/confirm/", confirm, Operation.CONFIRM_FINDING,
             ABOUT_CONFIRM, CONFIRMED, shape=ACTION, codes=CONFIRM_CODES,
             body_is_optional=True),
))
# fmt: on
