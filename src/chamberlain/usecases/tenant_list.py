"""List all tenants, for whoever has the database."""

from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.rules.tenants import Tenant
from chamberlain.store import tenants
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListTenants:
    """As the worker's role, which sees every tenant."""

    database: Database

    async def __call__(self) -> Sequence[Tenant]:
        """The oldest first. Raises Unavailable."""
        async with self.database.across_tenants() as tx:
            return await tenants.find_all(tx)
