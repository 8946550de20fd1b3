"""Preview adoptions: candidates that match a rule, and the conflicts of others.

Reads the directory and our records. Writes nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from chamberlain.adoptions import store
from chamberlain.adoptions.models import AdoptionRule, Candidate, Preview, build_preview, matches
from chamberlain.adoptions.rules import group_candidate, mailbox_candidate, mailbox_order
from chamberlain.adoptions.schema import unwritable_part
from chamberlain.core.errors import NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.port import Adoptions, MailboxPage
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.mailboxes import records as mailbox_records
from chamberlain.templates.cache import Catalog, Entry
from chamberlain.templates.models import GroupTemplate, MailboxTemplate, TemplateHead, template_fault
from chamberlain.tenants.models import Tenant


async def mailbox_page(directory: Adoptions, tenant: Tenant, cursor: str | None) -> MailboxPage:
    """Read a page of mailboxes with their marks under all prefixes.

    Raises TryAgain.
    """
    page = await directory.mailboxes(tenant.id, f"{tenant.extension_prefix}_mailbox", cursor)
    for prefix in tenant.marked_under:
        older = await directory.mailboxes(tenant.id, f"{prefix}_mailbox", cursor)
        marks = {each.id: each.marks for each in older.mailboxes}
        mailboxes = tuple(replace(each, marks={**marks.get(each.id, {}), **each.marks}) for each in page.mailboxes)
        page = replace(page, mailboxes=mailboxes)
    return page


@dataclass(frozen=True, slots=True)
class Previewer:
    """Preview the adoptions of a tenant. The caller has been authorized."""

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
        cursor = None
        while True:
            page = await mailbox_page(self.directory, tenant, cursor)
            # A page takes long to compare. A thread leaves the event loop free.
            for candidate in await asyncio.to_thread(_matching_mailboxes, page.mailboxes, template, tenant, rule):
                yield candidate
            if (cursor := page.cursor) is None:
                return

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


def _require_template(entry: Entry, rule: AdoptionRule) -> TemplateHead:
    fault = template_fault(entry.head, {rule.kind})
    if fault is not None or entry.head is None:
        raise NotPossible([*filter(None, (fault,))])
    return entry.head


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


async def _reserved_values(tx: Transaction, candidates: Sequence[Candidate]) -> frozenset[tuple[str, str]]:
    """Return the unique values of the candidates that are already reserved."""
    held = sorted({pair for one in candidates for pair in one.held})
    given: set[tuple[str, str]] = set()
    for kind, pairs in groupby(held, key=itemgetter(0)):
        values = [value for _, value in pairs]
        given |= {(kind, value) for value in await mailbox_records.reserved(tx, kind, values)}
    return frozenset(given)
