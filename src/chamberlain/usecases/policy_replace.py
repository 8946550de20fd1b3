"""Replace a guest policy, the whole of it."""

from dataclasses import dataclass

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit, Editor, require_match
from chamberlain.rules.errors import NotPossible
from chamberlain.rules.ids import PolicyId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.policies import StoredPolicy, policy_faults
from chamberlain.rules.policy_records import PolicyRecord, present, replaced
from chamberlain.shapes.policies import PolicyBody, identified_policy, stored_policy, to_policy_rules
from chamberlain.store import changes, policies, templates
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class ReplacePolicy:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, policy_id: PolicyId, body: PolicyBody, edit: Edit) -> PolicyRecord:
        """The policy as it is then. What it says already is neither written nor put on record. One that is no longer
        active stays assigned. Raises Forbidden, NotFound, Stale, and NotPossible with all faults."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        editor = await self.authorization.editor(caller, edit)
        after = stored_policy(identified_policy(body, policy_id), caller.tenant_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            await templates.lock(tx, caller.tenant_id)
            before = present(await policies.find(tx, caller.tenant_id, policy_id))
            require_match(before.etag, edit, "policy")
            if faults := tuple(policy_faults(to_policy_rules(body))):
                raise NotPossible(faults)
            await _replace(tx, before.stored, after, editor)
            return present(await policies.find(tx, caller.tenant_id, policy_id))


async def _replace(tx: Transaction, before: StoredPolicy, after: StoredPolicy, editor: Editor) -> None:
    head = after.head
    if await policies.put(
        tx, head.tenant_id, head.id, active=head.active, content=after.content, created_by=editor.actor
    ):
        await changes.record(tx, replaced(head, json.decode(before.content), json.decode(after.content), editor))
