"""List and export the audit trail.

For administrators of the tenant, and applications that configure it.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta

from chamberlain.audit import store
from chamberlain.audit.models import AuditFilter, AuditRecord, AuditRows, named
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, ClientNames
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Unavailable
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.transactions import Database

# Before an export reads again, when the database is unavailable.
PAUSE = timedelta(seconds=1)


@dataclass(slots=True)
class AuditService:
    """List and export the audit trail of a tenant.

    Every method raises Forbidden for callers who are not administrators, and Unavailable.
    """

    database: Database
    authorization: Authorization
    client_names: ClientNames

    async def list(self, caller: Caller, wanted: AuditFilter, page: PageWanted) -> Page[AuditRecord]:
        """List rows, newest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        names = await self.client_names(caller.tenant_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await store.find_page(tx, wanted, page)
        return replace(found, items=[named(record, names) for record in found.items])

    async def export(self, caller: Caller, wanted: AuditFilter) -> AuditRows:
        """Export the rows that exist now, in batches.

        They are in the order of their sequence. Each batch is read in its own transaction, after the client has taken
        the previous one. So no transaction stays open while a client reads slowly. Reading a batch raises nothing: it
        waits until the database is available.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            last = await store.find_last(tx)
        return self._read_batches(caller, wanted, last)

    async def _read_batches(self, caller: Caller, wanted: AuditFilter, last: int | None) -> AuditRows:
        after: int | None = None if last is None else 0
        while after is not None and last is not None:
            try:
                names = await self.client_names(caller.tenant_id)
                async with self.database.transaction(caller.tenant_id) as tx:
                    records, end = await store.find_window(tx, wanted, after, last)
            except Unavailable:
                await asyncio.sleep(PAUSE.total_seconds())
                continue
            yield [named(record, names) for record in records]
            after = end
