"""List the tenants that were deleted."""

from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.rules.deleted_tenants import DeletedTenant
from chamberlain.store import deleted_tenants
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListDeletedTenants:
    """For whoever has the database, as the worker's role."""

    database: Database

    async def __call__(self) -> Sequence[DeletedTenant]:
        """All of them, in the order in which they went. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            return await deleted_tenants.find_all(tx)
