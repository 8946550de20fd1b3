"""Requests are read and acted upon here: what was asked for, how far it has come, and what may be done with it."""

from collections.abc import Mapping

from msgspec import Struct, json

from chamberlain.api.administered import CACHE
from chamberlain.api.answers import NO_STORE, Answer
from chamberlain.api.calls import Call
from chamberlain.api.endpoint import About, Parameter, Success
from chamberlain.api.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.api.request_shapes import Request, RequestSummary, request_of, summary_of
from chamberlain.api.services import Services
from chamberlain.api.submission import act_of, acted, creating_act_of
from chamberlain.rules.actions import RequestView
from chamberlain.rules.ids import RequestId
from chamberlain.rules.requests import RequestFilter, RequestKind, RequestState
from chamberlain.shapes.actions import ActionBody
from chamberlain.shapes.approvers import ApproversBody, to_naming


class RequestPage(Struct, rename="camel", frozen=True):
    """Some requests, newest first; `nextCursor` is null on the last page."""

    items: tuple[RequestSummary, ...]
    next_cursor: str | None


async def list_(services: Services, call: Call[None]) -> Answer:
    """Those that the caller may see and the filters name."""
    query = call.query
    wanted = RequestFilter(
        state=RequestState(query["state"]) if "state" in query else None,
        kind=RequestKind(query["kind"]) if "kind" in query else None,
        mine=query.get("mine") == "true",
        to_decide=query.get("toDecide") == "true",
    )
    page = await services.requests.list(call.caller, wanted, page_wanted(call))
    body = RequestPage(tuple(map(summary_of, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def read(services: Services, call: Call[None]) -> Answer:
    """One request with its steps."""
    view = await services.requests.read(call.caller, RequestId(call.ids["requestId"]))
    return Answer(200, json.encode(request_of(view)), (NO_STORE,))


async def approve(services: Services, call: Call[ActionBody]) -> Answer:
    """Say yes to a request, as an approver."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await services.requests.approve(call.caller, request_id, act_of(call), _render))


async def reject(services: Services, call: Call[ActionBody]) -> Answer:
    """Say no to a request, as an approver."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await services.requests.reject(call.caller, request_id, act_of(call), _render))


async def name_approvers(services: Services, call: Call[ApproversBody]) -> Answer:
    """Say who decides on a blocked request."""
    request_id, naming = RequestId(call.ids["requestId"]), to_naming(call.body)
    kept = await services.requests.name_approvers(call.caller, request_id, naming, creating_act_of(call), _render)
    return acted(kept)


async def cancel(services: Services, call: Call[ActionBody]) -> Answer:
    """End a request that is not through."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await services.requests.cancel(call.caller, request_id, act_of(call), _render))


async def retry(services: Services, call: Call[ActionBody]) -> Answer:
    """Queue a failed request once more."""
    request_id = RequestId(call.ids["requestId"])
    return acted(await services.requests.retry(call.caller, request_id, act_of(call), _render))


def _render(view: RequestView) -> bytes:
    return json.encode(request_of(view))


ABOUT_LIST = About(
    id="listRequests",
    tag="Requests",
    summary="List requests, newest first",
    description="One's own; an administrator of the tenant sees all of it. With `toDecide`, those that it is one's "
    "turn to decide on. Without what was sent, steps and approvals.",
)
FILTERS = (
    Parameter("state", {"type": "string", "enum": list(RequestState)}, "Only requests in this state."),
    Parameter("kind", {"type": "string", "enum": list(RequestKind)}, "Only requests of this kind."),
    Parameter("mine", {"type": "boolean"}, "`true`: only one's own, for an administrator too."),
    Parameter("toDecide", {"type": "boolean"}, "`true`: only those that it is one's turn to decide on."),
    *PARAMETERS,
)
ABOUT_APPROVE = About(
    id="approveRequest",
    tag="Requests",
    summary="Approve a request",
    description="For approvers of the level that is open, and never for whoever asked for it. When the last level has "
    "approved, the request is queued; before, the next level is opened. What is decided is final. The body may be left "
    "out.",
    example={"comment": "For the board alone."},
)
ABOUT_REJECT = About(
    id="rejectRequest",
    tag="Requests",
    summary="Reject a request",
    description="As approving. One rejection at any level ends the request, and gives its name and mail address back.",
    example={"comment": "There is such a team already."},
)
ABOUT_NAME_APPROVERS = About(
    id="nameApprovers",
    tag="Requests",
    summary="Name approvers of a blocked request",
    description="For administrators, where `blocked` is `noApprover`: the users decide at the level that is blocked. "
    "Whoever asked for it cannot be named. The deadline stays what it was.",
    example={"level": 1, "userIds": ["da7a0000-0000-4000-8000-000000000004"]},
)
ABOUT_CANCEL = About(
    id="cancelRequest",
    tag="Requests",
    summary="Cancel a request",
    description="It ends, and gives its name and mail address back. What a worker is just at, and what has succeeded, "
    "cannot be cancelled. What is in the directory already stays there: `warnings` says what, and its address is free "
    "once it was removed there. The body may be left out.",
    example={"comment": "Asked for by mistake."},
)
ABOUT_RETRY = About(
    id="retryRequest",
    tag="Requests",
    summary="Retry a failed request",
    description="It is queued once more and goes on at the step that failed, with the time that each step has from the "
    "beginning. The body may be left out.",
    example={"comment": "The label is back."},
)
ABOUT_READ = About(
    id="readRequest",
    tag="Requests",
    summary="Read a request with its steps",
    description="Why it waits, until when, what was done and what came of it. What one may not read answers 404.",
)
_EXAMPLE: Mapping[str, object] = {
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "approvalRequired": True,
    "kind": "team",
    "state": "waiting",
    "displayName": "CONF-Secret",
    "template": {"id": "7e000000-0000-4000-8000-000000000013", "name": "Confidential team"},
    "body": {"displayName": "Secret", "templateId": "7e000000-0000-4000-8000-000000000013"},
    "waiting": {
        "step": "createTeam",
        "reason": "The directory does not show the new group to the team service yet.",
        "attempt": 3,
        "nextAttemptAt": "2026-11-20T09:31:00.000Z",
        "endsAt": "2026-11-20T11:30:00.000Z",
    },
    "blocked": None,
    "error": None,
    "warnings": [],
    "result": None,
    "steps": [],
    "approvals": [],
    "actions": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:20.000Z",
    "finishedAt": None,
}
READ = (Success(200, "The request.", Request, headers=CACHE, example=_EXAMPLE),)
READ_CODES = ("notAdministrator", "notFound", "databaseUnavailable", "overloaded")
LISTED = (
    Success(
        200,
        "A page of requests.",
        RequestPage,
        headers=CACHE,
        example={
            "items": [{name: value for name, value in _EXAMPLE.items() if name not in {"body", "steps", "approvals"}}],
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
    """How an action succeeds, with an example of what it makes of a request."""
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
DECIDE_CODES = ("notApprover", "selfApproval", *ACT_CODES)
NAME_APPROVERS_CODES = ("selfApproval", "notPossible", *ACT_CODES)
