"""Read a guest policy, for those who administer it."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import PolicyId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.policy_records import PolicyRecord, present
from chamberlain.store import policies
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, policy_id: PolicyId) -> PolicyRecord:
        """Raises Forbidden and NotFound."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        async with self.database.transaction(caller.tenant_id) as tx:
            return present(await policies.find(tx, caller.tenant_id, policy_id))
