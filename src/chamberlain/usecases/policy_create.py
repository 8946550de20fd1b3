"""Create a guest policy."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Editor
from chamberlain.rules.errors import NotPossible
from chamberlain.rules.ids import PolicyId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.policies import StoredPolicy, policy_faults
from chamberlain.rules.policy_records import PolicyRecord, created, present
from chamberlain.shapes.policies import PolicyBody, identified_policy, stored_policy, to_policy_rules
from chamberlain.store import changes, idempotency, policies
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class CreatePolicy:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    authorization: Authorization
    new_id: Callable[[], UUID]

    async def __call__(
        self, caller: Caller, body: PolicyBody, act: Act, render: Callable[[PolicyRecord], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the policy. Raises Forbidden, and NotPossible with all faults."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        if faults := tuple(policy_faults(to_policy_rules(body))):
            raise NotPossible(faults)
        editor = await self.authorization.editor(caller, act)
        policy = stored_policy(identified_policy(body, PolicyId(self.new_id())), caller.tenant_id)

        async def work() -> bytes:
            return render(await _create(tx, policy, editor))

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)


async def _create(tx: Transaction, policy: StoredPolicy, editor: Editor) -> PolicyRecord:
    head = policy.head
    await policies.put(tx, head.tenant_id, head.id, active=head.active, content=policy.content, created_by=editor.actor)
    await changes.record(tx, created(head, json.decode(policy.content), editor))
    return present(await policies.find(tx, head.tenant_id, head.id))
