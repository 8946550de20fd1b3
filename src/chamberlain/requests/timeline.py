# SPDX-License-Identifier: Apache-2.0
"""Follow the timeline of a request until it has finished."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import msgspec

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.batching import Batcher
from chamberlain.database.notify import Watchers
from chamberlain.database.transactions import Database, Record
from chamberlain.queries import load_queries
from chamberlain.requests.models import Accepted, RequestRecord, RequestResult, RequestState
from chamberlain.requests.records import warnings_of
from chamberlain.requests.steps import (
    Entry,
    EntryKind,
    Happening,
    Happenings,
    StateEntry,
    Timeline,
    approvals_after,
    happenings_of,
)
from chamberlain.requests.visibility import concerns

SQL = load_queries(__name__)

# The interval of heartbeats, which keep proxies from closing the connection. A lost notification delays by as much.
QUIET = timedelta(seconds=15)
# Between retries while the database is unavailable.
PAUSE = timedelta(seconds=1)

_decode = msgspec.json.Decoder(tuple[Entry, ...]).decode
_Place = tuple[TenantId, RequestId]


class Timelines:
    """Read and follow timelines. Concurrent reads share one statement."""

    def __init__(self, database: Database, watchers: Watchers, *, quiet: timedelta = QUIET) -> None:
        self._database = database
        self._watchers = watchers
        self._quiet = quiet
        self._looks = Batcher[_Place, Timeline | None](self._find)

    async def find(self, tenant_id: TenantId, request_id: RequestId) -> Timeline | None:
        """Read a timeline, None if the request does not exist. Raises Unavailable."""
        return await self._looks.submit((tenant_id, request_id))

    async def follow(
        self, tenant_id: TenantId, request_id: RequestId, after: int
    ) -> AsyncGenerator[Timeline | None, None]:
        """Yield the timeline for each entry after `after`, until the end.

        None is a heartbeat. Retries while the database is unavailable.
        """
        with self._watchers.watching(request_id) as changed:
            while True:
                # Read once at the start and after each timeout, in case a notification was missed.
                changed.set()
                try:
                    async with asyncio.timeout(self._quiet.total_seconds()):
                        timeline = await self._news((tenant_id, request_id), after, changed)
                except TimeoutError:
                    yield None
                    continue
                if timeline is None:
                    return
                if timeline.newest > after:
                    after = timeline.newest
                    yield timeline
                if timeline.has_ended:
                    return

    async def _news(self, place: _Place, after: int, changed: asyncio.Event) -> Timeline | None:
        """Wait for entries after a number or for the end.

        Returns None if the request was deleted.
        """
        while True:
            await changed.wait()
            changed.clear()
            try:
                timeline = await self._looks.submit(place)
            except Unavailable:
                await asyncio.sleep(PAUSE.total_seconds())
                changed.set()
                continue
            if timeline is None or timeline.newest > after or timeline.has_ended:
                return timeline

    async def _find(self, places: Sequence[_Place]) -> Sequence[Timeline | None]:
        asked: defaultdict[TenantId, set[RequestId]] = defaultdict(set)
        for tenant_id, request_id in places:
            asked[tenant_id].add(request_id)
        found: dict[_Place, Timeline] = {}
        for tenant_id, request_ids in asked.items():
            async with self._database.transaction(tenant_id) as tx:
                rows = await tx.fetch(SQL["find_steps"], tenant_id, list(request_ids))
            found |= {(tenant_id, RequestId(row["request_id"])): _timeline(row) for row in rows}
        return [found.get(place) for place in places]


def _timeline(row: Record) -> Timeline:
    accepted = RequestState.PENDING_APPROVAL if row["approval_required"] else RequestState.QUEUED
    first = Entry(EntryKind.STATE, state=StateEntry(accepted, row["created_at"]))
    entries, warnings = _decode(row["timeline"]), warnings_of(row)
    return Timeline(RequestState(row["state"]), first, row["timeline_start"], entries, warnings)


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


async def await_result(timelines: Timelines, accepted: Accepted) -> RequestResult | None:
    """Wait until a request has finished, and return its result.

    None if it did not succeed. A caller that gives up cancels the wait.
    """
    async with aclosing(timelines.follow(accepted.tenant_id, accepted.request_id, 0)) as followed:
        async for timeline in followed:
            if timeline is not None and timeline.has_ended:
                return timeline.result
    return None
