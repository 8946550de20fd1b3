"""Wait for the result of an accepted request."""

from contextlib import aclosing

from chamberlain.requests.models import Accepted, RequestResult
from chamberlain.requests.timeline_timelines import Timelines


async def await_result(timelines: Timelines, accepted: Accepted) -> RequestResult | None:
    """Wait until a request has finished, and return its result.

    None if it did not succeed. A caller that gives up cancels the wait.
    """
    async with aclosing(timelines.follow(accepted.tenant_id, accepted.request_id, 0)) as followed:
        async for timeline in followed:
            if timeline is not None and timeline.has_ended:
                return timeline.result
    return None
