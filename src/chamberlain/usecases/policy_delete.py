"""Delete a guest policy that is not in use."""

from dataclasses import dataclass

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit, require_match
from chamberlain.rules.ids import PolicyId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.policy_records import present, removed
from chamberlain.rules.uses import require_unused
from chamberlain.store import changes, policies, subjects, templates
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class DeletePolicy:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, policy_id: PolicyId, edit: Edit) -> None:
        """Raises Forbidden, NotFound, Stale, and Conflict for one that is assigned or named by a template."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        editor = await self.authorization.editor(caller, edit)
        tenant_id = caller.tenant_id
        async with self.database.transaction(tenant_id) as tx:
            # Nobody writes a template that names it meanwhile.
            await templates.lock(tx, tenant_id)
            record = present(await policies.find(tx, tenant_id, policy_id))
            require_match(record.etag, edit, "policy")
            naming = await templates.find_naming(tx, tenant_id, guest_policy_id=policy_id)
            require_unused(
                "policy",
                is_assigned=await subjects.is_assigned(tx, tenant_id, policy_id=policy_id),
                named_by=None if naming is None else naming.head,
            )
            await policies.remove(tx, tenant_id, policy_id)
            await changes.record(tx, removed(record.stored.head, json.decode(record.stored.content), editor))
