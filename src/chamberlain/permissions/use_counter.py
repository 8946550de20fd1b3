# SPDX-License-Identifier: Apache-2.0
"""Count uses of permissions in memory, and write them in the background.

A crash of the process loses the counts since the last write.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes, find_match, known_names
from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database
from chamberlain.permissions import store
from chamberlain.permissions.models import UseKey

# Pause between two writes. A crash loses at most the counts of it.
INTERVAL: Final = timedelta(seconds=5)
# The service has ten seconds to stop.
LAST_WRITE: Final = timedelta(seconds=1)
# Tokens between two writes. Each takes about a kilobyte. Calls with further tokens are not counted.
MOST_TOKENS: Final = 20_000
MOST_TOKENS_OF_TENANT: Final = 5_000


# By the identity of the caller, because hashing one takes 3 µs. The verifier returns the same one for a token, and the
# entry keeps it, so that no other has its identity.
_Calls: TypeAlias = dict[int, tuple[Caller, dict[Operation, int]]]


class UseCounter:
    """Count the permissions that allow calls.

    `database` has the worker's role, because one write has the counts of all tenants. `most_of_tenant` is the number of
    tokens of one tenant between two writes.
    """

    def __init__(
        self,
        database: Database,
        authorization: Authorization,
        prefixes: ScopePrefixes,
        now: Callable[[], datetime],
        *,
        most_of_tenant: int = MOST_TOKENS_OF_TENANT,
    ) -> None:
        self._database = database
        self._authorization = authorization
        self._prefixes = prefixes
        self._now = now
        self._most_of_tenant = most_of_tenant
        self._calls: _Calls = {}
        self._tokens = Counter[TenantId]()

    def count(self, caller: Caller, operation: Operation) -> None:
        """Count one call that was allowed."""
        calls = self._calls.get(id(caller))
        if calls is None:
            if len(self._calls) >= MOST_TOKENS or self._tokens[caller.tenant_id] >= self._most_of_tenant:
                return
            calls = self._calls[id(caller)] = (caller, {})
            self._tokens[caller.tenant_id] += 1
        numbers = calls[1]
        numbers[operation] = numbers.get(operation, 0) + 1

    async def run(self) -> None:
        """Write the counts at intervals, for ever.

        Counts stay in memory while the database is not available.
        """
        while True:
            await asyncio.sleep(INTERVAL.total_seconds())
            with suppress(Unavailable):
                await self.write()

    async def close(self) -> None:
        """Write the last counts.

        They are lost if the database does not answer in time.
        """
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(LAST_WRITE.total_seconds()):
                await self.write()

    async def write(self) -> None:
        """Write the counts. Raises Unavailable, and keeps them then."""
        calls, is_written = self._calls, False
        self._calls, self._tokens = {}, Counter[TenantId]()
        if not calls:
            return
        try:
            at = self._now()
            counts = await self._uses(calls, at)
            async with self._database.across_tenants() as tx:
                await store.add(tx, counts, at=at)
            is_written = True
        finally:
            if not is_written:
                self._restore(calls)

    async def _uses(self, calls: _Calls, at: datetime) -> Counter[UseKey]:
        """Return the number of calls by caller and permission.

        It is 0 for permissions that are only held.
        """
        counts: Counter[UseKey] = Counter()
        known, day = known_names(self._prefixes), at.astimezone(UTC).date()
        for caller, numbers in calls.values():
            for name in caller.permissions & known:
                counts[UseKey(caller.tenant_id, caller.type, caller.id, name, day)] += 0
            for operation, number in numbers.items():
                if used := await self._used(caller, operation):
                    counts[UseKey(caller.tenant_id, caller.type, caller.id, used, day)] += number
        return counts

    async def _used(self, caller: Caller, operation: Operation) -> str:
        """Return the permission that allowed an operation.

        It is empty if any token is enough.
        """
        match = find_match(caller, operation, self._prefixes)
        if not match.depends_on_administrator:
            return match.name(is_administrator=False)
        try:
            return match.name(is_administrator=await self._authorization.administers(caller))
        except Unavailable:
            # The directory does not answer. The administrator's permission is the one that a report must not call
            # unused.
            return match.name(is_administrator=True)

    def _restore(self, calls: _Calls) -> None:
        """Add the counts of a failed write to the current ones."""
        for caller, numbers in calls.values():
            for operation, number in numbers.items():
                self.count(caller, operation)
                if id(caller) in self._calls:
                    self._calls[id(caller)][1][operation] += number - 1
