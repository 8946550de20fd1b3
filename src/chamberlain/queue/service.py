# SPDX-License-Identifier: Apache-2.0
"""List and release held jobs.

A job is held when its run meets a bug, or is cut short too often.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Actor, Caller
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.records import record_change
from chamberlain.core.errors import NotFound
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import ClientId, JobId, TraceId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.http import idempotency
from chamberlain.queue import jobs
from chamberlain.queue.models import HeldJob


@dataclass(slots=True)
class JobService:
    """List and release the held jobs of a tenant.

    Every method raises Forbidden for callers who are not administrators, and Unavailable. `workers` are notified of
    released jobs.
    """

    database: Database
    authorization: Authorization
    workers: Notifier

    async def list(self, caller: Caller, page: PageWanted) -> Page[HeldJob]:
        """List held jobs, newest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await jobs.find_page(tx, page)

    async def release(self, caller: Caller, job_id: JobId, act: Act, render: Callable[[HeldJob], bytes]) -> KeptAnswer:
        """Release a held job and return the result of `render`.

        Raises NotFound.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        actor = await self.authorization.actor(caller)

        async def work() -> bytes:
            held = await jobs.release(tx, job_id)
            return render(await _record_release(tx, held, actor, caller.client_id, act))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer


@dataclass(frozen=True, slots=True)
class JobOperations:
    """List and release the held jobs of all tenants.

    For the command line. `database` has the worker's role. Every method raises Unavailable.
    """

    database: Database

    async def list(self) -> Sequence[HeldJob]:
        """List held jobs, oldest first."""
        async with self.database.across_tenants() as tx:
            return await jobs.find_all(tx)

    async def release(self, job_id: JobId, *, actor: Actor, trace_id: TraceId) -> HeldJob:
        """Release a held job; workers find it at their next poll.

        Raises NotFound.
        """
        async with self.database.across_tenants() as tx:
            held = await jobs.release_of_any(tx, job_id)
            return await _record_release(tx, held, actor, None, Act(None, None, trace_id))


async def _record_release(
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
    await record_change(tx, change)
    return replace(held, held_reason=None, attempts=0)
