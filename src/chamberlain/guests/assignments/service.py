"""List and read groups and sites, and assign to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Editor, require_match
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import EventId, GroupId, RequestId, TenantId
from chamberlain.core.paging import NamedPage, NamedPageWanted
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.port import Subjects
from chamberlain.directory.subjects import SubjectType
from chamberlain.groups.provision import GuestRuleDraft, ReadyGroup
from chamberlain.guests.assignments import store
from chamberlain.guests.assignments.rules import (
    AssignmentContext,
    AssignmentDraft,
    NewGroup,
    NewGroupDraft,
    WantedAssignment,
    apply_draft,
    draft_change,
)
from chamberlain.guests.assignments.store import Assigner
from chamberlain.guests.models import Assignment
from chamberlain.guests.subjects import records as subject_records
from chamberlain.guests.subjects import store as subject_store
from chamberlain.guests.subjects.import_subject import import_subject
from chamberlain.guests.subjects.models import SubjectFilter, SubjectRecord, new_entry, unknown_subject
from chamberlain.templates.drafts import Moment

# Optimistic-lock retries. So many conflicts in a row mean a bug or a hot row.
MAX_CONFLICTS = 100


@dataclass(slots=True)
class AssignmentService:
    """List, read and change the assignments of groups and sites.

    Every method raises Forbidden for callers who neither administer the tenant nor manage its groups and sites. It
    raises Unavailable if the directory does not answer. `workers` are notified of each change.
    """

    database: Database
    directory: Subjects
    authorization: Authorization
    assigner: Assigner
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def list(self, caller: Caller, wanted: SubjectFilter, page: NamedPageWanted) -> NamedPage[SubjectRecord]:
        """List groups or sites by name, assigned or not."""
        await self.authorization.require(caller, Operation.READ_MANAGED)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await subject_store.find_page(tx, wanted, page)

    async def read(self, caller: Caller, group_id: GroupId, wanted: SubjectType) -> SubjectRecord:
        """Read a group or site. Raises NotFound."""
        await self.authorization.require(caller, Operation.READ_MANAGED)
        found = await self._find(caller.tenant_id, group_id)
        if found is None or found.entry.type is not wanted:
            await self._import(caller.tenant_id, group_id, wanted)
            found = await self._find(caller.tenant_id, group_id)
        if found is None:
            raise unknown_subject(wanted)
        return found

    async def assign(self, caller: Caller, wanted: WantedAssignment) -> SubjectRecord:
        """Assign to a group or site and return it.

        The order has a guest template, a guest policy or both. The change is durable, and a request of kind assignment
        is written with it; its steps change the directory. An assignment that exists already is neither written nor
        audited. It is requested again if its steps were cancelled or have failed. Raises NotFound, Stale, and
        NotPossible with all errors.
        """
        await self.authorization.require(caller, Operation.ASSIGN)
        edit = wanted.edit
        editor = await self.authorization.editor(caller, edit)
        async with self.assigner.turn(caller.tenant_id, wanted.id):
            for _ in range(MAX_CONFLICTS):
                context = await self._context(caller.tenant_id, wanted)
                draft = self._draft(context, wanted, editor)
                if draft is None:
                    return context.record
                if await self.assigner.change(draft):
                    self.workers.flag()
                    return apply_draft(draft)
        raise Unavailable("overloaded", "This group changes too fast. Send the request again.")

    async def _context(self, tenant_id: TenantId, wanted: WantedAssignment) -> AssignmentContext:
        found = await self.assigner.context(tenant_id, wanted.id, wanted.order)
        if found is None or found.record.entry.type is not wanted.type:
            # Discovery has not found it yet, or the group got a site since.
            await self._import(tenant_id, wanted.id, wanted.type)
            found = await self.assigner.context(tenant_id, wanted.id, wanted.order)
        if found is None:
            raise unknown_subject(wanted.type)
        return found

    def _draft(self, context: AssignmentContext, wanted: WantedAssignment, editor: Editor) -> AssignmentDraft | None:
        """Return the change to write, None if the assignment exists already."""
        require_match(context.record.etag, wanted.edit, str(wanted.type))
        return draft_change(
            context,
            wanted.order,
            editor,
            request_id=RequestId(self.new_id()),
            body=wanted.body,
            moment=Moment(EventId(self.new_id()), self.now()),
        )

    async def _find(self, tenant_id: TenantId, group_id: GroupId) -> SubjectRecord | None:
        async with self.database.transaction(tenant_id) as tx:
            return await subject_records.find(tx, tenant_id, group_id)

    async def _import(self, tenant_id: TenantId, group_id: GroupId, wanted: SubjectType) -> None:
        await import_subject(self.database, self.directory, tenant_id, group_id, wanted=wanted, at=self.now())


@dataclass(frozen=True, slots=True)
class NewGroupRules:
    """Assign guest rules to created groups, in the transaction that records them."""

    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def draft(self, tx: Transaction, groups: Sequence[ReadyGroup]) -> Sequence[NewGroupDraft]:
        """Decide for each group. The decision stays valid until the transaction ends."""
        now = self.now()
        new = [
            NewGroup(
                new_entry(each.wanted, each.group, at=now),
                Assignment(each.guest_template_id, each.guest_policy_id),
                each.editor,
            )
            for each in groups
        ]
        return await store.draft_new_groups(tx, new, new_id=self.new_id, now=now)

    async def write(self, tx: Transaction, drafts: Sequence[GuestRuleDraft]) -> None:
        """Write drafts. Raises Overtaken if another transaction holds a row."""
        own = [draft.draft for draft in drafts if isinstance(draft, NewGroupDraft)]
        await store.write(tx, [draft for draft in own if draft is not None])
