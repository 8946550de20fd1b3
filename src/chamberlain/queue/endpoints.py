# SPDX-License-Identifier: Apache-2.0
"""List and release held jobs."""

from uuid import UUID

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import format_time
from chamberlain.core.errors import NotFound
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import ACTION, ActionBody, Call, act_of
from chamberlain.http.resource import CACHE, acted
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.http.wire import Time
from chamberlain.queue.models import HeldJob, job_id_of
from chamberlain.queue.service import JobService


class Job(Struct, rename="camel", frozen=True):
    """A job; `heldReason` is null once it is released.

    `traceId` is in its log lines.
    """

    id: UUID
    tenant_id: UUID
    kind: str
    request_id: UUID | None
    held_reason: str | None
    attempts: int
    trace_id: str
    queued_at: Time


class JobPage(Struct, rename="camel", frozen=True):
    """Some held jobs, newest first; `nextCursor` is null on the last page."""

    items: tuple[Job, ...]
    next_cursor: str | None


async def list_(jobs: JobService, call: Call[None]) -> Answer:
    """List the held jobs of the tenant."""
    page = await jobs.list(call.caller, page_wanted(call))
    body = JobPage(tuple(map(_job, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def release(jobs: JobService, call: Call[ActionBody]) -> Answer:
    """Release a held job."""
    job_id = job_id_of(call.ids["jobId"])
    if job_id is None:
        raise NotFound("There is no such job that is held.")
    return acted(await jobs.release(call.caller, job_id, act_of(call), _render))


def _render(job: HeldJob) -> bytes:
    return json.encode(_job(job))


def _job(job: HeldJob) -> Job:
    return Job(
        id=job.public_id,
        tenant_id=job.tenant_id,
        kind=job.kind,
        request_id=job.request_id,
        held_reason=job.held_reason,
        attempts=job.attempts,
        trace_id=job.trace_id,
        queued_at=format_time(job.queued_at),
    )


ABOUT_LIST = About(
    id="listJobs",
    tag="Operation",
    summary="List held jobs, newest first",
    description="A job is held when it meets a bug, or when its run was cut short too often. It is not retried "
    "until an administrator releases it.",
)
ABOUT_RELEASE = About(
    id="releaseJob",
    tag="Operation",
    summary="Release a held job",
    description="It is run again at once; running a job twice does no harm. The body may be left out.",
    example={"comment": "Fixed in the new version."},
)
_EXAMPLE = {
    "id": "00000000-0000-8000-8000-00000000002a",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "kind": "groupProvision",
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "heldReason": "Its run met a bug. The log has it under this trace id.",
    "attempts": 0,
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    "queuedAt": "2026-11-20T09:30:00.000Z",
}
LISTED = (
    Success(
        200,
        "A page of held jobs.",
        JobPage,
        headers=CACHE,
        example={"items": [_EXAMPLE], "nextCursor": None},
    ),
)
RELEASED = (
    Success(
        200,
        "The job, which is held no longer.",
        Job,
        headers={
            **CACHE,
            "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
        },
        example={**_EXAMPLE, "heldReason": None},
    ),
)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
RELEASE_CODES = (
    "notAdministrator", "notFound", "idempotencyKeyReused", "idempotencyKeyInProgress", "databaseUnavailable",
    "overloaded",
)  # fmt: skip

# fmt: off
ENDPOINTS = EndpointTable(JobService, (
    Endpoint("GET", "/admin/v1/jobs/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST, LISTED, parameters=PARAMETERS,
             codes=LIST_CODES),
    Endpoint("POST", "/admin/v1/jobs/{jobId}/release/", release, Operation.ADMINISTER_SERVICE, ABOUT_RELEASE, RELEASED,
             shape=ACTION, codes=RELEASE_CODES, body_is_optional=True),
))
# fmt: on
