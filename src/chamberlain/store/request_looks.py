"""Requests for those who only read them. Whoever reads at the same time is answered by one statement."""

from collections.abc import Sequence

from chamberlain.batching import Batcher
from chamberlain.rules.ids import RequestId, TenantId
from chamberlain.rules.requests import RequestRecord
from chamberlain.store.database import Database
from chamberlain.store.requests import record_of

# The function sets the tenant of each.
FIND = """
SELECT request_id, tenant_id, approval_required, kind, state, display_name, template_id, template_name, body, waiting,
blocked, error, warnings, result, steps, created_at, actor_type, actor_id, actor_name, client_id, updated_at,
finished_at, approvals, made FROM chamberlain.look_at_requests($1, $2)
"""

# A body is half a megabyte at the most.
_MOST = 32

_Place = tuple[TenantId, RequestId]


class RequestLooks:
    """Gives requests as they are when they are asked for, or later."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batcher = Batcher[_Place, RequestRecord | None](
            # Large bodies hold up nobody who reads small ones.
            self._find,
            owner=lambda place: place[0],
            most=_MOST,
            at_once=2,
        )

    async def find(self, tenant_id: TenantId, request_id: RequestId) -> RequestRecord | None:
        """The request whole; None where the tenant has none. Raises Unavailable."""
        return await self._batcher.submit((tenant_id, request_id))

    async def _find(self, places: Sequence[_Place]) -> Sequence[RequestRecord | None]:
        tenants = [tenant_id for tenant_id, _ in places]
        request_ids = [request_id for _, request_id in places]
        async with self._database.statement() as connection:
            rows = await connection.fetch(FIND, tenants, request_ids)
        found = {(record.tenant_id, record.request_id): record for record in map(record_of, rows)}
        return [found.get(place) for place in places]
