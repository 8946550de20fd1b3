"""Plan what configuration files ask for: what has to be created, changed and removed, without doing it."""

from dataclasses import dataclass

from chamberlain.rules.configurations import Plan
from chamberlain.rules.ids import TenantId
from chamberlain.shapes.configuration import Configuration
from chamberlain.shapes.configuration_plans import plan_configuration
from chamberlain.store import configurations
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class PlanConfiguration:
    """For whoever has the database, as the worker's role, which sees every tenant."""

    database: Database

    async def __call__(self, configuration: Configuration) -> Plan:
        """Nothing is written. Raises ConfigurationInvalid with all that cannot be done."""
        ids = [TenantId(entry.tenant.id) for entry in configuration.tenants]
        async with self.database.across_tenants() as tx:
            await configurations.look(tx)
            present = await configurations.find(tx, ids)
            in_use = await configurations.find_in_use(tx, ids, configuration.domains, configuration.issuers)
        return plan_configuration(configuration, present, in_use)
