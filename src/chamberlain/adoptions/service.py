# SPDX-License-Identifier: Apache-2.0
"""Adopt mailboxes and groups that are already in the directory.

A caller previews a rule, and confirms the preview by its digest. A worker carries the adoption out.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from chamberlain.adoptions import store
from chamberlain.adoptions.models import (
    MOST_SHOWN,
    AdoptionFilter,
    AdoptionItem,
    AdoptionRecord,
    AdoptionRule,
    AdoptionState,
    AdoptionView,
    Candidate,
    Preview,
    adoption_event,
    build_preview,
    confirmed,
    matches,
    new_record,
    preview_changed,
    require_same_preview,
    require_undoable,
    undo_change,
)
from chamberlain.adoptions.rules import group_candidate, mailbox_candidate, mailbox_order
from chamberlain.adoptions.schema import unwritable_part
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Editor
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import EventType
from chamberlain.changes.records import record_change
from chamberlain.core.errors import NotFound, NotPossible, TryAgain, Unavailable
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import AdoptionId, EventId, GroupId, RequestId, TenantId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.port import MOST_CHANGES, Adoptions
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.http import idempotency
from chamberlain.mailboxes import records as mailbox_records
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import JobKind
from chamberlain.templates.cache import Catalog, Entry
from chamberlain.templates.models import GroupTemplate, MailboxTemplate, TemplateHead
from chamberlain.templates.rules import template_fault
from chamberlain.tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Previewer:
    """Dry run of adoptions in a tenant. The caller has been authorized."""

    database: Database
    directory: Adoptions
    catalog: Catalog

    async def preview(self, tenant_id: TenantId, rule: AdoptionRule) -> Preview:
        """Preview a rule.

        Raises NotPossible for a template of another kind, and Unavailable if the directory does not answer.
        """
        entry = await self.catalog.current(tenant_id, rule.template_id)
        head = _require_template(entry, rule)
        try:
            candidates = [each async for each in self._candidates(entry, rule)]
        except TryAgain as error:
            detail = "The directory does not answer. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        async with self.database.transaction(tenant_id) as tx:
            given = await _reserved_values(tx, candidates)
        return build_preview(rule, head, candidates, given=given)

    async def _candidates(self, entry: Entry, rule: AdoptionRule) -> AsyncIterator[Candidate]:
        if entry.mailbox is not None:
            async for candidate in self._mailboxes(entry.tenant, entry.mailbox.template, rule):
                yield candidate
        if entry.group is not None:
            async for candidate in self._groups(entry.tenant, entry.group.template, rule):
                yield candidate

    async def _mailboxes(
        self, tenant: Tenant, template: MailboxTemplate, rule: AdoptionRule
    ) -> AsyncIterator[Candidate]:
        ids = await matching_ids(self.directory, tenant, rule.filter)
        for begin in range(0, len(ids), MOST_CHANGES):
            observed = await observe_mailboxes(self.directory, tenant, ids[begin : begin + MOST_CHANGES])
            # A batch takes long to compare. A thread leaves the event loop free.
            for candidate in await asyncio.to_thread(_matching_mailboxes, observed, template, tenant, rule):
                yield candidate

    async def _groups(self, tenant: Tenant, template: GroupTemplate, rule: AdoptionRule) -> AsyncIterator[Candidate]:
        after: GroupId | None = None
        while True:
            async with self.database.transaction(tenant.id) as tx:
                page = await store.find_groups(tx, tenant.id, after)
            # In a thread for the same reason.
            for candidate in await asyncio.to_thread(_matching_groups, page, template, rule):
                yield candidate
            if len(page) < store.GROUP_PAGE_SIZE:
                return
            after = page[-1].id


@dataclass(slots=True)
class AdoptionService:
    """Preview, confirm, list, read and undo the adoptions of a tenant.

    Every method raises Forbidden for callers who are not administrators. It raises Unavailable if the directory does
    not answer whether the caller is one. `workers` are notified of new jobs.
    """

    database: Database
    authorization: Authorization
    previewer: Previewer
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def preview(self, caller: Caller, rule: AdoptionRule) -> Preview:
        """Dry run of a rule. Writes nothing.

        Raises NotPossible for a template of another kind, and Unavailable if the directory does not answer.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        return await self.previewer.preview(caller.tenant_id, rule)

    async def confirm(
        self, caller: Caller, rule: AdoptionRule, digest: str, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        """Start an adoption and return the answer that `render` builds.

        Raises like `preview`, and Conflict if the preview has changed since the digest was made.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
        preview = await self.previewer.preview(caller.tenant_id, rule)
        require_same_preview(preview, digest)
        editor = await self.authorization.editor(caller, act)
        record = new_record(preview, AdoptionId(self.new_id()), editor, at=self.now())
        items = [_item(one, RequestId(self.new_id())) for one in preview.taken]

        async def work() -> bytes:
            await store.save(tx, record)
            if not await store.save_items(tx, record, items):
                raise preview_changed()
            await queue_jobs.queue(tx, JobKind.ADOPTION_RUN, record.id, editor.trace_id)
            event = adoption_event(
                EventId(self.new_id()), EventType.ADOPTION_CONFIRMED, record, editor.actor, now=record.created_at
            )
            await record_change(tx, replace(confirmed(record), event=event))
            return render(AdoptionView(record, ()))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer

    async def list(self, caller: Caller, page: PageWanted) -> Page[AdoptionRecord]:
        """List adoptions, newest first, including undone ones."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await store.find_page(tx, page)

    async def read(self, caller: Caller, adoption_id: AdoptionId) -> AdoptionView:
        """Read an adoption with its first refused items. Raises NotFound."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await store.find(tx, caller.tenant_id, adoption_id)
            if record is None:
                raise NotFound("The adoption does not exist.")
            return await _view(tx, record)

    async def undo(
        self, caller: Caller, adoption_id: AdoptionId, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        """Undo an adoption and return the answer that `render` builds.

        A worker removes the marks and records, even of a running adoption. Raises NotFound, and Conflict if the
        adoption is undone or being undone.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            before = await store.lock(tx, caller.tenant_id, adoption_id)
            require_undoable(None if before is None else before.state)
            if before is None or (after := await store.undo(tx, before, editor, at=self.now())) is None:
                raise NotFound("The adoption no longer exists.")
            await store.reset_waits(tx, after)
            await _queue_undo(tx, before, editor)
            await record_change(tx, undo_change(before, editor, act.said))
            return render(await _view(tx, after))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer


async def matching_ids(directory: Adoptions, tenant: Tenant, chosen: AdoptionFilter) -> Sequence[UUID]:
    """List the mailboxes that match a filter, each once.

    Raises TryAgain.
    """
    found: dict[UUID, None] = {}
    cursor, is_complete = None, False
    while not is_complete:
        page = await directory.mailboxes(tenant.id, f"{tenant.extension_prefix}_mailbox", cursor)
        found |= dict.fromkeys(
            each.id
            for each in page.mailboxes
            if matches(chosen, object_id=each.id, names=(each.name, each.display_name), mail=each.mail)
        )
        cursor, is_complete = page.cursor, page.cursor is None
    return list(found)


async def observe_mailboxes(directory: Adoptions, tenant: Tenant, ids: Sequence[UUID]) -> Sequence[ObservedMailbox]:
    """Observe existing mailboxes by id, with their marks under all prefixes.

    Raises TryAgain.
    """
    found: dict[UUID, ObservedMailbox] = {}
    for prefix in (tenant.extension_prefix, *tenant.marked_under):
        for each in await directory.observe(tenant.id, f"{prefix}_mailbox", ids):
            if each is not None:
                newer = found.get(each.id, each)
                found[each.id] = replace(newer, marks={**each.marks, **newer.marks})
    return list(found.values())


def _require_template(entry: Entry, rule: AdoptionRule) -> TemplateHead:
    fault = template_fault(entry.head, {rule.kind})
    if fault is not None or entry.head is None:
        raise NotPossible([*filter(None, (fault,))])
    return entry.head


async def _reserved_values(tx: Transaction, candidates: Sequence[Candidate]) -> frozenset[tuple[str, str]]:
    """Return the unique values of the candidates that are already reserved."""
    held = sorted({pair for one in candidates for pair in one.held})
    given: set[tuple[str, str]] = set()
    for kind, pairs in groupby(held, key=itemgetter(0)):
        values = [value for _, value in pairs]
        given |= {(kind, value) for value in await mailbox_records.reserved(tx, kind, values)}
    return frozenset(given)


def _matching_mailboxes(
    observed: Sequence[ObservedMailbox], template: MailboxTemplate, tenant: Tenant, rule: AdoptionRule
) -> Sequence[Candidate]:
    return [
        mailbox_candidate(one, template, tenant, unwritable=unwritable_part(mailbox_order(one, template.head.id)))
        for one in observed
        if matches(rule.filter, object_id=one.id, names=(one.name, one.display_name), mail=one.mail)
    ]


def _matching_groups(
    groups: Sequence[SubjectEntry], template: GroupTemplate, rule: AdoptionRule
) -> Sequence[Candidate]:
    return [
        group_candidate(one, template)
        for one in groups
        if matches(rule.filter, object_id=one.id, names=(one.display_name,), mail=one.mail)
    ]


def _item(one: Candidate, request_id: RequestId) -> AdoptionItem:
    return AdoptionItem(one.id, request_id, one.display_name, one.mail or "", frozenset(one.held))


async def _view(tx: Transaction, record: AdoptionRecord) -> AdoptionView:
    return AdoptionView(record, tuple(await store.find_refused(tx, record, MOST_SHOWN)))


async def _queue_undo(tx: Transaction, before: AdoptionRecord, editor: Editor) -> None:
    if before.state is AdoptionState.SUCCEEDED:
        await queue_jobs.queue(tx, JobKind.ADOPTION_RUN, before.id, editor.trace_id)
    else:
        # A running adoption still has its job. A job that is held after a bug is released.
        await queue_jobs.release_of(tx, JobKind.ADOPTION_RUN, before.id)
