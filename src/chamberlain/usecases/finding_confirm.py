"""Confirm a guest in a review: they stay, and the next review counts from now."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.port import People
from chamberlain.rules.acceptances import place_of, present_finding
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.confirmations import (
    change_of_confirmation,
    confirmed_clock,
    confirmed_finding,
    just_ended,
    not_theirs,
    require_asked,
    require_host,
    require_open_review,
    require_other,
    require_owner,
)
from chamberlain.rules.errors import TryAgain, Unavailable
from chamberlain.rules.findings import Ended, FindingRecord
from chamberlain.rules.ids import GroupId
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.permissions import Extent, Operation
from chamberlain.store import changes, confirmations, findings, idempotency, policy_clocks, policy_tasks
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class ConfirmFinding:
    """For administrators of the tenant and applications that configure it; and, where the policy leaves it to them, for
    owners of the group or site who are no guests themselves."""

    database: Database
    people: People
    authorization: Authorization
    now: Callable[[], datetime]
    patience: timedelta = policy_tasks.PATIENCE

    async def __call__(
        self, caller: Caller, finding_id: UUID, act: Act, render: Callable[[FindingRecord], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the finding as it is then. Raises Forbidden, NotFound, Conflict for what is no open
        review, and Unavailable when the directory cannot be asked for the owners or somebody else holds the group or
        site for longer than `patience`."""
        extent = await self.authorization.extent(caller, Operation.CONFIRM_FINDING)
        if extent is Extent.OWN:
            await self._require_owner(caller, finding_id)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            before, after = await self._confirm(tx, caller, finding_id, extent)
            await changes.record(tx, change_of_confirmation(before, after, editor, act))
            return render(after)

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

    async def _confirm(
        self, tx: Transaction, caller: Caller, finding_id: UUID, extent: Extent
    ) -> tuple[FindingRecord, FindingRecord]:
        """The finding before and after. Whoever writes findings of a policy holds the row of the group first."""
        seen = present_finding(await findings.find(tx, caller.tenant_id, finding_id))
        held = await policy_tasks.hold_soon(tx, place_of(seen), patience=self.patience)
        task = next(iter(await policy_clocks.read(tx, held)), None)
        before = present_finding(await findings.hold(tx, caller.tenant_id, finding_id))
        if extent is Extent.OWN:
            require_asked(task)
        require_other(caller, before)
        require_open_review(before)
        if task is None:
            raise just_ended()
        now = self.now()
        await confirmations.put(tx, task.subject, confirmed_clock(before, task, now=now))
        after = confirmed_finding(before, now=now)
        await findings.end(tx, [Ended(task.subject, before.kind, before.about, after.state)], at=now)
        return before, after

    async def _require_owner(self, caller: Caller, finding_id: UUID) -> None:
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await findings.find(tx, caller.tenant_id, finding_id)
        if record is None:
            raise not_theirs()
        group_id = GroupId(record.subject.id)
        try:
            answer = await self.people.look_up(
                PeopleQuestion(
                    caller.tenant_id,
                    users=frozenset(() if caller.user_id is None else (caller.user_id,)),
                    owners_of=frozenset((group_id,)),
                )
            )
        except TryAgain as error:
            detail = "The directory cannot be asked whether you own this. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        require_owner(caller, answer.owners.get(group_id, ()))
        require_host(answer.people.get(caller.user_id) if caller.user_id is not None else None)
