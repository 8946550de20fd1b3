# SPDX-License-Identifier: Apache-2.0
"""Cache of tenants and templates in a process.

A submission need not read them. An entry may be stale: the write is refused if the cached revisions are no longer
current (`accept_requests`). Callers use `refresh` before they refuse a request.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from chamberlain.core.errors import Unauthenticated
from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.requests.steps import Task
from chamberlain.templates import records
from chamberlain.templates.models import (
    CompiledGroupTemplate,
    CompiledMailboxTemplate,
    StoredTemplate,
    TemplateHead,
    TemplateKind,
)
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

if TYPE_CHECKING:
    from uuid import UUID


# Enough for a few thousand tenants with a handful of templates each; an entry is a few kilobytes.
MOST_ENTRIES = 10_000


# A template by id, or the default template of a mailbox type.
Choice: TypeAlias = TemplateId | MailboxType


@dataclass(frozen=True, slots=True)
class Entry:
    """A tenant with one of its templates.

    `head` is None if the template does not exist. `group` and `mailbox` are None for templates of other kinds.
    """

    tenant: Tenant
    head: TemplateHead | None
    group: CompiledGroupTemplate | None
    mailbox: CompiledMailboxTemplate | None


class Catalog:
    """An LRU cache of entries."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entries: OrderedDict[_Key, Entry] = OrderedDict()

    async def entry(self, tenant_id: TenantId, choice: Choice) -> Entry:
        """Return the cached entry, or read it."""
        key = _key(tenant_id, choice)
        remembered = self._entries.get(key)
        if remembered is None:
            return await self.current(tenant_id, choice)
        self._entries.move_to_end(key)
        return remembered

    async def refresh(self, entry: Entry, choice: Choice) -> Entry | None:
        """Read the entry again. None if it is unchanged."""
        # Missing templates are not cached, so the entry was just read.
        if entry.head is None:
            return None
        current = await self.current(entry.tenant.id, choice)
        return None if current == entry else current

    async def current(self, tenant_id: TenantId, choice: Choice) -> Entry:
        """Read the current entry, for decisions without a write."""
        key = _key(tenant_id, choice)
        async with self._database.transaction(tenant_id) as tx:
            entry = await _entry(tx, tenant_id, choice, self._entries.get(key))
        # Missing templates are not cached: made-up ids could fill the memory.
        self._entries.pop(key, None)
        if entry.head is not None:
            self._entries[key] = entry
            if len(self._entries) > MOST_ENTRIES:
                self._entries.popitem(last=False)
        return entry


# Numbers are compared faster than ids, and every submission uses this cache.
_Key: TypeAlias = tuple[int, int | str]


def _key(tenant_id: TenantId, choice: Choice) -> _Key:
    return tenant_id.int, choice.value if isinstance(choice, MailboxType) else choice.int


async def _entry(tx: Transaction, tenant_id: TenantId, choice: Choice, remembered: Entry | None) -> Entry:
    tenant = await tenant_records.find(tx, tenant_id)
    if tenant is None or tenant.suspended:
        # The tenant was removed or suspended since the token was verified.
        raise Unauthenticated("tokenInvalid", "The organisation of this token is not served here any more.")
    stored = await _template(tx, tenant_id, choice)
    if stored is None:
        return Entry(tenant, None, None, None)
    # Compiling takes longer than reading, and a revision never changes.
    if remembered is not None and (remembered.tenant, remembered.head) == (tenant, stored.head):
        return remembered
    return Entry(tenant, stored.head, records.group_template(stored), records.mailbox_template(stored))


async def _template(tx: Transaction, tenant_id: TenantId, choice: Choice) -> StoredTemplate | None:
    if isinstance(choice, MailboxType):
        return await records.find_default(tx, tenant_id, TemplateKind(choice))
    return await records.find(tx, choice)


MOST_REVISIONS = 2_000

Compiled = TypeVar("Compiled")


class Revisions:
    """An LRU cache of compiled template revisions."""

    def __init__(self) -> None:
        self._groups = _Revisions(records.group_template)
        self._mailboxes = _Revisions(records.mailbox_template)

    async def group_template(self, tx: Transaction, task: Task) -> CompiledGroupTemplate:
        """Return the group template of a task, as it was at submission."""
        return await self._groups.find(tx, task)

    async def mailbox_template(self, tx: Transaction, task: Task) -> CompiledMailboxTemplate:
        """Return the mailbox template of a task, as it was at submission."""
        return await self._mailboxes.find(tx, task)


class _Revisions(Generic[Compiled]):
    def __init__(self, compile_template: Callable[[StoredTemplate], Compiled | None]) -> None:
        self._compile = compile_template
        self._compiled: OrderedDict[tuple[TenantId, UUID, int], Compiled] = OrderedDict()

    async def find(self, tx: Transaction, task: Task) -> Compiled:
        place = (task.tenant_id, task.template_id, task.template_revision)
        if (compiled := self._compiled.get(place)) is None:
            compiled = await self._read(tx, task)
            self._compiled[place] = compiled
            if len(self._compiled) > MOST_REVISIONS:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(place)
        return compiled

    async def _read(self, tx: Transaction, task: Task) -> Compiled:
        stored = await records.find_revision(tx, task.tenant_id, task.template_id, task.template_revision)
        compiled = None if stored is None else self._compile(stored)
        if compiled is None:
            raise LookupError(f"Request {task.request_id} names a revision of a template that is not there.")
        return compiled
