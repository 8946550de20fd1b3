"""Delete a template: nobody can ask for anything with it any more, and what was made with it stays."""

from dataclasses import dataclass

from msgspec import json

from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit, Editor, require_match
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.permissions import ScopePrefixes, require
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import in_area, removed
from chamberlain.store import changes, template_records, templates
from chamberlain.store.callers import Callers
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class DeleteTemplate:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    callers: Callers
    prefixes: ScopePrefixes
    area: TemplateArea

    async def __call__(self, caller: Caller, template_id: TemplateId, edit: Edit) -> None:
        """Requests under way go on: each names the revision that it was asked for with. Raises Forbidden, NotFound
        and Stale."""
        await self.callers.extent(caller, require(caller, self.area.administer, self.prefixes))
        editor = Editor(await self.callers.actor(caller), caller.client_id, edit.trace_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            await templates.lock(tx, caller.tenant_id)
            record = in_area(await template_records.find(tx, template_id), self.area)
            require_match(record.etag, edit, "template")
            await templates.remove(tx, caller.tenant_id, template_id)
            await changes.record(tx, removed(record.stored.head, json.decode(record.stored.content), editor))
