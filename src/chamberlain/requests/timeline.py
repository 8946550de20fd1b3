"""Follow the timeline of a request until it has finished."""

from contextlib import aclosing
from dataclasses import replace

from chamberlain.auth.models import Caller
from chamberlain.requests.models import RequestRecord
from chamberlain.requests.rules_visibility import concerns
from chamberlain.requests.steps_timeline import Happening, Happenings, Timeline, approvals_after, happenings_of
from chamberlain.requests.timeline_timelines import Timelines


async def follow(timelines: Timelines, record: RequestRecord, after: int) -> Happenings:
    """Yield the events after number `after`. Raises nothing."""
    async with aclosing(timelines.follow(record.tenant_id, record.request_id, after)) as grown:
        async for timeline in grown:
            news = () if timeline is None else _news(record, timeline, after)
            after = news[-1].number if news else after
            yield news


async def follow_while_concerned(timelines: Timelines, caller: Caller, record: RequestRecord, after: int) -> Happenings:
    """Yield the events while the request concerns the caller.

    It no longer does if another approver decides instead.
    """
    async with aclosing(follow(timelines, record, after)) as followed:
        async for news in followed:
            record = replace(record, approvals=approvals_after(record.approvals, news))
            if not concerns(record, caller):
                return
            yield news


def _news(record: RequestRecord, timeline: Timeline, after: int) -> tuple[Happening, ...]:
    return happenings_of(replace(record, warnings=timeline.warnings), timeline.after(after))
