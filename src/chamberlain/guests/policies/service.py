"""Administer guest policies.

For administrators of the tenant, and applications that configure it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.models_edits import Edit, require_match
from chamberlain.auth.permissions import Operation
from chamberlain.changes import record as change_record
from chamberlain.core.errors import NotPossible
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import PolicyId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.transactions import Database
from chamberlain.guests.policies import records
from chamberlain.guests.policies.models import policy_faults
from chamberlain.guests.policies.models_policy_records import PolicyRecord, created, present, removed, replaced
from chamberlain.guests.policies.models_uses import require_unused
from chamberlain.guests.policies.schema import PolicyBody, identified_policy, stored_policy, to_policy_rules
from chamberlain.guests.policies.service_simulation import Simulator
from chamberlain.guests.policies.simulation_simulations import Simulation, SimulationOrder
from chamberlain.guests.subjects import records as subject_records
from chamberlain.http import idempotency_idempotency
from chamberlain.templates import records as template_records


@dataclass(slots=True)
class PolicyService:
    """Create, read, replace, delete and simulate the policies of a tenant.

    Every method raises Forbidden for callers who are not administrators, and Unavailable if the directory has to say
    who is one and does not answer.
    """

    database: Database
    authorization: Authorization
    simulator: Simulator
    new_id: Callable[[], UUID]

    async def list(self, caller: Caller, page: PageWanted) -> Page[PolicyRecord]:
        """List policies, newest first, including inactive ones."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await records.find_page(tx, caller.tenant_id, page)

    async def create(
        self, caller: Caller, body: PolicyBody, act: Act, render: Callable[[PolicyRecord], bytes]
    ) -> KeptAnswer:
        """Create a policy and return what `render` makes of it.

        Raises NotPossible with all errors.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        _require_valid(body)
        editor = await self.authorization.editor(caller, act)
        policy_id = PolicyId(self.new_id())
        policy = stored_policy(identified_policy(body, policy_id), caller.tenant_id)

        async def work() -> bytes:
            active = policy.head.active
            await records.put(
                tx, caller.tenant_id, policy_id, active=active, content=policy.content, created_by=editor.actor
            )
            await change_record.record(tx, created(policy.head, json.decode(policy.content), editor))
            return render(present(await records.find(tx, caller.tenant_id, policy_id)))

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency_idempotency.once(tx, caller, act.idempotency, work)

    async def read(self, caller: Caller, policy_id: PolicyId) -> PolicyRecord:
        """Read a policy. Raises NotFound."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        async with self.database.transaction(caller.tenant_id) as tx:
            return present(await records.find(tx, caller.tenant_id, policy_id))

    async def replace(self, caller: Caller, policy_id: PolicyId, body: PolicyBody, edit: Edit) -> PolicyRecord:
        """Replace a policy and return it.

        An identical body is neither written nor audited.

        A policy that becomes inactive stays assigned. Raises NotFound, Stale, and NotPossible with all errors.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        editor = await self.authorization.editor(caller, edit)
        after = stored_policy(identified_policy(body, policy_id), caller.tenant_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            await template_records.lock(tx, caller.tenant_id)
            before = present(await records.find(tx, caller.tenant_id, policy_id))
            require_match(before.etag, edit, "policy")
            _require_valid(body)
            active = after.head.active
            if await records.put(
                tx, caller.tenant_id, policy_id, active=active, content=after.content, created_by=editor.actor
            ):
                contents = json.decode(before.stored.content), json.decode(after.content)
                await change_record.record(tx, replaced(after.head, *contents, editor))
            return present(await records.find(tx, caller.tenant_id, policy_id))

    async def delete(self, caller: Caller, policy_id: PolicyId, edit: Edit) -> None:
        """Delete a policy.

        Raises NotFound, Stale, and Conflict if it is assigned or a template names it.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        editor = await self.authorization.editor(caller, edit)
        tenant_id = caller.tenant_id
        async with self.database.transaction(tenant_id) as tx:
            # Keeps others from writing a template that names the policy.
            await template_records.lock(tx, tenant_id)
            record = present(await records.find(tx, tenant_id, policy_id))
            require_match(record.etag, edit, "policy")
            naming = await template_records.find_naming(tx, tenant_id, guest_policy_id=policy_id)
            require_unused(
                "policy",
                is_assigned=await subject_records.is_assigned(tx, tenant_id, policy_id=policy_id),
                named_by=None if naming is None else naming.head,
            )
            await records.remove(tx, tenant_id, policy_id)
            await change_record.record(tx, removed(record.stored.head, json.decode(record.stored.content), editor))

    async def simulate(self, caller: Caller, policy_id: PolicyId, order: SimulationOrder) -> Simulation:
        """Simulate a policy over the longest period of its rules. Writes nothing.

        Raises NotFound, NotPossible for unknown groups and sites, and Unavailable if the directory does not answer or
        the simulation takes too long.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        return await self.simulator.simulate(caller.tenant_id, policy_id, order)


def _require_valid(body: PolicyBody) -> None:
    if faults := tuple(policy_faults(to_policy_rules(body))):
        raise NotPossible(faults)
