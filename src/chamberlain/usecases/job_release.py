"""Release a held job: somebody has mended the cause, and it may run again."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Actor, Caller
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.errors import NotFound
from chamberlain.rules.ids import ClientId, JobId, TraceId
from chamberlain.rules.jobs import HeldJob
from chamberlain.rules.permissions import Operation
from chamberlain.store import changes, held_jobs, idempotency
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class ReleaseJob:
    """For administrators of the tenant, and applications that configure it. `workers` hear that there is something to
    do."""

    database: Database
    authorization: Authorization
    workers: Notifier

    async def __call__(self, caller: Caller, job_id: JobId, act: Act, render: Callable[[HeldJob], bytes]) -> KeptAnswer:
        """What `render` makes of the released job. Raises NotFound and Forbidden."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        actor = await self.authorization.actor(caller)

        async def work() -> bytes:
            held = await held_jobs.release(tx, job_id)
            return render(await _released(tx, held, actor, caller.client_id, act))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer


@dataclass(frozen=True, slots=True)
class ReleaseJobByHand:
    """For whoever has the database, as the worker's role; the workers find the job at their next look."""

    database: Database

    async def __call__(self, job_id: JobId, *, actor: Actor, trace_id: TraceId) -> HeldJob:
        """Raises NotFound."""
        async with self.database.across_tenants() as tx:
            held = await held_jobs.release_of_any(tx, job_id)
            return await _released(tx, held, actor, None, Act(None, None, trace_id))


async def _released(
    tx: Transaction, held: HeldJob | None, actor: Actor, client_id: ClientId | None, act: Act
) -> HeldJob:
    if held is None:
        raise NotFound("There is no such job that is held.")
    change = Change(
        tenant_id=held.tenant_id,
        action="job.release",
        actor=actor,
        client_id=client_id,
        subject=Subject("job", held.public_id, held.kind),
        before={"heldReason": held.held_reason, "attempts": held.attempts},
        after={"heldReason": None, "attempts": 0, **act.said},
        request_id=held.request_id,
        trace_id=act.trace_id,
        client_address=act.client_address,
    )
    await changes.record(tx, change)
    return replace(held, held_reason=None, attempts=0)
