# SPDX-License-Identifier: Apache-2.0
"""Check for drift on demand, and repair findings on request."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.changes.records import record_change
from chamberlain.core.errors import Unavailable
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import RequestId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database
from chamberlain.directory.steps import Step
from chamberlain.drift import store
from chamberlain.drift.models import DriftCheck, RepairDraft, check_change
from chamberlain.drift.rules import repair_change, require_no_repair, require_repairable
from chamberlain.guests import finding_records
from chamberlain.guests.findings.rules import present_finding
from chamberlain.http import idempotency
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import JobKind
from chamberlain.requests import records as request_records
from chamberlain.requests.models import begin_steps
from chamberlain.requests.rules import RequestView, viewed
from chamberlain.requests.rules import present as present_request
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import present

UPGRADING = "The service is being upgraded. Requests that repair are accepted after the last migration."
UPGRADE_WAIT = timedelta(minutes=1)


@dataclass(slots=True)
class DriftService:
    """Start drift checks and repairs in a tenant.

    Every method raises Forbidden for callers who are not administrators. It raises Unavailable if the directory does
    not
    answer whether the caller is one. `workers` are notified of due jobs.
    """

    database: Database
    authorization: Authorization
    workers: Notifier
    new_id: Callable[[], UUID]
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

    async def repair(
        self, caller: Caller, finding_id: UUID, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """Request the repair of a finding.

        Returns the answer that `render` builds from the request. Raises NotFound, and Conflict for a finding that is
        closed, that no repair changes, or that is being repaired.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            finding = present_finding(await finding_records.lock(tx, caller.tenant_id, finding_id))
            require_repairable(finding)
            if not await store.accepts_repairs(tx):
                raise Unavailable("overloaded", UPGRADING, after=UPGRADE_WAIT)
            require_no_repair(await store.running_repair(tx, finding))
            steps = begin_steps((Step.REPAIR_DRIFT,))
            draft = RepairDraft(RequestId(self.new_id()), act.said, steps, editor, self.now())
            await store.request_repair(tx, finding, draft)
            await record_change(tx, repair_change(finding, draft))
            return render(viewed(present_request(await request_records.find(tx, draft.request_id))))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer
