"""Requests for those who only read them. Whoever reads at the same time is answered by one statement."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.batching import Batcher
from chamberlain.database.errors import no_database
from chamberlain.database.transactions import ACQUIRED_WITHIN, Database, Record
from chamberlain.requests.models import RequestRecord
from chamberlain.requests.records import SELECT, record_of

# The function sets the tenant of each.
FIND = f"{SELECT} FROM chamberlain.look_at_requests($1, $2)"

# A body is half a megabyte at the most.
_MOST = 32

_Place = tuple[TenantId, RequestId]


class RequestLooks:
    """Gives requests as they are when they are asked for, or later. `patience` is how long one is waited for."""

    def __init__(self, database: Database, *, patience: timedelta = ACQUIRED_WITHIN) -> None:
        self._database = database
        self._patience = patience.total_seconds()
        self._batcher = Batcher[_Place, Record | None](
            self._find,
            owner=lambda place: place[0],
            most=_MOST,
            # Large bodies hold up nobody who reads small ones.
            at_once=2,
        )

    async def find(self, tenant_id: TenantId, request_id: RequestId) -> RequestRecord | None:
        """The request whole; None where the tenant has none. Raises Unavailable."""
        try:
            # Where the database hangs, those who have not been asked for yet are told no later than others.
            async with asyncio.timeout(self._patience):
                row = await self._batcher.submit((tenant_id, request_id))
        except TimeoutError as error:
            raise no_database(error) from error
        # Each for itself: one that cannot be read, since a newer version has written it, fails nobody else.
        return None if row is None else record_of(row)

    async def _find(self, places: Sequence[_Place]) -> Sequence[Record | None]:
        tenants = [tenant_id for tenant_id, _ in places]
        request_ids = [request_id for _, request_id in places]
        async with self._database.statement() as connection:
            rows = await connection.fetch(FIND, tenants, request_ids)
        found = {(row["tenant_id"], row["request_id"]): row for row in rows}
        return [found.get(place) for place in places]
