# SPDX-License-Identifier: Apache-2.0
"""List and read groups and sites, and assign to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Editor, require_match
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import EventId, GroupId, RequestId, TenantId
from chamberlain.core.paging import NamedPage, NamedPageWanted
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.capabilities import Capable
from chamberlain.directory.port import Subjects
from chamberlain.directory.subjects import SubjectType
from chamberlain.groups.provision import GuestRuleDraft, ReadyGroup
from chamberlain.guests import finding_records
from chamberlain.guests.assignments import store
from chamberlain.guests.assignments.capabilities import capability_faults
from chamberlain.guests.assignments.dry_run import (
    AssignmentDryRun,
    CurrentFindings,
    accepted_guests,
    nothing_to_do,
    plan_dry_run,
    without_removed,
)
from chamberlain.guests.assignments.models import AssignmentOrder
from chamberlain.guests.assignments.rules import (
    AssignmentContext,
    AssignmentDraft,
    AssignmentPlan,
    NewGroup,
    NewGroupDraft,
    WantedAssignment,
    apply_draft,
    assigned_after,
    draft_change,
)
from chamberlain.guests.assignments.store import Assigner
from chamberlain.guests.models import Assignment
from chamberlain.guests.policies.service import Simulator
from chamberlain.guests.subjects import records as subject_records
from chamberlain.guests.subjects import store as subject_store
from chamberlain.guests.subjects.import_subject import import_subject
from chamberlain.guests.subjects.models import SubjectFilter, SubjectRecord, new_entry, unknown_subject
from chamberlain.templates import records as template_records
from chamberlain.templates.capabilities import restricts_guests
from chamberlain.templates.drafts import Moment
from chamberlain.tenants import records as tenant_records

# Optimistic-lock retries. So many conflicts in a row mean a bug or a hot row.
MAX_CONFLICTS = 100


@dataclass(slots=True)
class AssignmentService:
    """List, read and change the assignments of groups and sites.

    Every method raises Forbidden for callers who neither administer the tenant nor manage its groups and sites. It
    raises Unavailable if the directory does not answer. `capable` states the capabilities of the directory, `workers`
    are notified of each change.
    """

    database: Database
    directory: Subjects
    capable: Capable
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
                await self._require_supported(draft)
                if await self.assigner.change(draft):
                    self.workers.flag()
                    return apply_draft(draft)
        raise Unavailable("overloaded", "This group changes too fast. Send the request again.")

    async def dry_run(self, caller: Caller, wanted: WantedAssignment) -> AssignmentDryRun:
        """Validate and plan an assignment without writing.

        A group that discovery has not found yet is imported, as for a read. Raises like `assign`.
        """
        await self.authorization.require(caller, Operation.ASSIGN)
        editor = await self.authorization.editor(caller, wanted.edit)
        context = await self._context(caller.tenant_id, wanted)
        draft = self._draft(context, wanted, editor)
        if draft is None:
            return nothing_to_do(context.record.assignment)
        await self._require_supported(draft)
        plan, current = await self._plan(draft)
        present = without_removed(plan)
        policy_id = draft.after.policy_id
        if present is None or policy_id is None:
            return plan_dry_run(plan, (), current)
        simulator = Simulator(self.database, self.directory, self.now)
        return plan_dry_run(plan, await simulator.simulate_now(policy_id, present), current)

    async def _plan(self, draft: AssignmentDraft) -> tuple[AssignmentPlan, CurrentFindings]:
        """Plan a draft as the worker does, with the current findings."""
        tenant_id, group_id = draft.before.entry.tenant_id, draft.before.entry.id
        async with self.database.transaction(tenant_id) as tx:
            tenant = await tenant_records.find(tx, tenant_id)
            template_id = draft.after.template_id
            template = None if template_id is None else await template_records.find_guest(tx, template_id)
            current = await finding_records.find_current(tx, tenant_id, group_id)
        prefix = "" if tenant is None else tenant.extension_prefix
        assigned = assigned_after(draft, template, extension=f"{prefix}_group")
        try:
            (observed,) = await self.directory.observe([assigned.reference])
        except TryAgain as error:
            detail = "The directory does not answer. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        steps = tuple([record.step for record in draft.steps])
        return AssignmentPlan(assigned, steps, observed, accepted_guests(current)), current

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

    async def _require_supported(self, draft: AssignmentDraft) -> None:
        """Require that the directory can do what the assignment needs.

        Raises NotPossible with all errors.
        """
        entry, template = draft.before.entry, None
        capabilities = await self.capable.capabilities(entry.tenant_id)
        if draft.new_template_id is not None and restricts_guests(capabilities):
            async with self.database.transaction(entry.tenant_id) as tx:
                template = await template_records.find_guest(tx, draft.new_template_id)
        if faults := tuple(capability_faults(entry.type, template, capabilities)):
            raise NotPossible(faults)

    async def _find(self, tenant_id: TenantId, group_id: GroupId) -> SubjectRecord | None:
        async with self.database.transaction(tenant_id) as tx:
            return await subject_records.find(tx, tenant_id, group_id)

    async def _import(self, tenant_id: TenantId, group_id: GroupId, wanted: SubjectType) -> None:
        await import_subject(self.database, self.directory, tenant_id, group_id, wanted=wanted, at=self.now())


@dataclass(frozen=True, slots=True)
class NewGroupRules:
    """List created groups, and assign their guest rules.

    Both happen in the transaction that completes the requests.
    """

    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def draft(self, tx: Transaction, groups: Sequence[ReadyGroup]) -> Sequence[NewGroupDraft]:
        """List the groups, and decide for each one.

        The decision stays valid until the transaction ends.
        """
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


@dataclass(frozen=True, slots=True)
class AssignmentWriter:
    """Change assignments in the transaction of another noun."""

    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def change(
        self, tx: Transaction, tenant_id: TenantId, orders: Mapping[GroupId, AssignmentOrder], editor: Editor
    ) -> None:
        """Change the assignments of known groups and sites.

        Each change is that of a PATCH. Raises NotFound, NotPossible, and Overtaken if another transaction changes one
        of them.
        """
        queries = [store.ContextQuery(tenant_id, id_, order) for id_, order in orders.items()]
        for begin in range(0, len(queries), store.MAX_BATCH):
            batch = queries[begin : begin + store.MAX_BATCH]
            contexts = await store.find_contexts(tx, batch)
            drafts = [self._draft(context, query.order, editor) for context, query in zip(contexts, batch, strict=True)]
            await store.write_all(tx, [draft for draft in drafts if draft is not None])

    def _draft(
        self, context: AssignmentContext | None, order: AssignmentOrder, editor: Editor
    ) -> AssignmentDraft | None:
        if context is None:
            raise unknown_subject(SubjectType.GROUP)
        return draft_change(
            context,
            order,
            editor,
            request_id=RequestId(self.new_id()),
            body=store.encode_order(order),
            moment=Moment(EventId(self.new_id()), self.now()),
        )
