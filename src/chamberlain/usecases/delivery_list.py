"""List the deliveries of a tenant's webhooks, newest first."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.deliveries import DeliveryFilter, DeliveryRecord
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import delivery_lists
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListDeliveries:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, wanted: DeliveryFilter, page: PageWanted) -> Page[DeliveryRecord]:
        """Raises Forbidden."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await delivery_lists.find_page(tx, wanted, page)
