"""List the audit trail of a tenant, newest first."""

from dataclasses import dataclass, replace

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.audit import AuditFilter, AuditRecord, ClientNames, named
from chamberlain.rules.callers import Caller
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import audit
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListAudit:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization
    client_names: ClientNames

    async def __call__(self, caller: Caller, wanted: AuditFilter, page: PageWanted) -> Page[AuditRecord]:
        """Raises Forbidden and Unavailable."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        names = await self.client_names(caller.tenant_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await audit.find_page(tx, wanted, page)
        return replace(found, items=[named(record, names) for record in found.items])
