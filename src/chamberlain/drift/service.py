"""Check for drift on demand."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.changes.records import record_change
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database
from chamberlain.drift import store
from chamberlain.drift.models import DriftCheck, check_change
from chamberlain.http import idempotency
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import JobKind
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import present


@dataclass(slots=True)
class DriftService:
    """Start drift checks in a tenant.

    Every method raises Forbidden for callers who are not administrators. It raises Unavailable if the directory does
    not
    answer whether the caller is one. `workers` are notified of due jobs.
    """

    database: Database
    authorization: Authorization
    workers: Notifier
    now: Callable[[], datetime]

    async def check(self, caller: Caller, act: Act, render: Callable[[DriftCheck], bytes]) -> KeptAnswer:
        """Start a check and return the answer that `render` builds from it.

        The check starts at once, or after the one that is running. Raises NotFound if the tenant has no settings.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            tenant = present(await tenant_records.find_record(tx, caller.tenant_id)).tenant
            asked = await store.request_check(tx, act.trace_id, at=self.now())
            # Releases a job that is held after a bug.
            await queue_jobs.release_of(tx, JobKind.DRIFT_CHECK, caller.tenant_id)
            await record_change(tx, check_change(tenant, editor, act.said))
            return render(asked)

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer
