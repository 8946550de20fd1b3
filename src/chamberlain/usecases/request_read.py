"""Read a request: one's own, one that one has to decide or has decided on, or any of the tenant's for its
administrators."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.requests.visibility import require_visible
from chamberlain.rules.actions import RequestView, viewed_by
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import RequestId
from chamberlain.rules.permissions import Operation
from chamberlain.store.request_looks import RequestLooks


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Gives a request whole, to those who may see it. For all others it does not exist."""

    looks: RequestLooks
    authorization: Authorization

    async def __call__(self, caller: Caller, request_id: RequestId) -> RequestView:
        """Raises NotFound; Forbidden when somebody who is no administrator has only the permission of one."""
        record = await self.looks.find(caller.tenant_id, request_id)
        return viewed_by(caller, await require_visible(self.authorization, caller, Operation.READ_REQUESTS, record))
