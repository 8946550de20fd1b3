"""Confirm an adoption: what was shown is looked for again, and when it is the same it is written down and carried out.

A preview takes the same way as far as nothing is written.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.former_marks import mailbox_page
from chamberlain.directory.port import Adoptions
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.adopted_groups import group_candidate
from chamberlain.rules.adopted_mailboxes import mailbox_candidate, order_of_mailbox
from chamberlain.rules.adoption_records import AdoptionItem, AdoptionRecord, AdoptionView, confirmed, new_record
from chamberlain.rules.adoptions import (
    AdoptionRule,
    Candidate,
    Preview,
    changed_since,
    is_chosen,
    preview_of,
    require_as_shown,
)
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import NotPossible, TryAgain, Unavailable
from chamberlain.rules.ids import AdoptionId, GroupId, RequestId
from chamberlain.rules.jobs import JobKind
from chamberlain.rules.mailbox_templates import MailboxTemplate
from chamberlain.rules.mailboxes import ObservedMailbox
from chamberlain.rules.permissions import Operation
from chamberlain.rules.subject_records import SubjectEntry
from chamberlain.rules.templates import GroupTemplate, TemplateHead, template_fault
from chamberlain.rules.tenants import Tenant
from chamberlain.shapes.adopted_objects import unwritable_part
from chamberlain.store import adoption_items, adoptions, changes, idempotency, jobs, mailboxes
from chamberlain.store.catalog import Catalog, Entry
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class ConfirmAdoption:
    """For administrators of the tenant, and applications that configure it. `workers` hear that there is something to
    do; `new_id` gives random ids, `now` the time."""

    database: Database
    directory: Adoptions
    authorization: Authorization
    catalog: Catalog
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def preview(self, caller: Caller, rule: AdoptionRule) -> Preview:
        """What the rule comes to now. Nothing is written. Raises Forbidden, NotPossible for a template that does not
        make what the rule is about, and Unavailable."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        return await self._preview(caller, rule)

    async def __call__(
        self, caller: Caller, rule: AdoptionRule, digest: str, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the adoption, which a worker carries out. Raises as `preview` does, and Conflict when
        others would be taken than the digest says."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
        preview = await self._preview(caller, rule)
        require_as_shown(preview, digest)
        editor = await self.authorization.editor(caller, act)
        record = new_record(preview, AdoptionId(self.new_id()), editor, at=self.now())

        async def work() -> bytes:
            await self._write(tx, record, preview)
            return render(AdoptionView(record, ()))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer

    async def _write(self, tx: Transaction, record: AdoptionRecord, preview: Preview) -> None:
        items = [_item(one, RequestId(self.new_id())) for one in preview.taken]
        await adoptions.put(tx, record)
        if not await adoption_items.put_new(tx, record, items):
            raise changed_since()
        await jobs.queue(tx, JobKind.ADOPTION_RUN, record.id, record.editor.trace_id)
        await changes.record(tx, confirmed(record))

    async def _preview(self, caller: Caller, rule: AdoptionRule) -> Preview:
        entry = await self.catalog.current(caller.tenant_id, rule.template_id)
        head = _head(entry, rule)
        try:
            candidates = [each async for each in self._candidates(entry, rule)]
        except TryAgain as error:
            detail = "The directory does not tell what it has at present. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        async with self.database.transaction(caller.tenant_id) as tx:
            given = await _given(tx, candidates)
        return preview_of(rule, head, candidates, given=given)

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
        cursor = None
        while True:
            page = await mailbox_page(self.directory, tenant, cursor)
            # A page takes its time, and others are to be answered meanwhile.
            for candidate in await asyncio.to_thread(_chosen_mailboxes_of, page.mailboxes, template, tenant, rule):
                yield candidate
            if (cursor := page.cursor) is None:
                return

    async def _groups(self, tenant: Tenant, template: GroupTemplate, rule: AdoptionRule) -> AsyncIterator[Candidate]:
        behind: GroupId | None = None
        while True:
            async with self.database.transaction(tenant.id) as tx:
                page = await adoptions.find_groups(tx, tenant.id, behind)
            # A page takes its time, as one of mailboxes does.
            for candidate in await asyncio.to_thread(_chosen_groups_of, page, template, rule):
                yield candidate
            if len(page) < adoptions.GROUPS_TOGETHER:
                return
            behind = page[-1].id


def _chosen_mailboxes_of(
    shown: Sequence[ObservedMailbox], template: MailboxTemplate, tenant: Tenant, rule: AdoptionRule
) -> Sequence[Candidate]:
    return [
        mailbox_candidate(one, template, tenant, unwritable=unwritable_part(order_of_mailbox(one, template.head.id)))
        for one in shown
        if is_chosen(rule.filter, object_id=one.id, names=(one.name, one.display_name), mail=one.mail)
    ]


def _chosen_groups_of(
    known: Sequence[SubjectEntry], template: GroupTemplate, rule: AdoptionRule
) -> Sequence[Candidate]:
    return [
        group_candidate(one, template)
        for one in known
        if is_chosen(rule.filter, object_id=one.id, names=(one.display_name,), mail=one.mail)
    ]


def _head(entry: Entry, rule: AdoptionRule) -> TemplateHead:
    fault = template_fault(entry.head, {rule.kind})
    if fault is not None or entry.head is None:
        raise NotPossible([*filter(None, (fault,))])
    return entry.head


async def _given(tx: Transaction, candidates: Sequence[Candidate]) -> frozenset[tuple[str, str]]:
    """What of all that must be somebody's own is given away already."""
    held = sorted({pair for one in candidates for pair in one.held})
    given: set[tuple[str, str]] = set()
    for kind, pairs in groupby(held, key=itemgetter(0)):
        values = [value for _, value in pairs]
        given |= {(kind, value) for value in await mailboxes.reserved(tx, kind, values)}
    return frozenset(given)


def _item(one: Candidate, request_id: RequestId) -> AdoptionItem:
    return AdoptionItem(one.id, request_id, one.display_name, one.mail or "", frozenset(one.held))
