"""List and release held jobs from the command line.

A command that imports this file imports nothing of the API.
"""

from collections.abc import Sequence

from chamberlain.api.trace import new_trace_id
from chamberlain.bootstrap.databases import opened_beside
from chamberlain.bootstrap.faults import expected_faults
from chamberlain.bootstrap.operators import command_line
from chamberlain.queue.service import JobOperations
from chamberlain.rules.ids import JobId
from chamberlain.rules.jobs import HeldJob
from chamberlain.settings import Settings


async def held_jobs(settings: Settings) -> Sequence[HeldJob]:
    """List the held jobs of all tenants, oldest first."""
    with expected_faults():
        async with opened_beside(settings) as database:
            return await JobOperations(database).list()


async def release_job(settings: Settings, job_id: JobId) -> HeldJob:
    """Release a held job of any tenant. Raises NotFound."""
    with expected_faults():
        async with opened_beside(settings) as database:
            return await JobOperations(database).release(job_id, actor=command_line(), trace_id=new_trace_id())
