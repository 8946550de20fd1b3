"""The template revisions that a process has read: a revision never changes, so what is remembered is true for ever."""

from collections import OrderedDict
from typing import TYPE_CHECKING

from chamberlain.rules.progress import GroupTask
from chamberlain.rules.templates import CompiledGroupTemplate
from chamberlain.store import templates
from chamberlain.store.database import Transaction

if TYPE_CHECKING:
    from uuid import UUID

    from chamberlain.rules.ids import TenantId

MOST_ENTRIES = 2_000


class Revisions:
    """Remembers compiled templates, the least recently used are forgotten first."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[tuple[TenantId, UUID, int], CompiledGroupTemplate] = OrderedDict()

    async def group_template(self, tx: Transaction, task: GroupTask) -> CompiledGroupTemplate:
        """The template of a task, as it was at submission."""
        place = (task.tenant_id, task.template_id, task.template_revision)
        if (compiled := self._compiled.get(place)) is None:
            compiled = await self._read(tx, task)
            self._compiled[place] = compiled
            if len(self._compiled) > MOST_ENTRIES:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(place)
        return compiled

    async def _read(self, tx: Transaction, task: GroupTask) -> CompiledGroupTemplate:
        stored = await templates.find_revision(tx, task.tenant_id, task.template_id, task.template_revision)
        compiled = None if stored is None else templates.group_template(stored)
        if compiled is None:
            raise LookupError(f"Request {task.request_id} names a revision of a group template that is not there.")
        return compiled
