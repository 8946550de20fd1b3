"""Configuration files, for whoever has the database: planned, applied and exported."""

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_at_hand, opened_or_made
from chamberlain.app.errors import expected_faults
from chamberlain.configuration.files import Configuration
from chamberlain.configuration.rules import Plan
from chamberlain.configuration.service import ConfigurationService
from chamberlain.core.ids import TenantId
from chamberlain.http.calls import new_trace_id
from chamberlain.settings import Settings


async def plan_configuration(settings: Settings, configuration: Configuration) -> Plan:
    """What would be done; nothing is, so that there has to be a database. Raises CannotStart, and what the use case
    raises."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await ConfigurationService(database).plan(configuration)


async def plan_to_apply(settings: Settings, configuration: Configuration) -> Plan:
    """What is about to be done; an embedded database is made where there is none yet. Raises CannotStart, and what the
    use case raises."""
    with expected_faults():
        async with opened_or_made(settings) as database:
            return await ConfigurationService(database).plan(configuration)


async def apply_configuration(settings: Settings, configuration: Configuration, agreed: Plan) -> Plan:
    """What was done. Raises CannotStart, and what the use case raises."""
    with expected_faults():
        async with opened_or_made(settings) as database:
            service = ConfigurationService(database)
            return await service.apply(configuration, actor=command_line(), trace_id=new_trace_id(), agreed=agreed)


async def export_configuration(settings: Settings, tenant_id: TenantId | None) -> str:
    """A configuration file. Raises CannotStart, and what the use case raises."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await ConfigurationService(database).export(tenant_id)
