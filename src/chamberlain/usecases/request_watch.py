"""Watch a request: its timeline from a number on, as it grows, until the request has ended."""

from contextlib import aclosing
from dataclasses import dataclass, replace

from chamberlain.auth.authorization import Authorization
from chamberlain.requests.visibility import concerns, require_visible
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import Malformed
from chamberlain.rules.ids import RequestId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.requests import RequestRecord
from chamberlain.rules.timeline import Happening, Happenings, Timeline, approvals_after, happenings_of
from chamberlain.store import requests
from chamberlain.store.database import Database
from chamberlain.store.timelines import Timelines


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Gives what happens to a request, to those who may see it. Works on any process, whoever took the request."""

    database: Database
    authorization: Authorization
    timelines: Timelines

    async def __call__(self, caller: Caller, request_id: RequestId, after: int) -> Happenings | None:
        """What lies behind number `after`, and what follows; None when nothing is there and nothing will come.

        Raises NotFound, Forbidden, Unavailable, and Malformed when there is no such number yet. What is given raises
        nothing.
        """
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await requests.find(tx, request_id)
        record = await require_visible(self.authorization, caller, Operation.READ_REQUESTS, found)
        timeline = await self.timelines.find(record.tenant_id, request_id)
        if timeline is None or (timeline.has_ended and timeline.newest == after):
            return None
        if timeline.newest < after:
            raise Malformed("invalidParameter", f"The timeline has not come to event {after}; watch it from its start.")
        # Many may watch for long: what was sent may be large, and is not told again.
        followed = replace(record, body=b"", steps=())
        allowance = self.authorization.allowance(caller, Operation.READ_REQUESTS)
        if allowance.plain is None or not concerns(record, caller):
            return self._follow(followed, after)
        return self._follow_as_theirs(caller, followed, after)

    async def _follow_as_theirs(self, caller: Caller, record: RequestRecord, after: int) -> Happenings:
        """The same for as long as it is theirs: not any more when it was their turn to decide and somebody else did."""
        async with aclosing(self._follow(record, after)) as followed:
            async for news in followed:
                record = replace(record, approvals=approvals_after(record.approvals, news))
                if not concerns(record, caller):
                    return
                yield news

    async def _follow(self, record: RequestRecord, after: int) -> Happenings:
        async with aclosing(self.timelines.follow(record.tenant_id, record.request_id, after)) as grown:
            async for timeline in grown:
                news = () if timeline is None else _news(record, timeline, after)
                after = news[-1].number if news else after
                yield news


def _news(record: RequestRecord, timeline: Timeline, after: int) -> tuple[Happening, ...]:
    return happenings_of(replace(record, warnings=timeline.warnings), timeline.after(after))
