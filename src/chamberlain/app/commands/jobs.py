"""Commands of held jobs: list and release."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_beside
from chamberlain.app.errors import expected_faults
from chamberlain.cli.options import DataDir, settings_of
from chamberlain.core.errors import CannotStart, NotFound
from chamberlain.core.ids import WRITTEN_ID, JobId
from chamberlain.http.request import new_trace_id
from chamberlain.queue.models import HeldJob, job_id_of
from chamberlain.queue.service import JobOperations
from chamberlain.settings import Settings


async def held_jobs(settings: Settings) -> Sequence[HeldJob]:
    """List the held jobs of all tenants, oldest first."""
    with expected_faults():
        async with opened_beside(settings) as database:
            return await JobOperations(database).list()


async def release_in_database(settings: Settings, job_id: JobId) -> HeldJob:
    """Release a held job of any tenant. Raises NotFound."""
    with expected_faults():
        async with opened_beside(settings) as database:
            return await JobOperations(database).release(job_id, actor=command_line(), trace_id=new_trace_id())


def print_jobs(settings: Settings) -> None:
    """Print one line per held job."""
    try:
        held = asyncio.run(held_jobs(settings))
    except CannotStart as error:
        raise _failed(str(error)) from error
    for job in held:
        print(_line(job))
    if not held:
        print("No job is held.")


def release(settings: Settings, name: str) -> None:
    """Release a job, and print it."""
    job_id = job_id_of(UUID(name)) if WRITTEN_ID.fullmatch(name) else None
    if job_id is None:
        raise _failed(f"{name} is no job. `chamberlain jobs list` shows those that are held.")
    try:
        print(_line(asyncio.run(release_in_database(settings, job_id))))
    except (CannotStart, NotFound) as error:
        raise _failed(str(error)) from error


def _line(job: HeldJob) -> str:
    state = "released" if job.held_reason is None else job.held_reason
    about = "" if job.request_id is None else f" of request {job.request_id}"
    queued = job.queued_at.isoformat(timespec="seconds")
    return f"{job.public_id}  {job.kind}{about}, tenant {job.tenant_id}, trace {job.trace_id}, queued {queued}: {state}"


def _failed(sentence: str) -> typer.Exit:
    print(sentence, file=sys.stderr)
    return typer.Exit(1)


jobs = typer.Typer()


@jobs.command("list")
def list_jobs(data_dir: DataDir = None) -> None:
    """List the held jobs of all tenants, oldest first."""

    print_jobs(settings_of(data_dir=data_dir))


@jobs.command("release")
def release_job(
    job: Annotated[str, typer.Argument(metavar="ID", help="Id of the job, as shown by `jobs list`.")],
    data_dir: DataDir = None,
) -> None:
    """Release a held job, after you have fixed the cause."""

    release(settings_of(data_dir=data_dir), job)
