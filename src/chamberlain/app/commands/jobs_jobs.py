"""Held jobs, for whoever has the database: shown and released, beside the running service."""

import asyncio
import sys
from uuid import UUID

import typer

from chamberlain.app.commands.jobs_jobs_by_hand import held_jobs, release_job
from chamberlain.core.errors import CannotStart, NotFound
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.queue.models import HeldJob, job_id_of
from chamberlain.settings import Settings


def list_jobs(settings: Settings) -> None:
    """Print one line for each held job."""
    try:
        held = asyncio.run(held_jobs(settings))
    except CannotStart as error:
        raise _failed(str(error)) from error
    for job in held:
        print(_line(job))
    if not held:
        print("No job is held.")


def release(settings: Settings, name: str) -> None:
    """Let a job run again, and print it."""
    job_id = job_id_of(UUID(name)) if WRITTEN_ID.fullmatch(name) else None
    if job_id is None:
        raise _failed(f"{name} is no job. `chamberlain jobs list` shows those that are held.")
    try:
        print(_line(asyncio.run(release_job(settings, job_id))))
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
