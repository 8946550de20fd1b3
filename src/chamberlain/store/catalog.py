"""What a process remembers of tenants and templates, so that a submission need not read them.

It may be stale: whoever decides by it hands the revisions on to the write, which is refused when they are not the
current ones any more (`accept_requests`), and whoever refuses by it asks `refresh` first.
"""

from collections import OrderedDict
from dataclasses import dataclass

from chamberlain.rules.errors import Unauthenticated
from chamberlain.rules.ids import TemplateId, TenantId
from chamberlain.rules.templates import CompiledGroupTemplate, TemplateHead
from chamberlain.rules.tenants import Tenant
from chamberlain.store import templates, tenants
from chamberlain.store.database import Database, Transaction

# Enough for a few thousand tenants with a handful of templates each; an entry is a few kilobytes.
MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A tenant with one of its templates. `head` is None when there is no such template, `group` when it makes no
    group."""

    tenant: Tenant
    head: TemplateHead | None
    group: CompiledGroupTemplate | None


class Catalog:
    """Remembers entries, the least recently used are forgotten first."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entries: OrderedDict[tuple[TenantId, TemplateId], Entry] = OrderedDict()

    async def entry(self, tenant_id: TenantId, template_id: TemplateId) -> Entry:
        """What is remembered, or else what is true now."""
        remembered = self._entries.get((tenant_id, template_id))
        if remembered is None:
            return await self.current(tenant_id, template_id)
        self._entries.move_to_end((tenant_id, template_id))
        return remembered

    async def refresh(self, entry: Entry, template_id: TemplateId) -> Entry | None:
        """What is true now if that differs from the entry, else None."""
        current = await self.current(entry.tenant.id, template_id)
        return None if current == entry else current

    async def current(self, tenant_id: TenantId, template_id: TemplateId) -> Entry:
        """What is true now, for those who decide without a write."""
        async with self._database.transaction(tenant_id) as tx:
            entry = await _entry(tx, tenant_id, template_id)
        # What does not exist is not remembered: anybody could fill the memory with made-up ids.
        self._entries.pop((tenant_id, template_id), None)
        if entry.head is not None:
            self._entries[tenant_id, template_id] = entry
            if len(self._entries) > MOST_ENTRIES:
                self._entries.popitem(last=False)
        return entry


async def _entry(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> Entry:
    tenant = await tenants.find(tx, tenant_id)
    if tenant is None:
        # Whose token was verified a moment ago; it has been removed since.
        raise Unauthenticated("tokenInvalid", "The organisation of this token is not served here any more.")
    stored = await templates.find(tx, template_id)
    if stored is None:
        return Entry(tenant, None, None)
    return Entry(tenant, stored.head, templates.group_template(stored))
