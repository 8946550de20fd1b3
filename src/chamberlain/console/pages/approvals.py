# SPDX-License-Identifier: Apache-2.0
"""The inbox of approvers: what waits for a decision, soonest deadline first."""

from typing import Final
from uuid import UUID

from starlette.responses import Response

from chamberlain.console.approvals import show_approvals
from chamberlain.console.visit import Visit
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import WRITTEN_ID, RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.http.cursors import Cursors
from chamberlain.requests.models import Decision, RequestRecord
from chamberlain.requests.service import RequestService

PATH: Final = "/console/approvals/"
# Each has all its values, so a page is long enough.
PAGE_SIZE: Final = 10


async def show_approvals_page(visit: Visit) -> Response:
    """Show a page of the requests that wait for the user's decision."""
    cursors, place = Cursors(visit.console.sessions.keyring), f"{visit.caller.tenant_id} {visit.caller.id} {PATH}"
    cursor = visit.request.query_params.get("cursor")
    wanted = PageWanted(PAGE_SIZE, None if cursor is None else cursors.open(cursor, place))
    page = await visit.service(RequestService).list_to_decide(visit.caller, wanted)
    return visit.render(
        "approvals.html",
        approvals=await show_approvals(visit, page.items),
        decided=await _decided(visit),
        is_first=cursor is None,
        next=None if page.next is None else f"{PATH}?cursor={cursors.seal(page.next, place)}",
    )


async def _decided(visit: Visit) -> tuple[RequestRecord, Decision] | None:
    """Find the decision that the user has come from, to confirm it."""
    written = visit.request.query_params.get("decided", "")
    if not WRITTEN_ID.fullmatch(written):
        return None
    try:
        view = await visit.service(RequestService).review(visit.caller, RequestId(UUID(written)))
    except NotFound:
        return None
    levels = view.record.approvals
    own = [each for level in levels for each in level.decisions if each.by.id == visit.caller.id]
    return (view.record, own[-1]) if own else None
