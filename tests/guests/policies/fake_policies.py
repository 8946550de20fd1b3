# SPDX-License-Identifier: Apache-2.0
"""A fake service of guest policies in memory."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType, Caller, Edit, require_match
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import GroupId, PolicyId, UserId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.models import FindingKind, FindingSubject
from chamberlain.guests.policies.models import PolicyAction, PolicyRecord, present
from chamberlain.guests.policies.schema import PolicyBody, identified_policy, stored_policy
from chamberlain.guests.policies.service import PolicyService
from chamberlain.guests.policies.simulation import Occurrence, OccurrenceType, Simulation, SimulationRequest
from tests.template_admin.fake_templates import MADE_AT
from tests.tenants.fake_tenants import TENANT_ID

POLICY_ID = PolicyId(UUID("90110000-0000-4000-8000-000000000002"))
GIL = Guest(UserId(UUID("9e570000-0000-4000-8000-000000000001")), "gil@partner.example", "Gil Hartmann")


def simulation(policy_id: PolicyId) -> Simulation:
    """A simulation with the reminder of a guest."""
    occurrence = Occurrence(
        at=MADE_AT,
        type=OccurrenceType.REMINDER,
        kind=FindingKind.GUEST_EXPIRED,
        subject=FindingSubject(TENANT_ID, GroupId(POLICY_ID), SubjectType.GROUP, "All staff"),
        guest=GIL,
        action=PolicyAction.REMOVE,
        action_at=MADE_AT,
    )
    return Simulation(
        policy_id=policy_id,
        since=MADE_AT,
        until=MADE_AT,
        subjects=2,
        guests=3,
        reminders=1,
        findings={FindingKind.GUEST_EXPIRED: 1},
        actions={PolicyAction.REMOVE: 1},
        occurrences=(occurrence,),
    )


class FakePolicies(PolicyService):
    """Keeps policies in memory. Every method raises `refusal` once it is set."""

    def __init__(self) -> None:
        self.records: dict[PolicyId, PolicyRecord] = {}
        self.acts: list[Act] = []
        self.simulated: list[SimulationRequest] = []
        self.refusal: Exception | None = None
        self.replayed = False

    async def list(self, caller: Caller, page: PageWanted) -> Page[PolicyRecord]:
        self._refuse(caller)
        found = list(self.records.values())[: page.limit]
        more = len(self.records) > page.limit
        return Page(found, Position(found[-1].created_at, found[-1].stored.head.id) if more else None)

    async def create(
        self, caller: Caller, body: PolicyBody, act: Act, render: Callable[[PolicyRecord], bytes]
    ) -> KeptAnswer:
        self._refuse(caller)
        self.acts.append(act)
        return KeptAnswer(render(self.put(caller, POLICY_ID, body)), self.replayed)

    async def read(self, caller: Caller, policy_id: PolicyId) -> PolicyRecord:
        self._refuse(caller)
        return present(self.records.get(policy_id))

    async def replace(self, caller: Caller, policy_id: PolicyId, body: PolicyBody, edit: Edit) -> PolicyRecord:
        require_match((await self.read(caller, policy_id)).etag, edit, "policy")
        return self.put(caller, policy_id, body)

    async def delete(self, caller: Caller, policy_id: PolicyId, edit: Edit) -> None:
        require_match((await self.read(caller, policy_id)).etag, edit, "policy")
        del self.records[policy_id]

    async def simulate(self, caller: Caller, policy_id: PolicyId, order: SimulationRequest) -> Simulation:
        await self.read(caller, policy_id)
        self.simulated.append(order)
        return simulation(policy_id)

    def put(self, caller: Caller, policy_id: PolicyId, body: PolicyBody) -> PolicyRecord:
        before = self.records.get(policy_id)
        stored = stored_policy(identified_policy(body, policy_id), caller.tenant_id)
        if before is not None:
            stored = replace(stored, head=replace(stored.head, revision=before.stored.head.revision + 1))
        by = Actor(ActorType.USER, caller.id, "Ada Achterberg")
        self.records[policy_id] = PolicyRecord(stored, MADE_AT, by, MADE_AT)
        return self.records[policy_id]

    def _refuse(self, caller: Caller) -> None:
        assert caller.tenant_id == TENANT_ID
        if self.refusal is not None:
            raise self.refusal
