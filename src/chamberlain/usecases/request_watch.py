"""Watch a request: its timeline from a number on, as it grows, until the request has ended."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import RequestId
from chamberlain.rules.permissions import Operation, ScopePrefixes, require
from chamberlain.rules.requests import ENDED, RequestRecord
from chamberlain.rules.timeline import Entry
from chamberlain.store import requests
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database
from chamberlain.store.watchers import Watchers

# A notification may be lost with its connection; then a change is seen so much later.
LOOK_AGAIN_AFTER = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Numbered:
    """An entry of a timeline with its number, and the request as it is now."""

    number: int
    entry: Entry
    record: RequestRecord


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Gives what happens to a request, to those who may see it. Works on any process, whoever took the request."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes
    watchers: Watchers

    async def begin(self, caller: Caller, request_id: RequestId) -> RequestRecord:
        """The request as it is now. Raises NotFound, Forbidden and Unavailable, so that a stream need not."""
        allowance = require(caller, Operation.READ_REQUESTS, self.prefixes)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await requests.find(tx, request_id)
        return await self.callers.require_visible(caller, allowance, record)

    async def entries(self, record: RequestRecord, after: int) -> AsyncIterator[Numbered | None]:
        """The entries behind this number. None now and then says that nothing has happened; the end is the
        request's."""
        with self.watchers.watching(record.request_id) as changed:
            while True:
                changed.clear()
                current, entries = await self._look(record, after)
                for number, entry in entries:
                    after = number
                    yield Numbered(number, entry, current)
                if current.state in ENDED:
                    return
                if not entries:
                    yield None
                try:
                    await asyncio.wait_for(changed.wait(), LOOK_AGAIN_AFTER.total_seconds())
                except TimeoutError:
                    continue

    async def _look(self, record: RequestRecord, after: int) -> tuple[RequestRecord, Sequence[tuple[int, Entry]]]:
        async with self.database.transaction(record.tenant_id) as tx:
            # The timeline first: an entry that is written in between is then seen at the next look, not skipped.
            timeline = await requests.timeline(tx, record.request_id)
            current = await requests.find(tx, record.request_id)
        if timeline is None or current is None:
            # It was removed when its time was up.
            return record, ()
        return current, timeline.after(after)
