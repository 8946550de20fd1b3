"""Wait for what an accepted request brings about."""

from contextlib import aclosing
from dataclasses import dataclass

from chamberlain.rules.requests import Accepted, RequestResult
from chamberlain.store.timelines import Timelines


@dataclass(frozen=True, slots=True)
class AwaitResult:
    """Waits until a request has ended. Whoever has no more patience ends the wait; it leaves nothing behind."""

    timelines: Timelines

    async def __call__(self, accepted: Accepted) -> RequestResult | None:
        """What it has brought about; None when it ended otherwise."""
        async with aclosing(self.timelines.follow(accepted.tenant_id, accepted.request_id, 0)) as grown:
            async for timeline in grown:
                if timeline is not None and timeline.has_ended:
                    return timeline.result
        return None
