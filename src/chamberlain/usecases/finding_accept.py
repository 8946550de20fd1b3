"""Accept a finding: it may stand, for a reason, and until a moment where one is named."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.acceptances import (
    WantedAcceptance,
    accepted,
    change_of_acceptance,
    place_of,
    present_finding,
    require_at_rest,
    require_not_removed,
)
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.findings import FindingRecord
from chamberlain.rules.jobs import JobKind
from chamberlain.rules.permissions import Operation
from chamberlain.shapes.acceptances import require_ahead
from chamberlain.store import acceptances, changes, findings, idempotency, jobs, policy_clocks, policy_tasks
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class AcceptFinding:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization
    now: Callable[[], datetime]
    patience: timedelta = policy_tasks.PATIENCE

    async def __call__(
        self,
        caller: Caller,
        finding_id: UUID,
        wanted: WantedAcceptance,
        act: Act,
        render: Callable[[FindingRecord], bytes],
    ) -> KeptAnswer:
        """What `render` makes of the finding as it is then. Raises Forbidden, BodyInvalid for an end that has passed,
        NotFound, Conflict for a finding that does not stand any more, and Unavailable when somebody else holds the
        group or site for longer than `patience`."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            now = self.now()
            require_ahead(wanted, now=now)
            # Whoever runs the policy of a group holds its row first, and then writes findings.
            seen = present_finding(await findings.find(tx, caller.tenant_id, finding_id))
            held = await policy_tasks.hold_soon(tx, place_of(seen), patience=self.patience)
            tasks = await policy_clocks.read(tx, held)
            before = present_finding(await findings.hold(tx, caller.tenant_id, finding_id))
            require_at_rest(before, [clock for task in tasks for clock in task.clocks])
            require_not_removed(before, is_applied=await acceptances.is_applied(tx, before))
            after = accepted(before, wanted, editor, now=now)
            await acceptances.put(tx, after)
            await changes.record(tx, change_of_acceptance(before, after, editor))
            # The end that was named before holds no more. One that a worker is just at sees that by itself.
            await jobs.withdraw(tx, JobKind.FINDING_REOPEN, finding_id)
            if wanted.until is not None:
                await jobs.queue_at(tx, JobKind.FINDING_REOPEN, finding_id, act.trace_id, at=wanted.until)
            return render(after)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)
