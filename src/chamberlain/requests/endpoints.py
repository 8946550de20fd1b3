# SPDX-License-Identifier: Apache-2.0
"""Endpoints of requests: list, read, decide, cancel and retry."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing

from msgspec import Struct, json

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Malformed
from chamberlain.core.ids import RequestId
from chamberlain.core.time import read_time
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import ACTION, ActionBody, Call, Parameter, act_of, creating_act_of
from chamberlain.http.resource import CACHE, acted
from chamberlain.http.responses import NO_STORE, Answer, Stream
from chamberlain.requests.models import (
    ApprovalRecord,
    RequestFilter,
    RequestKind,
    RequestRecord,
    RequestState,
    StepRecord,
)
from chamberlain.requests.rules import OUTCOMES, Action, RequestView
from chamberlain.requests.schema import APPROVERS, REPLY, ApproversBody, ReplyBody, to_mail, to_naming
from chamberlain.requests.service import RequestService
from chamberlain.requests.steps import EntryKind, Happening, Happenings
from chamberlain.requests.wire import (
    Approval,
    ReplyDecision,
    Request,
    RequestStep,
    RequestSummary,
    approval_of,
    request_of,
    step_of,
    summary_of,
)


class RequestPage(Struct, rename="camel", frozen=True):
    """Some requests, newest first; `nextCursor` is null on the last page."""

    items: tuple[RequestSummary, ...]
    next_cursor: str | None


async def list_(requests: RequestService, call: Call[None]) -> Answer:
    """List the visible requests that match the filters."""
    query = call.query
    wanted = RequestFilter(
        state=RequestState(query["state"]) if "state" in query else None,
        kind=RequestKind(query["kind"]) if "kind" in query else None,
        mine=query.get("mine") == "true",
        to_decide=query.get("toDecide") == "true",
        prefix=query.get("q"),
        since=read_time(query["from"]) if "from" in query else None,
        until=read_time(query["to"]) if "to" in query else None,
    )
    page = await requests.list(call.caller, wanted, page_wanted(call))
    body = RequestPage(tuple(map(summary_of, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def read(requests: RequestService, call: Call[None]) -> Answer:
    """Read a request with its steps."""
    view = await requests.read(call.caller, RequestId(call.ids["requestId"]))
    return Answer(200, json.encode(request_of(view)), (NO_STORE,))


async def approve(requests: RequestService, call: Call[ActionBody]) -> Answer:
    """Approve a request."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await requests.approve(call.caller, request_id, act_of(call), _render))


async def reject(requests: RequestService, call: Call[ActionBody]) -> Answer:
    """Reject a request."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await requests.reject(call.caller, request_id, act_of(call), _render))


async def name_approvers(requests: RequestService, call: Call[ApproversBody]) -> Answer:
    """Name the approvers of a blocked request."""
    request_id, naming = RequestId(call.ids["requestId"]), to_naming(call.body)
    act = creating_act_of(call)
    return acted(await requests.name_approvers(call.caller, request_id, naming, act, render=_render))


async def cancel(requests: RequestService, call: Call[ActionBody]) -> Answer:
    """Cancel an unfinished request."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await requests.cancel(call.caller, request_id, act_of(call), _render))


async def retry(requests: RequestService, call: Call[ActionBody]) -> Answer:
    """Queue a failed request again."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await requests.retry(call.caller, request_id, act_of(call), _render))


async def reply(requests: RequestService, call: Call[ReplyBody]) -> Answer:
    """Decide by a reply to an approval mail."""
    return acted(await requests.reply(call.caller, to_mail(call.body), creating_act_of(call), _render_reply))


def _render_reply(action: Action, after: RequestRecord) -> bytes:
    return json.encode(ReplyDecision(after.request_id, OUTCOMES[action], after.state))


def _render(view: RequestView) -> bytes:
    return json.encode(request_of(view))


ABOUT_LIST = About(
    id="listRequests",
    tag="Requests",
    summary="List requests, newest first",
    description="Users and applications see their own requests, and administrators all requests of the tenant. With "
    "`toDecide`, users see the requests that wait for their decision. The list has no bodies, steps and approvals.",
)
_TIME = {"type": "string", "format": "date-time"}
FILTERS = (
    Parameter("state", {"type": "string", "enum": list(RequestState)}, "Only requests in this state."),
    Parameter("kind", {"type": "string", "enum": list(RequestKind)}, "Only requests of this kind."),
    Parameter("mine", {"type": "boolean"}, "`true`: only your own, for administrators too."),
    Parameter("toDecide", {"type": "boolean"}, "`true`: only those that wait for your decision."),
    Parameter(
        "q",
        {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
        "Only requests whose name or mail address begins with this, in any letter case.",
    ),
    Parameter("from", _TIME, "Only requests that were accepted at this time or later."),
    Parameter("to", _TIME, "Only requests that were accepted before this time."),
    *PARAMETERS,
)
ABOUT_APPROVE = About(
    id="approveRequest",
    tag="Requests",
    summary="Approve a request",
    description="For approvers of the open level, but not for the requester. After the last level, the request is "
    "queued; before, the next level opens. A decision is final. The body is optional.",
    example={"comment": "For the board alone."},
)
ABOUT_REJECT = About(
    id="rejectRequest",
    tag="Requests",
    summary="Reject a request",
    description="As approving. One rejection at any level ends the request, and frees its name and mail address.",
    example={"comment": "There is such a team already."},
)
ABOUT_NAME_APPROVERS = About(
    id="nameApprovers",
    tag="Requests",
    summary="Name approvers of a blocked request",
    description="For administrators, if `blocked` is `noApprover`: the users decide at the blocked level. The "
    "requester cannot be named. The deadline does not change.",
    example={"level": 1, "userIds": ["da7a0000-0000-4000-8000-000000000004"]},
)
ABOUT_CANCEL = About(
    id="cancelRequest",
    tag="Requests",
    summary="Cancel a request",
    description="For the requester and administrators; approvers approve and reject. Ends the request, and frees its "
    "name and mail address. A running or finished request cannot be cancelled. Objects that exist in the directory "
    "stay there: `warnings` lists them, and their address is free after their removal. The body is optional.",
    example={"comment": "Asked for by mistake."},
)
ABOUT_RETRY = About(
    id="retryRequest",
    tag="Requests",
    summary="Retry a failed request",
    description="For the requester and administrators; approvers approve and reject. Queues the request again. It "
    "continues at the step that failed, and each step has its full time again. The body is optional.",
    example={"comment": "The label is back."},
)
ABOUT_REPLY = About(
    id="replyToApproval",
    tag="Requests",
    summary="Decide by a reply to an approval mail",
    description="For applications: the mail server of the operator sends the raw reply (RFC 5322) in base64. It counts "
    "if it carries the reply code of an approval mail, comes from the address of the user whom that mail asked, and "
    "its first line is `approve`, or `reject:` and a reason. The caller must have verified the sender, for example by "
    "DMARC. A mail that decides nothing is answered with 422 and the reason in `errors`.",
    example={"mail": "RnJvbTogZGFyYUBlc3RhdGUuZXhhbXBsZQ0KDQphcHByb3ZlDQo="},
)
ABOUT_READ = About(
    id="readRequest",
    tag="Requests",
    summary="Read a request with its steps",
    description="Shows steps, waits, approvals and the result. A request that you may not read returns 404.",
)
_EXAMPLE: Mapping[str, object] = {
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "approvalRequired": True,
    "kind": "team",
    "state": "waiting",
    "displayName": "CONF-Secret",
    "template": {"id": "7e000000-0000-4000-8000-000000000013", "name": "Confidential team"},
    "body": {
        "displayName": "Secret",
        "templateId": "7e000000-0000-4000-8000-000000000013",
        "metadata": {"el-text-1": "Acme"},
    },
    "waiting": {
        "step": "createTeam",
        "reason": "The directory does not show the new group yet.",
        "attempt": 3,
        "nextAttemptAt": "2026-11-20T09:31:00.000Z",
        "endsAt": "2026-11-20T11:30:00.000Z",
        "reasonCode": "groupNotVisible",
        "reasonValues": {},
    },
    "blocked": None,
    "error": None,
    "warnings": [],
    "warningReasons": [],
    "result": None,
    "steps": [],
    "approvals": [],
    "actions": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:20.000Z",
    "finishedAt": None,
    "fields": [{"key": "el-text-1", "label": "Customer", "value": "Acme"}],
}
# Lists do not have them.
_OF_ONE = frozenset({"body", "steps", "approvals", "fields"})
READ = (Success(200, "The request.", Request, headers=CACHE, example=_EXAMPLE),)
READ_CODES = ("notAdministrator", "notFound", "databaseUnavailable", "overloaded")
LISTED = (
    Success(
        200,
        "A page of requests.",
        RequestPage,
        headers=CACHE,
        example={
            "items": [{name: value for name, value in _EXAMPLE.items() if name not in _OF_ONE}],
            "nextCursor": None,
        },
    ),
)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
_DARA: Mapping[str, object] = {"id": "da7a0000-0000-4000-8000-000000000004", "displayName": "Dara Lindqvist"}
_APPROVAL: Mapping[str, object] = {
    "level": 1,
    "mode": "any",
    "state": "approved",
    "deadline": "2026-12-04T09:30:00.000Z",
    "approvers": [_DARA],
    "decisions": [
        {
            "by": {"type": "user", **_DARA},
            "outcome": "approved",
            "comment": "For the board alone.",
            "decidedAt": "2026-11-20T09:30:20.000Z",
        }
    ],
}


def _acted(**became: object) -> tuple[Success, ...]:
    """Describe the answer of an action."""
    headers = {
        **CACHE,
        "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
    }
    example = {**_EXAMPLE, "waiting": None, **became}
    return (Success(200, "The request, as it is now.", Request, headers=headers, example=example),)


ACTED = _acted(state="cancelled", finishedAt="2026-11-20T09:30:20.000Z")
DECIDED = _acted(state="queued", approvals=[_APPROVAL])
NAMED = _acted(state="pendingApproval", approvals=[{**_APPROVAL, "state": "pending", "decisions": []}])
ACT_CODES = (
    "notAdministrator", "notFound", "stateDoesNotAllow", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip
REPLIED = (
    Success(
        200,
        "The mail has decided.",
        ReplyDecision,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
        },
        example={"requestId": _EXAMPLE["requestId"], "outcome": "approved", "state": "queued"},
    ),
)
REPLY_CODES = (
    "notApprover", "selfApproval", "notFound", "stateDoesNotAllow", "notPossible", "idempotencyKeyReused",
    "idempotencyKeyInProgress", "databaseUnavailable", "overloaded",
)  # fmt: skip
DECIDE_CODES = ("notApprover", "selfApproval", *ACT_CODES)
NAME_APPROVERS_CODES = ("selfApproval", "notPossible", *ACT_CODES)


# SSE heartbeat; keeps proxies from closing the connection.
_STILL_THERE = b":\n\n"
# A timeline has far fewer events than this number of digits can count.
_MOST_DIGITS = 9


async def watch(requests: RequestService, call: Call[None]) -> Answer | Stream:
    """Stream the events of a request."""
    after = 0 if b"last-event-id" not in call.headers else _last_event(call.listed_headers)
    happenings = await requests.watch(call.caller, RequestId(call.ids["requestId"]), after)
    if happenings is None:
        # By the standard of server-sent events, 204 keeps the client from connecting again.
        return Answer(204, b"", (NO_STORE,))
    return Stream(
        chunks=_events(requests, call.caller, happenings),
        content_type=b"text/event-stream",
        headers=(NO_STORE, (b"x-accel-buffering", b"no")),
        ends_at=call.caller.expires_at,
        close=call.http.streams.open(call.caller),
    )


def _last_event(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the number of the last event seen, 0 for none."""
    sent, *more = [value for name, value in headers if name == b"last-event-id"]
    if more or (sent and not sent.isdigit()) or len(sent) > _MOST_DIGITS:
        raise Malformed("invalidParameter", "Last-Event-ID must be the id of one event of this timeline.")
    return int(sent or b"0")


async def _events(requests: RequestService, caller: Caller, happenings: Happenings) -> AsyncGenerator[bytes, None]:
    async with aclosing(happenings):
        async for several in happenings:
            yield b"".join([await _event(requests, caller, each) for each in several]) if several else _STILL_THERE


async def _event(requests: RequestService, caller: Caller, happening: Happening) -> bytes:
    match happening.what:
        case RequestRecord() as record:
            return _written(happening.number, EntryKind.STATE, summary_of(await requests.view(caller, record)))
        case StepRecord() as step:
            return _written(happening.number, EntryKind.STEP, step_of(step))
        case ApprovalRecord() as approval:
            return _written(happening.number, EntryKind.APPROVAL, approval_of(approval))


def _written(number: int, kind: EntryKind, data: Struct) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode("ascii"), json.encode(data))


ABOUT_WATCH = About(
    id="watchRequest",
    tag="Requests",
    summary="Watch a request",
    description="Server-sent events: past events first, then new ones as they happen. `id` counts from 1 for each "
    "request. `event` is `state`, with the request at that time, `step`, with one step, or `approval`, with one level "
    "of approval. A comment is sent after 15 seconds without an event. The stream ends after a final state, and when "
    "the token expires or the service stops. A client that reconnects to any process with `Last-Event-ID` misses "
    "nothing.",
)
HEADERS = (
    Parameter(
        "Last-Event-ID",
        {"type": "string", "pattern": f"^[0-9]{{0,{_MOST_DIGITS}}}$"},
        "The `id` of the last event that the client has seen. The stream continues after it. Empty means none.",
    ),
)
WATCHED = (
    Success(
        200,
        "A stream of events.",
        headers={**CACHE, "X-Accel-Buffering": "Always `no`."},
        events={EntryKind.STATE: RequestSummary, EntryKind.STEP: RequestStep, EntryKind.APPROVAL: Approval},
    ),
    Success(
        204,
        "The request has ended, and there is nothing behind `Last-Event-ID`: do not connect again.",
        headers=CACHE,
    ),
)
WATCH_CODES = ("notAdministrator", "notFound", "quotaExceeded", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(RequestService, (
    Endpoint("GET", "/requests/v1/", list_, Operation.READ_REQUESTS, ABOUT_LIST, LISTED,
             parameters=FILTERS, codes=LIST_CODES),
    Endpoint("POST", "/requests/v1/replies/", reply, Operation.REPLY_BY_MAIL, ABOUT_REPLY, REPLIED,
             shape=REPLY, codes=REPLY_CODES),
    Endpoint("GET", "/requests/v1/{requestId}/", read, Operation.READ_REQUESTS, ABOUT_READ, READ, codes=READ_CODES),
    Endpoint("POST", "/requests/v1/{requestId}/approve/", approve, Operation.DECIDE_REQUEST, ABOUT_APPROVE, DECIDED,
             shape=ACTION, codes=DECIDE_CODES, body_is_optional=True),
    Endpoint("POST", "/requests/v1/{requestId}/reject/", reject, Operation.DECIDE_REQUEST, ABOUT_REJECT, DECIDED,
             shape=ACTION, codes=DECIDE_CODES, body_is_optional=True),
    Endpoint("POST", "/requests/v1/{requestId}/approvers/", name_approvers, Operation.NAME_APPROVERS,
             ABOUT_NAME_APPROVERS, NAMED, shape=APPROVERS, codes=NAME_APPROVERS_CODES),
    Endpoint("POST", "/requests/v1/{requestId}/cancel/", cancel, Operation.CANCEL_OR_RETRY_REQUEST,
             ABOUT_CANCEL, ACTED, shape=ACTION, codes=ACT_CODES, body_is_optional=True),
    Endpoint("POST", "/requests/v1/{requestId}/retry/", retry, Operation.CANCEL_OR_RETRY_REQUEST,
             ABOUT_RETRY, ACTED, shape=ACTION, codes=ACT_CODES, body_is_optional=True),
    Endpoint("GET", "/requests/v1/{requestId}/events/", watch, Operation.READ_REQUESTS, ABOUT_WATCH, WATCHED,
             headers=HEADERS, codes=WATCH_CODES),
))
# fmt: on
