"""Export tenants as a configuration file, such that its plan is empty."""

from dataclasses import dataclass

from chamberlain.rules.ids import TenantId
from chamberlain.rules.suspensions import tenant_unknown
from chamberlain.shapes.configuration_export import write_configuration
from chamberlain.shapes.configuration_pictures import present_picture
from chamberlain.store import configurations
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ExportConfiguration:
    """For whoever has the database, as the worker's role, which sees every tenant."""

    database: Database

    async def __call__(self, tenant_id: TenantId | None) -> str:
        """The text of a file with this tenant, or with all, the oldest first. Raises NotFound and
        ConfigurationTooLarge."""
        async with self.database.across_tenants() as tx:
            await configurations.look(tx)
            present = await configurations.find(tx, None if tenant_id is None else [tenant_id])
        if tenant_id is not None and not present:
            raise tenant_unknown(tenant_id)
        return write_configuration([present_picture(each) for each in present.values()])
