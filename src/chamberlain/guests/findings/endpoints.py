# SPDX-License-Identifier: Apache-2.0
"""Endpoints of findings."""

from uuid import UUID

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import GroupId
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.findings.wire import (
    ACCEPTANCE,
    AcceptanceBody,
    Finding,
    FindingPage,
    _finding,
    to_acceptance_request,
)
from chamberlain.guests.models import (
    FindingFilter,
    FindingKind,
    FindingRecord,
    FindingState,
)
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import ACTION, ActionBody, Call, Parameter, act_of, creating_act_of
from chamberlain.http.resource import CACHE, acted
from chamberlain.http.responses import NO_STORE, Answer


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
    wanted = to_acceptance_request(call.body)
    finding_id, act = call.ids["findingId"], creating_act_of(call)
    return acted(await findings.accept(call.caller, finding_id, wanted, act, render=_render))


async def ignore(findings: FindingService, call: Call[ActionBody]) -> Answer:
    """Ignore a finding until its observed value changes."""
    return acted(await findings.ignore(call.caller, call.ids["findingId"], act_of(call), _render))


async def confirm(findings: FindingService, call: Call[ActionBody]) -> Answer:
    """Confirm the guest of a review."""
    return acted(await findings.confirm(call.caller, call.ids["findingId"], act_of(call), _render))


def _render(record: FindingRecord) -> bytes:
    return json.encode(_finding(record))


ABOUT_LIST = About(
    id="listFindings",
    tag="Operation",
    summary="List findings, newest first",
    description="Findings are violations of guest templates and policies in groups and sites, and drift of the "
    "directory. An `open` one is still true. It is `gone` once it is no longer true, and `repaired` if the service "
    "repaired it. `accepted` ones stay for a reason, and `ignored` ones until their observed value changes.",
)
ABOUT_ACCEPT = About(
    id="acceptFinding",
    tag="Operation",
    summary="Accept a finding",
    description="The finding becomes `accepted`, with a reason, and its policy takes no action and sends no notice "
    "about it. At `until`, if sent, it is `open` again, unless it is gone by then. An accepted finding can be "
    "accepted again with another reason and end.",
    example={"reason": "The project ends in spring.", "until": "2027-03-31T22:00:00Z"},
)
ABOUT_IGNORE = About(
    id="ignoreFinding",
    tag="Operation",
    summary="Ignore a finding",
    description="The finding becomes `ignored`, and the same value of the same property is not reported again. With "
    "another value in the directory the finding is `open` again. An acceptance, in contrast, covers every value of the "
    "property, and may have an end. Only findings of kinds `drift` and `repairDoesNotHold` can be ignored. The body "
    "may be left out; its comment is the reason.",
    example={"comment": "The other spelling is fine."},
)
ABOUT_CONFIRM = About(
    id="confirmFinding",
    tag="Operation",
    summary="Confirm a guest in a review",
    description="The guest of an `open` finding of kind `reviewDue` stays. The finding is `gone`, and the next "
    "review counts from now. Administrators can confirm all guests but themselves. Owners of the group or site can "
    "if the policy says so. The body may be left out.",
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
    "repairRequestId": None,
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
        "The accepted finding.",
        Finding,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` if this is the answer to an earlier call with the same key.",
        },
        example=_ACCEPTED,
    ),
)
IGNORED = (
    Success(
        200,
        "The ignored finding.",
        Finding,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` if this is the answer to an earlier call with the same key.",
        },
        example={
            **_EXAMPLE,
            "kind": "drift",
            "state": "ignored",
            "property": "displayName",
            "wanted": "All staff",
            "observed": "All Staff",
            "detail": 'The display name: wanted is "All staff", and the directory shows "All Staff".',
            "acceptance": {
                "by": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
                "reason": "The other spelling is fine.",
                "acceptedAt": "2026-11-20T09:45:00.000Z",
                "until": None,
            },
        },
    ),
)
CONFIRMED = (
    Success(
        200,
        "The finding, now gone.",
        Finding,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` if this is the answer to an earlier call with the same key.",
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
    Endpoint("POST", "/admin/v1/findings/{findingId}/ignore/", ignore, Operation.ADMINISTER_SERVICE,
             ABOUT_IGNORE, IGNORED, shape=ACTION, codes=ACCEPT_CODES, body_is_optional=True),
    Endpoint("POST", "/admin/v1/findings/{findingId}/confirm/", confirm, Operation.CONFIRM_FINDING,
             ABOUT_CONFIRM, CONFIRMED, shape=ACTION, codes=CONFIRM_CODES,
             body_is_optional=True),
))
# fmt: on
