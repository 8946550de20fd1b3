"""Delete a template: nobody can ask for anything with it any more, and what was made with it stays."""

from dataclasses import dataclass

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit, require_match
from chamberlain.rules.ids import TemplateId
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import TemplateRecord, in_area, removed
from chamberlain.rules.templates import TemplateKind
from chamberlain.rules.uses import require_unused
from chamberlain.store import changes, deliveries, subjects, template_records, templates
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class DeleteTemplate:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization
    area: TemplateArea

    async def __call__(self, caller: Caller, template_id: TemplateId, edit: Edit) -> None:
        """Requests under way go on: each names the revision that it was asked for with. Raises Forbidden, NotFound,
        Stale, and Conflict for a guest template that is assigned or named by a template."""
        await self.authorization.require(caller, self.area.administer)
        editor = await self.authorization.editor(caller, edit)
        async with self.database.transaction(caller.tenant_id) as tx:
            await templates.lock(tx, caller.tenant_id)
            record = in_area(await template_records.find(tx, template_id), self.area)
            require_match(record.etag, edit, "template")
            await _require_unused(tx, record)
            await deliveries.cancel_pending(tx, caller.tenant_id, template_id)
            await templates.remove(tx, caller.tenant_id, template_id)
            await changes.record(tx, removed(record, json.decode(record.stored.content), editor))


async def _require_unused(tx: Transaction, record: TemplateRecord) -> None:
    head = record.stored.head
    if head.kind is not TemplateKind.GUEST:
        return
    naming = await templates.find_naming(tx, head.tenant_id, guest_template_id=head.id)
    require_unused(
        "guest template",
        is_assigned=await subjects.is_assigned(tx, head.tenant_id, template_id=head.id),
        named_by=None if naming is None else naming.head,
    )
