"""Read one's own tenant, for those who administer it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import TenantId
from chamberlain.rules.issuers import Issuer
from chamberlain.rules.permissions import Operation
from chamberlain.rules.tenant_records import TenantRecord, present
from chamberlain.store import tenant_records
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ReadTenant:
    """For administrators of the tenant, and applications that configure it. `own_issuers` are those that are not
    registered and speak for a tenant nevertheless, such as the embedded identity platform."""

    database: Database
    authorization: Authorization
    own_issuers: Callable[[TenantId], tuple[Issuer, ...]]

    async def __call__(self, caller: Caller) -> TenantRecord:
        """Raises Forbidden."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = present(await tenant_records.find(tx, caller.tenant_id))
        return replace(record, issuers=(*self.own_issuers(caller.tenant_id), *record.issuers))
