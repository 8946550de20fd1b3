"""The template revisions that a process has read: a revision never changes, so what is remembered is true for ever."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from chamberlain.database.transactions import Transaction
from chamberlain.requests.steps_progress import Task
from chamberlain.templates import records
from chamberlain.templates.models import CompiledGroupTemplate, StoredTemplate
from chamberlain.templates.models_mailbox_templates import CompiledMailboxTemplate

if TYPE_CHECKING:
    from uuid import UUID

    from chamberlain.core.ids import TenantId

MOST_ENTRIES = 2_000

Compiled = TypeVar("Compiled")


class Revisions:
    """Remembers compiled templates of each kind, the least recently used are forgotten first."""

    def __init__(self) -> None:
        self._groups = _Revisions(records.group_template)
        self._mailboxes = _Revisions(records.mailbox_template)

    async def group_template(self, tx: Transaction, task: Task) -> CompiledGroupTemplate:
        """The template of a task for a group or team, as it was at submission."""
        return await self._groups.find(tx, task)

    async def mailbox_template(self, tx: Transaction, task: Task) -> CompiledMailboxTemplate:
        """The template of a task for a mailbox, as it was at submission."""
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
            if len(self._compiled) > MOST_ENTRIES:
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
