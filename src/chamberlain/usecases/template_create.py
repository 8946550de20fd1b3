"""Create a template."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from msgspec import json

from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Editor
from chamberlain.rules.errors import NotPossible
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.permissions import ScopePrefixes, require
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import TemplateRecord, created, default_lost, in_area
from chamberlain.shapes.templates import TemplateBody, TemplateShape, domain_faults, identified, stored_template
from chamberlain.shapes.templates import template_faults as faults_of
from chamberlain.store import changes, idempotency, template_records, templates, tenants
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class CreateTemplate:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes
    area: TemplateArea
    new_id: Callable[[], UUID]

    async def __call__(
        self, caller: Caller, body: TemplateBody, act: Act, render: Callable[[TemplateRecord], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the template. Raises Forbidden, and NotPossible with all faults."""
        await self.callers.extent(caller, require(caller, self.area.administer, self.prefixes))
        editor = Editor(await self.callers.actor(caller), caller.client_id, act.trace_id)
        shape = identified(body, TemplateId(self.new_id()))

        async def work() -> bytes:
            return render(await self._create(tx, caller, shape, editor))

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

    async def _create(self, tx: Transaction, caller: Caller, shape: TemplateShape, editor: Editor) -> TemplateRecord:
        await templates.lock(tx, caller.tenant_id)
        tenant = await tenants.find(tx, caller.tenant_id)
        faults = (*faults_of(shape), *domain_faults(shape, () if tenant is None else tenant.domains))
        if faults:
            raise NotPossible(faults)
        template = stored_template(shape, caller.tenant_id)
        if (loser := await templates.losing_default(tx, template)) is not None:
            await changes.record(tx, default_lost(loser.head, editor))
        await templates.put(tx, template, created_by=editor.actor)
        await changes.record(tx, created(template.head, json.decode(template.content), editor))
        return in_area(await template_records.find(tx, template.head.id), self.area)
