"""List and release held jobs from the command line.

A command that imports this file imports nothing of the API.
"""

from collections.abc import Sequence

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_beside
from chamberlain.app.errors import expected_faults
from chamberlain.core.ids import JobId
from chamberlain.http.calls import new_trace_id
from chamberlain.queue.models import HeldJob
from chamberlain.queue.service import JobOperations
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
