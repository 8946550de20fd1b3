"""Name approvers: an administrator says who decides on a request that nobody was found for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.port import People
from chamberlain.rules.actions import Act, KeptAnswer, RequestView, present, viewed_by
from chamberlain.rules.approval_levels import current_level, name_approvers
from chamberlain.rules.approvals import NO_APPROVER
from chamberlain.rules.callers import Actor, Caller
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.decisions import Naming, moved_on, naming_faults, require_blocked, require_others
from chamberlain.rules.errors import NotPossible, TryAgain, Unavailable
from chamberlain.rules.ids import ClientId, EventId, RequestId, TraceId
from chamberlain.rules.people import NamedPerson, PeopleAnswer, PeopleQuestion
from chamberlain.rules.permissions import Operation
from chamberlain.rules.request_events import approval_required, summary_of
from chamberlain.rules.requests import RequestRecord
from chamberlain.store import approvals, changes, idempotency, requests
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class NameApprovers:
    """For administrators of the tenant. `watchers` hear that a request has changed."""

    database: Database
    authorization: Authorization
    people: People
    watchers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def __call__(
        self,
        caller: Caller,
        request_id: RequestId,
        naming: Naming,
        act: Act,
        render: Callable[[RequestView], bytes],
    ) -> KeptAnswer:
        """What `render` makes of the request that can be decided on now. Raises NotFound, Forbidden, NotPossible when
        somebody is not in the directory, Unavailable, and Conflict when the level is not blocked."""
        await self.authorization.require(caller, Operation.NAME_APPROVERS)
        async with self.database.transaction(caller.tenant_id) as tx:
            seen = present(await requests.find(tx, request_id))
        require_others(seen, naming.users)
        answer = await self._look_up(caller, naming)
        if faults := naming_faults(naming.users, answer):
            raise NotPossible(faults)
        named = [NamedPerson(user, answer.people[user].display_name) for user in dict.fromkeys(naming.users)]
        actor = await self.authorization.actor(caller)

        async def work() -> bytes:
            before = present(await requests.hold(tx, request_id))
            after = await self._named(tx, before, naming.level, named, act.trace_id)
            await changes.record(tx, self._change(after, naming, actor, caller.client_id, act))
            return render(viewed_by(caller, after))

        async with self.database.transaction(caller.tenant_id) as tx:
            kept = await idempotency.once(tx, caller, act.idempotency, work)
        self.watchers.tell((request_id,))
        return kept

    async def _look_up(self, caller: Caller, naming: Naming) -> PeopleAnswer:
        try:
            return await self.people.look_up(PeopleQuestion(caller.tenant_id, users=frozenset(naming.users)))
        except TryAgain as error:
            detail = "The directory cannot be asked whether these users are in it. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error

    async def _named(
        self, tx: Transaction, before: RequestRecord, level: int, named: Sequence[NamedPerson], trace_id: TraceId
    ) -> RequestRecord:
        await approvals.require_served(tx)
        at = self.now()
        require_blocked(before, level, now=at)
        after = moved_on(before, name_approvers(before.approvals, named), at=at)
        await approvals.move(tx, before, after, trace_id)
        return after

    def _change(self, after: RequestRecord, naming: Naming, actor: Actor, client_id: ClientId, act: Act) -> Change:
        """The record of it, with the event that asks those who were named."""
        told = current_level(after.approvals)
        approvers = () if told is None else told.approvers
        return Change(
            tenant_id=after.tenant_id,
            action="request.nameApprovers",
            actor=actor,
            client_id=client_id,
            subject=Subject("request", after.request_id, after.display_name),
            before={"blocked": NO_APPROVER},
            after={"blocked": None, "level": naming.level, "approvers": [str(each.id) for each in approvers]},
            request_id=after.request_id,
            trace_id=act.trace_id,
            client_address=act.client_address,
            event=approval_required(
                EventId(self.new_id()),
                summary_of(after),
                level=naming.level,
                approvers=approvers,
                now=after.updated_at,
            ),
        )
