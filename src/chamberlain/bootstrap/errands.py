"""What an operator asks for once: migrations of an outside database, the example estate in it, a look at held jobs."""

from collections.abc import Sequence

from chamberlain.bootstrap.data_folder import open_data_folder
from chamberlain.bootstrap.databases import DatabaseNotReady, migration_sets, opened_beside, opened_databases
from chamberlain.bootstrap.example import complete_example_estate, load_example_estate
from chamberlain.bootstrap.faults import expected_faults
from chamberlain.bootstrap.operators import command_line
from chamberlain.bootstrap.origins import new_trace_id
from chamberlain.rules.ids import JobId
from chamberlain.rules.jobs import HeldJob
from chamberlain.settings import Settings
from chamberlain.store.migrate import migrate, migrate_before, script
from chamberlain.usecases.job_list import ListJobsByHand
from chamberlain.usecases.job_release import ReleaseJobByHand


async def bring_up_to_date(settings: Settings) -> list[str]:
    """Run the migrations on an outside database, as its owner; the names of the files that were run."""
    with expected_faults():
        return await migrate(_owner_address(settings), migration_sets())


async def bring_up_to_date_beside_old_processes(settings: Settings) -> list[str]:
    """The same, but for what may only come when the processes of the version before are gone."""
    with expected_faults():
        return await migrate_before(_owner_address(settings), migration_sets())


async def load_example(settings: Settings) -> bool:
    """Load the example estate into an outside database that has no tenant; says whether it did."""
    with expected_faults():
        folder = open_data_folder(settings.data_dir)
        async with opened_databases(settings, folder) as databases:
            loaded = await load_example_estate(databases, folder)
            await complete_example_estate(databases, folder)
            return loaded


async def held_jobs(settings: Settings) -> Sequence[HeldJob]:
    """The jobs of all tenants that wait for a person, oldest first."""
    with expected_faults():
        async with opened_beside(settings) as database:
            return await ListJobsByHand(database)()


async def release_job(settings: Settings, job_id: JobId) -> HeldJob:
    """Let a held job of any tenant run again. Raises NotFound."""
    with expected_faults():
        async with opened_beside(settings) as database:
            return await ReleaseJobByHand(database)(job_id, actor=command_line(), trace_id=new_trace_id())


def _owner_address(settings: Settings) -> str:
    if settings.database_owner_url is None:
        raise DatabaseNotReady("Set CHAMBERLAIN_DATABASE_OWNER_URL to the address of the owner's role.")
    return settings.database_owner_url.get_secret_value()


def migration_script() -> str:
    """All that an empty server needs, for psql."""
    return script(migration_sets())
