# SPDX-License-Identifier: Apache-2.0
"""One request: its live progress, result, submitted values and actions."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from starlette.responses import Response

from chamberlain.auth.models import Caller
from chamberlain.console.rendering import HEADERS, redirect, render_text
from chamberlain.console.sessions import form_token
from chamberlain.console.shown import GROUP_KINDS, MAILBOX_KINDS, show_values
from chamberlain.console.streams import STILL_THERE, EventStream, encode_event, last_event
from chamberlain.console.visit import Visit
from chamberlain.console.words import N_
from chamberlain.core.errors import Conflict, Refusal
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import RequestId
from chamberlain.requests.models import ENDED, RequestState
from chamberlain.requests.rules import Action, RequestView
from chamberlain.requests.service import RequestService
from chamberlain.requests.steps import Happenings

PATH: Final = "/console/requests/"
ALREADY_CANCELLED: Final = N_("The request has already been cancelled.")
TOO_LATE_TO_CANCEL: Final = N_("The request can no longer be cancelled. It has changed in the meantime.")
TOO_LATE_TO_RETRY: Final = N_("The request can no longer be retried. It has changed in the meantime.")

Carry = Callable[[Caller, RequestId, Act, Callable[[RequestView], bytes]], Awaitable[KeptAnswer]]


async def show_request(visit: Visit) -> Response:
    """Show a request."""
    return await _page(visit, 200)


async def cancel_request(visit: Visit) -> Response:
    """Cancel a request, and show it."""
    return await _act(visit, Action.CANCEL, visit.service(RequestService).cancel)


async def retry_request(visit: Visit) -> Response:
    """Retry a failed request, and show it."""
    return await _act(visit, Action.RETRY, visit.service(RequestService).retry)


async def watch_request(visit: Visit) -> Response:
    """Stream the live parts of the page, until the request has ended."""
    request_id = visit.request_id
    happenings = await visit.service(RequestService).watch(visit.caller, request_id, last_event(visit.request))
    if happenings is None:
        # By the standard of server-sent events, 204 keeps the browser from connecting again.
        return Response(status_code=204, headers=HEADERS)
    if visit.request.method == "HEAD":
        await happenings.aclose()
        return Response(headers=HEADERS)
    close = visit.console.streams.open(visit.caller)
    return EventStream(visit.console.streams, _events(visit, request_id, happenings), visit.caller.expires_at, close)


async def _events(visit: Visit, request_id: RequestId, happenings: Happenings) -> AsyncGenerator[bytes, None]:
    """Yield the live parts after each change.

    All parts are sent, and the page replaces those that differ. The stream ends with the session of the user.
    """
    async with aclosing(happenings):
        async for several in happenings:
            if not several:
                yield STILL_THERE
                continue
            if not await visit.console.sessions.is_open(visit.session):
                return
            try:
                view = await visit.service(RequestService).read(visit.caller, request_id)
            except Refusal:
                # The browser connects again, and gets the reason.
                return
            parts = render_text(visit.language, "request_live.html", **_live_values(visit, view))
            yield encode_event(several[-1].number, parts)


async def _act(visit: Visit, action: Action, carry: Carry) -> Response:
    request_id = visit.request_id
    try:
        await carry(visit.caller, request_id, visit.act(), lambda _: b"")
    except Conflict:
        return await _page(visit, 409, action)
    return redirect(f"{PATH}{request_id}")


async def _page(visit: Visit, status: int, refused: Action | None = None) -> Response:
    view = await visit.service(RequestService).read(visit.caller, visit.request_id)
    (values,) = await show_values(visit, (view,))
    record = view.record
    return visit.render(
        "request.html",
        status,
        view=view,
        values=values,
        notice=None if refused is None else _notice(refused, record.state),
        is_live=record.state not in ENDED,
        is_own=record.created_by.id == visit.caller.id,
        again=_again(view),
    )


def _live_values(visit: Visit, view: RequestView) -> dict[str, object]:
    """Return the values of the live parts."""
    token = form_token(visit.session.secret)
    return {"view": view, "form_token": token, "has_ended": view.record.state in ENDED}


def _notice(refused: Action, state: RequestState) -> str:
    if refused is Action.RETRY:
        return TOO_LATE_TO_RETRY
    return ALREADY_CANCELLED if state is RequestState.CANCELLED else TOO_LATE_TO_CANCEL


def _again(view: RequestView) -> str | None:
    """Return the address of a new request with the same values.

    None if there is no form for it.
    """
    record = view.record
    if record.template is None or record.kind not in MAILBOX_KINDS | GROUP_KINDS:
        return None
    area = "mail" if record.kind in MAILBOX_KINDS else "collab"
    return f"/console/new/{area}/{record.template.id}?again={record.request_id}"
