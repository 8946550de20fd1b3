# SPDX-License-Identifier: Apache-2.0
"""Write the results of claimed jobs in one transaction.

Requests, events and deliveries are written with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.changes.models import Event
from chamberlain.changes.records import actor_of, append_events
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId, TraceId, UserId
from chamberlain.core.reasons import Reason, kept_causes
from chamberlain.core.waits import leave_out
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Record, Transaction
from chamberlain.events import outbox
from chamberlain.events.outbox import Telling
from chamberlain.queries import load_queries
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import HELD, PROVISIONING, Claim, Job, Postponed
from chamberlain.requests.models import RequestKind, RequestResult, StepRecord
from chamberlain.requests.records import shorten
from chamberlain.requests.steps import Settlement, Task

SQL = load_queries(__name__)


def prefix_of_request(request: str, at: str) -> str:
    """Return the SQL of a request's prefix.

    It is the stored one, else the one at the time of acceptance. `request` is the alias of the request, `at` the time
    of acceptance; the tenant has the alias `t`. No function is called for tenants that never changed their prefix.
    """
    then = f"chamberlain.prefix_at({at}, t.extension_prefix, t.former_prefixes, t.former_until)"
    return (
        f"coalesce({request}.extension_prefix, "
        f"CASE WHEN t.former_prefixes = '{{}}' THEN t.extension_prefix ELSE {then} END)"
    )


_PREFIX: Final = prefix_of_request("r", "r.created_at")

# The prefix of the marks is stored before any write to the directory. If the tenant's prefix changes, the next attempt
# still finds the objects of this one. A running request whose worker is gone is claimed again: no job holds a lease on
# it. A request is new if it runs for the first time. The updated row shows that, because the row before the update may
# be older than the one that this statement waited for.
TAKE_UP = f"""
UPDATE chamberlain.request r SET state = 'running', extension_prefix = {_PREFIX}, updated_at = now(), waiting = NULL,
    timeline = CASE WHEN r.state = 'running' THEN r.timeline ELSE r.timeline || jsonb_build_array(
        jsonb_build_object('kind', 'state', 'state', jsonb_build_object('state', 'running', 'at', now()))
    ) END
FROM chamberlain.tenant t
WHERE r.request_id = ANY ($1) AND r.state IN ('queued', 'waiting', 'running') AND t.tenant_id = r.tenant_id
RETURNING r.request_id, r.tenant_id, r.kind, r.display_name, r.mail_nickname, r.address, r.template_id,
r.template_revision, r.body, r.people_checked, r.steps, r.client_id, r.actor_type, r.actor_id, r.actor_name,
r.trace_id, r.created_at, r.extension_prefix, r.made, t.directory_parked_at, t.directory_unparked_at,
    jsonb_path_query_array(r.timeline, '$[*].state ? (@.state == "running")')
        = jsonb_build_array(jsonb_build_object('state', 'running', 'at', now())) AS is_new
"""  # noqa: S608 - text of ours alone.


_encode = msgspec.json.Encoder().encode
_decode_steps = msgspec.json.Decoder(tuple[StepRecord, ...]).decode
_decode_result = msgspec.json.Decoder(RequestResult).decode


async def take_up(tx: Transaction, request_ids: Sequence[UUID]) -> Sequence[Task]:
    """Mark requests as running before any write to the directory.

    Cancelled ones are left out.
    """
    return [
        task_of(
            row,
            steps=taken_steps(row),
            is_new=row["is_new"],
            made=row["made"] and _decode_result(row["made"]).id,
        )
        for row in await tx.fetch(TAKE_UP, request_ids)
    ]


def taken_steps(row: Record) -> tuple[StepRecord, ...]:
    """Decode the steps of a claimed request.

    The time in which the jobs of its tenant were parked counts for nothing.
    """
    steps = _decode_steps(row["steps"])
    began, ended = row["directory_parked_at"], row["directory_unparked_at"]
    if began is None or ended is None:
        return steps
    return tuple(
        [step if step.waited is None else replace(step, waited=leave_out(step.waited, began, ended)) for step in steps]
    )


async def hold_up(tx: Transaction, tenant_id: TenantId, request_id: RequestId, reason: Reason) -> None:
    """Let a request wait until an administrator releases its job.

    Finished requests stay unchanged.
    """
    await tx.execute(SQL["hold_up"], tenant_id, request_id, reason.sentence, _json(reason.cause))


async def put_down(tx: Transaction, settlements: Sequence[Settlement]) -> None:
    """Write the progress of running requests."""
    await tx.execute(
        SQL["put_down"],
        [each.request_id for each in settlements],
        [each.progress.state for each in settlements],
        [_encode(each.progress.steps).decode() for each in settlements],
        [_json(each.progress.waiting) for each in settlements],
        [_json(each.progress.error) for each in settlements],
        [_json(each.result) for each in settlements],
        [each.people_checked for each in settlements],
        [each.at for each in settlements],
        [each.finished_at for each in settlements],
        [_encode(each.timeline).decode() for each in settlements],
        [_json(each.made) for each in settlements],
        [_json([warning.sentence for warning in each.warnings] or None) for each in settlements],
        [_json(kept_causes(each.warnings) or None) for each in settlements],
    )
    if named := {each.request_id: each.caller_name for each in settlements if each.caller_name}:
        await tx.execute(SQL["name_callers"], list(named), list(named.values()))
    if growing := [each.request_id for each in settlements if each.may_come_again]:
        await shorten(tx, growing)


def task_of(row: Record, *, steps: tuple[StepRecord, ...], is_new: bool, made: UUID | None = None) -> Task:
    """Convert a row to a task."""
    return Task(
        request_id=RequestId(row["request_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        kind=RequestKind(row["kind"]),
        display_name=row["display_name"],
        mail_nickname=row["mail_nickname"],
        mail=row["address"],
        template_id=TemplateId(row["template_id"]),
        template_revision=row["template_revision"],
        body=row["body"].encode(),
        people_checked=row["people_checked"],
        steps=steps,
        client_id=ClientId(row["client_id"]),
        caller=UserId(row["actor_id"]),
        created_by=actor_of(row),
        trace_id=TraceId(row["trace_id"]),
        created_at=row["created_at"],
        extension_prefix=row["extension_prefix"],
        is_new=is_new,
        made=made,
    )


def _json(value: object) -> str | None:
    return None if value is None else _encode(value).decode()


@dataclass(frozen=True, slots=True)
class Settled:
    """The settlement of a request and its event.

    With `task`, the template's webhook gets the event.
    """

    settlement: Settlement
    event: Event | None
    task: Task | None

    @property
    def telling(self) -> Telling | None:
        """Return the delivery to the webhook, if there is one."""
        if self.event is None or self.task is None:
            return None
        return Telling(self.event, self.task.template_id, self.task.trace_id)


async def settle(tx: Transaction, claim: Claim, settled: Sequence[Settled], *, now: datetime) -> Sequence[RequestId]:
    """Write the results of a claim, and return the changed requests.

    Jobs that another worker has claimed meanwhile are skipped. The job of a cancelled request is complete.
    """
    by_subject = {each.settlement.request_id: each for each in settled}
    waits = [
        Postponed(job.id, again - now)
        for job in claim.jobs
        if (each := by_subject.get(_request(job)))
        and (waiting := each.settlement.progress.waiting)
        and (again := waiting.next_attempt_at)
    ]
    postponed = {wait.job_id for wait in waits}
    ended = [job.id for job in claim.jobs if job.id not in postponed]
    ours = await queue_jobs.complete(tx, claim.lease_id, ended) | await queue_jobs.postpone(tx, claim.lease_id, waits)
    kept = [by_subject[_request(job)] for job in claim.jobs if job.id in ours and _request(job) in by_subject]
    await put_down(tx, [each.settlement for each in kept])
    await append_events(tx, [each.event for each in kept if each.event is not None])
    await outbox.accept(tx, [telling for each in kept if (telling := each.telling) is not None])
    return [each.settlement.request_id for each in kept]


def _request(job: Job) -> RequestId:
    return RequestId(job.subject)


@dataclass(frozen=True, slots=True)
class RequestJobHolder:
    """Hold jobs until an administrator releases them.

    `database` has the worker's role. `watchers` are notified that the request has changed.
    """

    database: Database
    watchers: Notifier

    async def hold(self, claim: Claim, job: Job, reason: str) -> None:
        """Hold a claimed job, unless another worker has taken it over.

        The reason is for administrators. Raises Unavailable.
        """
        async with self.database.across_tenants() as tx:
            if not await queue_jobs.hold(tx, claim.lease_id, job.id, reason) or job.kind not in PROVISIONING:
                return
            await hold_up(tx, job.tenant_id, RequestId(job.subject), HELD)
        self.watchers.tell([RequestId(job.subject)])
