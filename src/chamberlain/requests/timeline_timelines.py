"""Timelines, for those who watch requests: looked up together, and followed until their requests have ended.

What happens is written by requests.py, in the statement that writes what changes.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

import msgspec

from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.batching import Batcher
from chamberlain.database.transactions import Database, Record
from chamberlain.requests.models import RequestState
from chamberlain.requests.steps_timeline import Entry, EntryKind, StateEntry, Timeline
from chamberlain.requests.timeline_watchers import Watchers

# State and timeline come from one statement: a request whose end is seen has the entry of its end in its timeline.
FIND = """
SELECT request_id, state, approval_required, created_at, timeline, timeline_start, warnings FROM chamberlain.request
WHERE tenant_id = $1 AND request_id = ANY ($2)
"""

# So often proxies want to see that a connection lives. A wake-up that was lost costs as long.
QUIET = timedelta(seconds=15)
# While the database is away.
PAUSE = timedelta(seconds=1)

_decode = msgspec.json.Decoder(tuple[Entry, ...]).decode
_decode_warnings = msgspec.json.Decoder(tuple[str, ...]).decode
_Place = tuple[TenantId, RequestId]


class Timelines:
    """Gives timelines as they are and as they grow. Whoever looks at the same time is answered by one statement."""

    def __init__(self, database: Database, watchers: Watchers, *, quiet: timedelta = QUIET) -> None:
        self._database = database
        self._watchers = watchers
        self._quiet = quiet
        self._looks = Batcher[_Place, Timeline | None](self._find)

    async def find(self, tenant_id: TenantId, request_id: RequestId) -> Timeline | None:
        """All that is kept of a request's timeline; None where there is no request. Raises Unavailable."""
        return await self._looks.submit((tenant_id, request_id))

    async def follow(
        self, tenant_id: TenantId, request_id: RequestId, after: int
    ) -> AsyncGenerator[Timeline | None, None]:
        """The timeline each time it has grown, at first beyond number `after`, to the end of the request. None says
        that nothing has happened for a while. A database that is away is waited for."""
        with self._watchers.watching(request_id) as changed:
            while True:
                # What happened before somebody watched is news as well, and so is what was not heard of.
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
        """The timeline as soon as there is something in it behind that number, or nothing more to come; None when the
        request was removed."""
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
                rows = await tx.fetch(FIND, tenant_id, list(request_ids))
            found |= {(tenant_id, RequestId(row["request_id"])): _timeline(row) for row in rows}
        return [found.get(place) for place in places]


def _timeline(row: Record) -> Timeline:
    accepted = RequestState.PENDING_APPROVAL if row["approval_required"] else RequestState.QUEUED
    first = Entry(EntryKind.STATE, state=StateEntry(accepted, row["created_at"]))
    entries, warnings = _decode(row["timeline"]), row["warnings"]
    told = () if warnings is None else _decode_warnings(warnings)
    return Timeline(RequestState(row["state"]), first, row["timeline_start"], entries, told)
