"""Read one adoption, with those that could not be taken."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.adoption_records import AdoptionView
from chamberlain.rules.adoptions import MOST_SHOWN
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import NotFound
from chamberlain.rules.ids import AdoptionId
from chamberlain.rules.permissions import Operation
from chamberlain.store import adoption_items, adoptions
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ReadAdoption:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, adoption_id: AdoptionId) -> AdoptionView:
        """Raises Forbidden and NotFound."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await adoptions.find(tx, caller.tenant_id, adoption_id)
            if record is None:
                raise NotFound("There is no such adoption. The list has those that there are.")
            return AdoptionView(record, tuple(await adoption_items.find_refused(tx, record, MOST_SHOWN)))
