"""Commands of held jobs: list and release."""

from typing import Annotated
from uuid import UUID

import typer

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_beside
from chamberlain.app.errors import in_database
from chamberlain.cli.errors import failed
from chamberlain.cli.options import DataDir, settings_of
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.observability.logs import new_trace_id
from chamberlain.queue.models import HeldJob, job_id_of
from chamberlain.queue.service import JobOperations

jobs = typer.Typer()


@jobs.command("list")
def list_jobs(data_dir: DataDir = None) -> None:
    """List the held jobs of all tenants, oldest first."""
    settings = settings_of(data_dir=data_dir)
    held = in_database(settings, lambda database: JobOperations(database).list(), opened=opened_beside)
    for job in held:
        print(_line(job))
    if not held:
        print("No job is held.")


@jobs.command("release")
def release_job(
    job: Annotated[str, typer.Argument(metavar="ID", help="Id of the job, as shown by `jobs list`.")],
    data_dir: DataDir = None,
) -> None:
    """Release a held job, after you have fixed the cause."""
    settings = settings_of(data_dir=data_dir)
    job_id = job_id_of(UUID(job)) if WRITTEN_ID.fullmatch(job) else None
    if job_id is None:
        raise failed(f"{job} is no job. `chamberlain jobs list` shows those that are held.")
    released = in_database(
        settings,
        lambda database: JobOperations(database).release(job_id, actor=command_line(), trace_id=new_trace_id()),
        opened=opened_beside,
    )
    print(_line(released))


def _line(job: HeldJob) -> str:
    state = "released" if job.held_reason is None else job.held_reason
    about = "" if job.request_id is None else f" of request {job.request_id}"
    queued = job.queued_at.isoformat(timespec="seconds")
    return f"{job.public_id}  {job.kind}{about}, tenant {job.tenant_id}, trace {job.trace_id}, queued {queued}: {state}"
