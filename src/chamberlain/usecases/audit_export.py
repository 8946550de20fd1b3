"""Export the audit trail of a tenant: all of it, in the order of its sequence, a part at a time."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.audit import AuditFilter, AuditRows, ClientNames, named
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import Unavailable
from chamberlain.rules.permissions import Operation
from chamberlain.store import audit
from chamberlain.store.database import Database

# While the database is away in the middle of an export.
PAUSE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ExportAudit:
    """For administrators of the tenant, and applications that configure it. Each part is read in a transaction of its
    own, when the one before has been taken: none is open while somebody reads slowly."""

    database: Database
    authorization: Authorization
    client_names: ClientNames

    async def __call__(self, caller: Caller, wanted: AuditFilter) -> AuditRows:
        """What there is at this moment. Raises Forbidden and Unavailable; what is given raises nothing and waits for a
        database that is away."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            last = await audit.find_last(tx)
        return self._rows(caller, wanted, last)

    async def _rows(self, caller: Caller, wanted: AuditFilter, last: int | None) -> AuditRows:
        after: int | None = None if last is None else 0
        while after is not None and last is not None:
            try:
                names = await self.client_names(caller.tenant_id)
                async with self.database.transaction(caller.tenant_id) as tx:
                    records, end = await audit.find_window(tx, wanted, after, last)
            except Unavailable:
                await asyncio.sleep(PAUSE.total_seconds())
                continue
            yield [named(record, names) for record in records]
            after = end
