# SPDX-License-Identifier: Apache-2.0
"""List, read and watch requests, and act on them.

Callers see their own requests and those that they decide or have decided on. Administrators see all of the tenant's.
Other requests do not exist for a caller.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Actor, Caller
from chamberlain.auth.permissions import Extent, Operation
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.records import record_change
from chamberlain.core.errors import Forbidden, Malformed, NotPossible, Unavailable
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import ClientId, EventId, RequestId, TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.core.reasons import Reason
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import PLANNING, Database, Transaction
from chamberlain.directory.models import NamedPerson
from chamberlain.directory.port import People
from chamberlain.http import idempotency
from chamberlain.queue import jobs as queue_jobs
from chamberlain.requests import records, store
from chamberlain.requests import store as request_store
from chamberlain.requests.actions import Carry, Done, cancel, perform
from chamberlain.requests.approvals import (
    current_level,
    name_approvers,
    was_asked,
)
from chamberlain.requests.decisions import Decisions, WantedDecision, look_up
from chamberlain.requests.events import (
    approval_required,
    request_retried,
    summary_of,
)
from chamberlain.requests.fields import TemplateFields
from chamberlain.requests.models import (
    NO_APPROVER,
    RequestFilter,
    RequestRecord,
    ShownField,
    job_kind_of,
)
from chamberlain.requests.replies import ReplyTokens, parse_reply, require_sender
from chamberlain.requests.rules import (
    Action,
    Deed,
    Naming,
    RequestView,
    is_only_approver,
    moved_on,
    naming_faults,
    not_now,
    operation_of,
    parked,
    present,
    require_approver,
    require_blocked,
    require_others,
    viewed,
    viewed_by,
)
from chamberlain.requests.steps import Happenings
from chamberlain.requests.store import RequestLooks
from chamberlain.requests.timeline import Timelines, follow, follow_while_concerned
from chamberlain.requests.visibility import concerns, require_requester, require_visible


@dataclass(slots=True)
class RequestService:
    """List, read, watch, decide, cancel and retry requests.

    `workers` are notified of new work, `watchers` of each change. Every method raises Forbidden for callers without
    the permission, and Unavailable if the directory has to answer and does not. Actions return what their `render`
    makes of the request; a repeated idempotency key returns the first answer. `broken` returns the reason while the
    connection of a tenant to its directory is broken.
    """

    database: Database
    authorization: Authorization
    people: People
    looks: RequestLooks
    timelines: Timelines
    workers: Notifier
    watchers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    reply_tokens: ReplyTokens
    broken: Callable[[TenantId], Reason | None] = lambda _: None
    fields: TemplateFields = field(default_factory=TemplateFields)

    @property
    def _decisions(self) -> Decisions:
        return Decisions(self.people, self.new_id, self.now)

    async def list(self, caller: Caller, wanted: RequestFilter, page: PageWanted) -> Page[RequestView]:
        """List the visible requests that match the filter, newest first."""
        allowance = self.authorization.allowance(caller, Operation.READ_REQUESTS)
        is_own = wanted.mine or wanted.to_decide
        if wanted.mine and allowance.plain is not None:
            # Own requests need no answer of the directory.
            extent = Extent.OWN
        elif is_own and allowance.plain is not None:
            extent = Extent.ALL if await self._may_end(caller) else Extent.OWN
        else:
            extent = await self.authorization.extent(caller, Operation.READ_REQUESTS)
        user = caller.user_id
        if wanted.to_decide and (wanted.mine or user is None):
            # Users do not decide on their own requests, and applications on none.
            return Page([], None)
        owner = caller.id if extent is Extent.OWN or is_own else None
        # Users do not decide on their own requests.
        decider = None if wanted.mine else user
        async with self.database.transaction(caller.tenant_id, first=PLANNING) as tx:
            found = await store.find_page(tx, wanted, owner=owner, page=page)
            turn = frozenset[RequestId]() if decider is None else await store.to_decide(tx, decider, found.items)
        views = [
            viewed(
                self._shown(each),
                to_decide=each.request_id in turn,
                may_end=extent is Extent.ALL or each.created_by.id == caller.id,
            )
            for each in found.items
        ]
        return Page(views, found.next)

    async def list_to_decide(self, caller: Caller, page: PageWanted) -> Page[RequestView]:
        """List the requests that wait for the caller's decision, soonest deadline first.

        They have bodies, levels and fields.
        """
        await self.authorization.require(caller, Operation.DECIDE_REQUEST)
        user = caller.user_id
        if user is None:
            return Page([], None)
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await store.find_to_decide(tx, user, page)
        if not found.items:
            return Page([], None)
        may_end = await self._may_end(caller)
        fields = await self.fields.show_all(self.database, self.people, found.items)
        views = [
            replace(viewed_by(caller, record, may_end=may_end), fields=shown)
            for record, shown in zip(found.items, fields, strict=True)
        ]
        return Page(views, found.next)

    async def count_to_decide(self, caller: Caller, *, most: int) -> int:
        """Count the requests that wait for the caller's decision, at most `most`."""
        user = caller.user_id
        return 0 if user is None else await store.count_at_once(self.database, caller.tenant_id, user, most=most)

    async def review(self, caller: Caller, request_id: RequestId) -> RequestView:
        """Read a request to decide on it, or its decisions.

        After another approver has closed a level, those who were asked see the state and the decisions, but neither
        body nor steps. Raises NotFound.
        """
        await self.authorization.require(caller, Operation.DECIDE_REQUEST)
        found = await self.looks.find(caller.tenant_id, request_id)
        if found is None or concerns(found, caller) or not was_asked(found.approvals, caller.user_id):
            return await self._view_visible(caller, found)
        if await self._may_end(caller):
            return await self._view_visible(caller, found)
        return viewed_by(caller, replace(found, body=b"{}", steps=()))

    async def read(self, caller: Caller, request_id: RequestId) -> RequestView:
        """Read a request. Raises NotFound."""
        return await self._view_visible(caller, await self.looks.find(caller.tenant_id, request_id))

    async def _view_visible(self, caller: Caller, found: RequestRecord | None) -> RequestView:
        record = await require_visible(self.authorization, caller, Operation.READ_REQUESTS, found)
        return replace(await self.view(caller, record), fields=await self._fields(record))

    async def view(self, caller: Caller, record: RequestRecord) -> RequestView:
        """Return a visible request with the caller's actions. Raises nothing."""
        may_end = is_only_approver(caller, record) and await self._may_end(caller)
        return viewed_by(caller, self._shown(record), may_end=may_end)

    async def _fields(self, record: RequestRecord) -> tuple[ShownField, ...]:
        """Return the custom fields of a request. No transaction may be open."""
        return await self.fields.show(self.database, self.people, record)

    def _shown(self, record: RequestRecord) -> RequestRecord:
        broken = self.broken(record.tenant_id)
        return record if broken is None else parked(record, broken)

    async def watch(self, caller: Caller, request_id: RequestId, after: int) -> Happenings | None:
        """Follow the events after number `after`, on any process.

        None if the request has finished and there are no more events. Raises NotFound, and Malformed for a number
        that does not exist yet. Following raises nothing.
        """
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await records.find(tx, request_id)
        record = await require_visible(self.authorization, caller, Operation.READ_REQUESTS, found)
        timeline = await self.timelines.find(record.tenant_id, request_id)
        if timeline is None or (timeline.has_ended and timeline.newest == after):
            return None
        if timeline.newest < after:
            sentence = "The timeline has not come to event {event}; watch it from its start."
            raise Malformed.build("invalidParameter", sentence, event=after)
        # Many callers may follow for long, and no event has the body, which may be large.
        followed = replace(record, body=b"", steps=())
        allowance = self.authorization.allowance(caller, Operation.READ_REQUESTS)
        if allowance.plain is None or not concerns(record, caller):
            return follow(self.timelines, followed, after)
        return follow_while_concerned(self.timelines, caller, followed, after)

    async def approve(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """Approve a request as an approver of the current level.

        Raises NotFound, and Conflict if the caller is no approver of that level or the deadline is over.
        """
        return await self._decide(Action.APPROVE, caller, request_id, act, render)

    async def reject(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """Reject a request as an approver of the current level.

        Raises like `approve`.
        """
        return await self._decide(Action.REJECT, caller, request_id, act, render)

    async def name_approvers(
        self,
        caller: Caller,
        request_id: RequestId,
        naming: Naming,
        act: Act,
        *,
        render: Callable[[RequestView], bytes],
    ) -> KeptAnswer:
        """Name the approvers of a level that has none. For administrators.

        Raises NotFound, NotPossible for users who are not in the directory, and Conflict if the level is not blocked.
        """
        await self.authorization.require(caller, Operation.NAME_APPROVERS)
        seen = present(await self._find(caller, request_id))
        require_others(seen, naming.users)
        detail = "The directory cannot be asked whether these users are in it. Send the request again."
        answer = await look_up(self.people, caller.tenant_id, frozenset(naming.users), detail)
        if faults := naming_faults(naming.users, answer):
            raise NotPossible(faults)
        named = [NamedPerson(user, answer.people[user].display_name) for user in dict.fromkeys(naming.users)]
        actor, fields = await self.authorization.actor(caller), await self._fields(seen)

        async def work() -> bytes:
            before = present(await records.hold(tx, request_id))
            after = await self._name(tx, before, naming.level, named, act.trace_id)
            await record_change(tx, self._change_of_naming(after, naming, actor, caller.client_id, act))
            return render(replace(viewed_by(caller, after, may_end=True), fields=fields))

        async with self.database.transaction(caller.tenant_id) as tx:
            kept = await idempotency.once(tx, caller, act.idempotency, work)
        self.watchers.tell((request_id,))
        return kept

    async def cancel(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """Cancel an unfinished request and release its names. For requesters and administrators.

        Objects in the directory stay. Raises NotFound, and Conflict if it is too late.
        """

        async def carry(tx: Transaction, before: RequestRecord, _: Actor) -> Done:
            return await cancel(tx, before, event_id=EventId(self.new_id()), at=self.now())

        return await self._act(Action.CANCEL, caller, request_id, act, carry=carry, render=render)

    async def retry(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """Queue a failed request again. For requesters and administrators.

        It continues at the step that failed. Raises NotFound, and Conflict if it has not failed.
        """

        async def carry(tx: Transaction, before: RequestRecord, actor: Actor) -> Done:
            after = await records.retry(tx, before, at=self.now())
            if after is None:
                raise not_now(Action.RETRY, before.state)
            await queue_jobs.queue(tx, job_kind_of(before.kind), request_id, act.trace_id)
            event_id, summary = EventId(self.new_id()), summary_of(after)
            return Done(after, request_retried(event_id, summary, changed_by=actor, now=after.updated_at))

        answer = await self._act(Action.RETRY, caller, request_id, act, carry=carry, render=render)
        self.workers.flag()
        return answer

    async def reply(
        self, caller: Caller, mail: bytes, act: Act, render: Callable[[Action, RequestRecord], bytes]
    ) -> KeptAnswer:
        """Decide by a reply to an approval mail. For applications.

        The decision is that of the user whom the mail asked. Raises NotPossible with the reason why the mail decides
        nothing, and like `approve`.
        """
        await self.authorization.require(caller, Operation.REPLY_BY_MAIL)
        # A hostile mail can take a second.
        reply = await asyncio.to_thread(parse_reply, mail)
        asking = self.reply_tokens.read(reply.token, caller.tenant_id)
        seen = present(await self._find(caller, asking.request_id))
        wanted = WantedDecision(asking, reply.action, reply.reason, "mail")
        prepared = await self._decisions.prepare(seen, wanted, act, caller.client_id)
        require_sender(reply, prepared.person.mail)
        deed, carry = prepared.deed, prepared.carry
        answer = await self._perform(caller, deed, carry, lambda after: render(reply.action, after))
        self.workers.flag()
        return answer

    async def _decide(
        self, action: Action, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        seen = await self._find_to_decide(caller, request_id)
        user = require_approver(seen, caller)
        _, gone = await self._decisions.approvers_gone(seen, user)
        actor = await self.authorization.actor(caller)
        deed = Deed(action, caller.client_id, actor, act, request_id)
        may_end = await self._may_end(caller)
        fields = await self._fields(seen)
        answer = await self._perform(
            caller,
            deed,
            self._decisions.decision(deed, user, gone),
            lambda after: render(replace(viewed_by(caller, after, may_end=may_end), fields=fields)),
        )
        self.workers.flag()
        return answer

    async def _find_to_decide(self, caller: Caller, request_id: RequestId) -> RequestRecord:
        """Find the request. Former approvers may learn that their level is closed."""
        await self.authorization.require(caller, Operation.DECIDE_REQUEST)
        found = await self._find(caller, request_id)
        if found is not None and (concerns(found, caller) or was_asked(found.approvals, caller.user_id)):
            return found
        return await require_visible(self.authorization, caller, Operation.READ_REQUESTS, found)

    async def _name(
        self, tx: Transaction, before: RequestRecord, level: int, named: Sequence[NamedPerson], trace_id: TraceId
    ) -> RequestRecord:
        await request_store.require_served(tx)
        at = self.now()
        require_blocked(before, level, now=at)
        after = moved_on(before, name_approvers(before.approvals, named), at=at)
        await request_store.move(tx, before, after, trace_id)
        return after

    def _change_of_naming(
        self, after: RequestRecord, naming: Naming, actor: Actor, client_id: ClientId, act: Act
    ) -> Change:
        """Return the audit row, with the event that asks the named approvers."""
        level = current_level(after.approvals)
        approvers = () if level is None else level.approvers
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

    async def _act(
        self,
        action: Action,
        caller: Caller,
        request_id: RequestId,
        act: Act,
        *,
        carry: Carry,
        render: Callable[[RequestView], bytes],
    ) -> KeptAnswer:
        """Act as the requester or an administrator."""
        operation, found = operation_of(action), await self._find(caller, request_id)
        record = await require_visible(self.authorization, caller, operation, found)
        await require_requester(self.authorization, caller, operation, record)
        actor = await self.authorization.actor(caller)
        deed = Deed(action, caller.client_id, actor, act, request_id)
        fields = await self._fields(record)
        return await self._perform(
            caller, deed, carry, lambda after: render(replace(viewed_by(caller, after, may_end=True), fields=fields))
        )

    async def _may_end(self, caller: Caller) -> bool:
        """Return whether the caller may cancel and retry as an administrator.

        Not known while the directory does not answer: then False.
        """
        try:
            return await self.authorization.extent(caller, Operation.CANCEL_OR_RETRY_REQUEST) is Extent.ALL
        except (Forbidden, Unavailable):
            return False

    async def _perform(
        self, caller: Caller, deed: Deed, carry: Carry, render: Callable[[RequestRecord], bytes]
    ) -> KeptAnswer:
        """Act for a caller who is already authorized."""

        async def work() -> bytes:
            return render(await perform(tx, deed, carry))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, deed.act.idempotency, work)
        self.watchers.tell((deed.request_id,))
        return answer

    async def _find(self, caller: Caller, request_id: RequestId) -> RequestRecord | None:
        """Find a request without authorization."""
        async with self.database.transaction(caller.tenant_id) as tx:
            return await records.find(tx, request_id)
