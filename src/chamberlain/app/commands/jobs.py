# SPDX-License-Identifier: Apache-2.0
"""Commands of held jobs: list and release."""

from uuid import UUID

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_beside
from chamberlain.app.errors import in_database
from chamberlain.cli.errors import failed
from chamberlain.cli.formats import Output
from chamberlain.cli.output import Column, Record, written_time
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.observability.logs import new_trace_id
from chamberlain.queue.models import HeldJob, job_id_of
from chamberlain.queue.service import JobOperations
from chamberlain.settings import Settings

_COLUMNS = (
    Column("ID", "id"),
    Column("KIND", "kind"),
    Column("REASON", "heldReason"),
    Column("REQUEST", "requestId"),
    Column("AGE", "queuedAt"),
    Column("TENANT", "tenantId", wide=True),
    Column("TRACE", "traceId", wide=True),
)


def list_jobs(settings: Settings, output: Output) -> None:
    """Print the held jobs of all tenants, oldest first."""
    held = in_database(settings, lambda database: JobOperations(database).list(), opened=opened_beside)
    output.show_records(map(_record, held), _COLUMNS, "held jobs")


def release_job(settings: Settings, job: str) -> None:
    """Release a held job, and print it."""
    job_id = job_id_of(UUID(job if WRITTEN_ID.fullmatch(job) else _whole(settings, job)))
    if job_id is None:
        raise failed(f"{job} is no job. `chamberlain jobs list` shows those that are held.")
    released = in_database(
        settings,
        lambda database: JobOperations(database).release(job_id, actor=command_line(), trace_id=new_trace_id()),
        opened=opened_beside,
    )
    print(_line(released))


def _whole(settings: Settings, written: str) -> str:
    from chamberlain.cli.names import HELD_JOBS, pick

    held = in_database(settings, lambda database: JobOperations(database).list(), opened=opened_beside)
    return pick([{"id": str(each.public_id)} for each in held], written, HELD_JOBS)


def _record(job: HeldJob) -> Record:
    return {
        "id": str(job.public_id),
        "kind": job.kind,
        "heldReason": job.held_reason,
        "requestId": job.request_id and str(job.request_id),
        "tenantId": str(job.tenant_id),
        "traceId": job.trace_id,
        "queuedAt": written_time(job.queued_at),
    }


def _line(job: HeldJob) -> str:
    state = "released" if job.held_reason is None else job.held_reason
    about = "" if job.request_id is None else f" of request {job.request_id}"
    queued = job.queued_at.isoformat(timespec="seconds")
    return f"{job.public_id}  {job.kind}{about}, tenant {job.tenant_id}, trace {job.trace_id}, queued {queued}: {state}"
