"""Held jobs for whoever has the database: looked at, and let run again.

A command imports this, and with it nothing of what answers calls.
"""

from collections.abc import Sequence

from chamberlain.bootstrap.databases import opened_beside
from chamberlain.bootstrap.faults import expected_faults
from chamberlain.bootstrap.operators import command_line
from chamberlain.bootstrap.origins import new_trace_id
from chamberlain.rules.ids import JobId
from chamberlain.rules.jobs import HeldJob
from chamberlain.settings import Settings
from chamberlain.usecases.job_list import ListJobsByHand
from chamberlain.usecases.job_release import ReleaseJobByHand


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
