"""Replace a template, the whole of it; requests that are under way keep the one that they were asked for with."""

from dataclasses import dataclass

from msgspec import json

from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit, Editor, require_match
from chamberlain.rules.errors import NotPossible
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.permissions import ScopePrefixes, require
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import (
    TemplateRecord,
    default_lost,
    in_area,
    kind_faults,
    replaced,
)
from chamberlain.rules.templates import StoredTemplate, TemplateKind
from chamberlain.shapes.templates import TemplateBody, TemplateShape, domain_faults, identified, stored_template
from chamberlain.shapes.templates import template_faults as faults_of
from chamberlain.store import changes, template_records, templates, tenants
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class ReplaceTemplate:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes
    area: TemplateArea

    async def __call__(self, caller: Caller, template_id: TemplateId, body: TemplateBody, edit: Edit) -> TemplateRecord:
        """The template as it is then. What it says already is neither written nor put on record. Raises Forbidden,
        NotFound, Stale, and NotPossible with all faults."""
        await self.callers.extent(caller, require(caller, self.area.administer, self.prefixes))
        editor = Editor(await self.callers.actor(caller), caller.client_id, edit.trace_id)
        shape = identified(body, template_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            await templates.lock(tx, caller.tenant_id)
            before = in_area(await template_records.find(tx, template_id), self.area)
            require_match(before.etag, edit, "template")
            await _check(tx, before, shape, caller)
            await _replace(tx, before.stored, stored_template(shape, caller.tenant_id), editor)
            return in_area(await template_records.find(tx, template_id), self.area)


async def _check(tx: Transaction, before: TemplateRecord, shape: TemplateShape, caller: Caller) -> None:
    tenant = await tenants.find(tx, caller.tenant_id)
    faults = (
        *kind_faults(before, TemplateKind(shape.kind)),
        *faults_of(shape),
        *domain_faults(shape, () if tenant is None else tenant.domains),
    )
    if faults:
        raise NotPossible(faults)


async def _replace(tx: Transaction, before: StoredTemplate, after: StoredTemplate, editor: Editor) -> None:
    loser = await templates.losing_default(tx, after)
    if not await templates.put(tx, after, created_by=editor.actor):
        return
    if loser is not None:
        await changes.record(tx, default_lost(loser.head, editor))
    contents = json.decode(before.content), json.decode(after.content)
    await changes.record(tx, replaced(after.head, *contents, editor))
