"""Find the visible owner of a conflicting address."""

from contextlib import aclosing

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import NotFound, Unavailable
from chamberlain.requests.models import Accepted, RequestRecord, RequestResult
from chamberlain.requests.timeline import Timelines
from chamberlain.requests.visibility import require_visible


async def visible_owner(authorization: Authorization, caller: Caller, record: RequestRecord | None) -> str | None:
    """Return the id of the object that holds the address.

    Before the request has created the object, it is the id of the request. None if there is no such request or the
    caller may not read it. No transaction may be open: the directory may be asked for administrators.
    """
    try:
        held = await require_visible(authorization, caller, Operation.READ_REQUESTS, record)
    except (NotFound, Unavailable):
        # The conflict is reported without the id while the directory does not answer.
        return None
    return str(held.request_id if held.result is None else held.result.id)


async def await_result(timelines: Timelines, accepted: Accepted) -> RequestResult | None:
    """Wait until a request has finished, and return its result.

    None if it did not succeed. A caller that gives up cancels the wait.
    """
    async with aclosing(timelines.follow(accepted.tenant_id, accepted.request_id, 0)) as followed:
        async for timeline in followed:
            if timeline is not None and timeline.has_ended:
                return timeline.result
    return None
