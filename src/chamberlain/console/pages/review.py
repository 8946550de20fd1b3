# SPDX-License-Identifier: Apache-2.0
"""The review page of a request, which asks before it acts.

Approval mails link to it. Nothing changes by GET.
"""

from dataclasses import replace
from hashlib import sha256
from typing import Final

from starlette.responses import Response

from chamberlain.console.approvals import Approval, show_approvals
from chamberlain.console.faults import fault_text
from chamberlain.console.rendering import redirect
from chamberlain.console.visit import Visit
from chamberlain.console.words import N_
from chamberlain.core.errors import BodyInvalid, Conflict, Forbidden, KeyReused
from chamberlain.core.idempotency import IdempotencyKey
from chamberlain.core.ids import RequestId
from chamberlain.http.request import ACTION
from chamberlain.requests.models import DecisionOutcome
from chamberlain.requests.rules import OUTCOMES, Action
from chamberlain.requests.service import RequestService

INBOX: Final = "/console/approvals/"

NO_REASON: Final = N_("Enter a reason for the rejection. The requester can read it.")


async def show_review(visit: Visit) -> Response:
    """Show a request with all its values, or how it was decided."""
    return await _page(visit, 200)


async def approve(visit: Visit) -> Response:
    """Approve a request."""
    return await _decide(visit, Action.APPROVE)


async def reject(visit: Visit) -> Response:
    """Reject a request. The reason is required."""
    if not visit.value("comment").strip():
        return await _page(visit, 422, fault=visit.translate(NO_REASON))
    return await _decide(visit, Action.REJECT)


async def resume(visit: Visit) -> Response:
    """Show the comment of an earlier session, and decide nothing."""
    return await _page(visit, 403)


async def _decide(visit: Visit, action: Action) -> Response:
    comment = visit.value("comment").replace("\r\n", "\n").strip()
    try:
        body = ACTION.read_value({"comment": comment} if comment else {})
    except BodyInvalid as error:
        return await _page(visit, 422, fault=fault_text(visit.language, error.faults[0]))
    requests, request_id = visit.service(RequestService), visit.request_id
    decide = requests.approve if action is Action.APPROVE else requests.reject
    act = replace(visit.act(body.comment), idempotency=_key(visit, request_id, action, comment))
    try:
        await decide(visit.caller, request_id, act, lambda _: b"")
    except (Conflict, KeyReused):
        # Another approver was quicker, the deadline has passed, or the form was sent twice.
        return await _page(visit, 409, sent=OUTCOMES[action])
    except Forbidden:
        return await _page(visit, 403, sent=OUTCOMES[action])
    return redirect(f"{INBOX}?decided={request_id}")


def _key(visit: Visit, request_id: RequestId, action: Action, comment: str) -> IdempotencyKey | None:
    """Return a key for one decision at one level.

    A form that is sent twice does not decide at the next level.
    """
    level = visit.value("level")
    if len(level) != 1 or not level.isdigit():
        return None
    return IdempotencyKey(f"console-{request_id}-{level}", sha256(f"{action} {comment}".encode()).digest())


async def _page(visit: Visit, status: int, *, fault: str = "", sent: DecisionOutcome | None = None) -> Response:
    approval = await _find(visit)
    if sent is not None and approval.own is not None and approval.own.outcome is sent and not approval.to_decide:
        return redirect(f"{INBOX}?decided={approval.record.request_id}")
    return visit.render(
        "review.html",
        status,
        approval=approval,
        comment=visit.value("comment"),
        fault=fault,
        is_refused=sent is not None,
        is_requester=approval.record.created_by.id == visit.caller.id,
        is_readable=approval.record.body != b"{}",
    )


async def _find(visit: Visit) -> Approval:
    view = await visit.service(RequestService).review(visit.caller, visit.request_id)
    (approval,) = await show_approvals(visit, (view,))
    return approval
