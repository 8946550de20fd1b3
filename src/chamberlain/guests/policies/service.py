# SPDX-License-Identifier: Apache-2.0
"""Administer guest policies.

For administrators of the tenant, and applications that configure it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self
from uuid import UUID

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Edit, require_match
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import Change, announced
from chamberlain.changes.records import record_change
from chamberlain.core.errors import NotPossible, TryAgain, Unavailable
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import EventId, GroupId, PolicyId, TenantId
from chamberlain.core.json import StoredDecoder
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.port import Subjects
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.policies import records, store
from chamberlain.guests.policies.evaluation import AppliedPolicy, Membership, PolicyTask
from chamberlain.guests.policies.models import (
    PolicyRecord,
    PolicyRules,
    created,
    policy_faults,
    present,
    removed,
    replaced,
    require_unused,
)
from chamberlain.guests.policies.schema import (
    PolicyBody,
    PolicyShape,
    identified_policy,
    stored_policy,
    to_policy_rules,
)
from chamberlain.guests.policies.simulation import (
    Occurrence,
    SimulatedSubject,
    Simulation,
    SimulationRequest,
    SimulationTotals,
    simulate,
    simulation_period,
    subject_fault,
)
from chamberlain.guests.subjects import records as subject_records
from chamberlain.http import idempotency
from chamberlain.templates import records as template_records
from chamberlain.tenants import records as tenant_records

# Groups and sites of one batch.
BATCH = 200
# Timeout of clients and proxies is a minute as a rule. This is enough for some ten thousand guests on an idle machine.
TIMEOUT = timedelta(seconds=50)

_decode = StoredDecoder(PolicyShape).decode


@dataclass(frozen=True, slots=True)
class Simulator:
    """Simulates policies of all tenants. `timeout` limits one simulation."""

    database: Database
    subjects: Subjects
    now: Callable[[], datetime]
    timeout: timedelta = TIMEOUT

    async def simulate(self, tenant_id: TenantId, policy_id: PolicyId, order: SimulationRequest) -> Simulation:
        """Simulate over the longest period of the policy's rules.

        Timers of a policy that is already assigned continue; elsewhere they start now. Raises NotFound, NotPossible
        for unknown groups and sites, and Unavailable if the directory does not answer or the time is up.
        """
        rules, extension = await self._read(tenant_id, policy_id)
        now = self.now()
        totals = SimulationTotals(policy_id, now, now + simulation_period(rules))
        limit = _Limit(time.monotonic() + self.timeout.total_seconds())
        with limit:
            async for batch in self._batches(tenant_id, extension, order):
                simulated = await self._read_subjects(policy_id, rules, batch, now)
                # A thread, so that the event loop serves other calls meanwhile.
                await asyncio.to_thread(_add, totals, list(zip(batch, simulated, strict=True)), limit)
        return totals.simulation()

    async def simulate_now(self, policy_id: PolicyId, observed: ObservedSubject) -> Sequence[Occurrence]:
        """Simulate a policy of one group or site at this moment.

        Raises NotFound, and Unavailable if the time is up.
        """
        rules, _ = await self._read(observed.tenant_id, policy_id)
        now = self.now()
        (simulated,) = await self._read_subjects(policy_id, rules, (observed,), now)
        with _Limit(time.monotonic() + self.timeout.total_seconds()) as limit:
            return await asyncio.to_thread(_occurrences, simulated, now, limit)

    async def _read(self, tenant_id: TenantId, policy_id: PolicyId) -> tuple[PolicyRules, str]:
        async with self.database.transaction(tenant_id) as tx:
            record = present(await records.find(tx, tenant_id, policy_id))
            tenant = await tenant_records.find(tx, tenant_id)
        prefix = "" if tenant is None else tenant.extension_prefix
        return to_policy_rules(_decode(record.stored.content)), f"{prefix}_group"

    async def _batches(
        self, tenant_id: TenantId, extension: str, order: SimulationRequest
    ) -> AsyncIterator[Sequence[ObservedSubject]]:
        """Read the groups and sites from the directory, batch by batch."""
        if order.chosen:
            yield await self._read_chosen(tenant_id, extension, order)
            return
        after: GroupId | None = None
        while True:
            async with self.database.transaction(tenant_id) as tx:
                ids = await subject_records.ids_after(tx, tenant_id, after, BATCH)
            observed = await self._observe([SubjectReference(tenant_id, each, extension) for each in ids])
            yield [each for each in observed if each is not None]
            if len(ids) < BATCH:
                return
            after = ids[-1]

    async def _read_chosen(
        self, tenant_id: TenantId, extension: str, order: SimulationRequest
    ) -> Sequence[ObservedSubject]:
        observed = await self._observe([SubjectReference(tenant_id, each, extension) for _, _, each in order.chosen])
        asked = list(zip(order.chosen, observed, strict=True))
        faults = [subject_fault(type_, place, subject) for (type_, place, _), subject in asked]
        if found := [fault for fault in faults if fault is not None]:
            raise NotPossible(found)
        return [each for each in observed if each is not None]

    async def _observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        try:
            return await self.subjects.observe(references) if references else ()
        except TryAgain as error:
            detail = "The directory does not answer. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error

    async def _read_subjects(
        self, policy_id: PolicyId, rules: PolicyRules, observed: Sequence[ObservedSubject], now: datetime
    ) -> Sequence[SimulatedSubject]:
        if not observed:
            return ()
        tenant_id = observed[0].tenant_id
        async with self.database.transaction(tenant_id) as tx:
            tasks = await store.read_timers(tx, await store.find(tx, [(tenant_id, each.id) for each in observed]))
        by_id = {task.subject.id: task for task in tasks}
        new = AppliedPolicy(policy_id, rules, now, is_begun=False)
        return [_simulated_subject(each, by_id.get(each.id), new, now=now) for each in observed]


@dataclass(slots=True)
class _Limit:
    """End a calculation at a time, or when its caller has left.

    A thread cannot be cancelled.
    """

    end: float
    is_left: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.is_left = True

    def require(self) -> None:
        """Raise Unavailable if the time is up."""
        if self.is_left or time.monotonic() > self.end:
            detail = "The simulation takes too long. Choose some groups or sites: groupIds, siteIds."
            raise Unavailable("overloaded", detail)


def _add(totals: SimulationTotals, subjects: Sequence[tuple[ObservedSubject, SimulatedSubject]], limit: _Limit) -> None:
    for observed, simulated in subjects:
        totals.add(observed, simulate(simulated, now=totals.since, until=totals.until, before_each=limit.require))


def _occurrences(simulated: SimulatedSubject, now: datetime, limit: _Limit) -> Sequence[Occurrence]:
    return tuple(simulate(simulated, now=now, until=now, before_each=limit.require))


def _simulated_subject(
    observed: ObservedSubject, task: PolicyTask | None, new: AppliedPolicy, *, now: datetime
) -> SimulatedSubject:
    """Combine a group or site with its current or the new policy."""
    assigned = None if task is None else task.policy
    stays = task is not None and assigned is not None and assigned.id == new.id
    return SimulatedSubject(
        subject=FindingSubject(observed.tenant_id, observed.id, observed.type, observed.display_name),
        policy=assigned.applied(now=now) if stays and assigned is not None else new,
        present=Membership(observed.guests, observed.owners),
        timers=task.timers if stays and task is not None else (),
        accepted=task.accepted if stays and task is not None else {},
        follows_rule=observed.member_ship_type is MemberShipType.DYNAMIC,
    )


@dataclass(slots=True)
class PolicyService:
    """Create, read, replace, delete and simulate the policies of a tenant.

    Every method raises Forbidden for callers who are not administrators. It raises Unavailable if the directory does
    not answer whether the caller is one.
    """

    database: Database
    authorization: Authorization
    simulator: Simulator
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def list(self, caller: Caller, page: PageWanted) -> Page[PolicyRecord]:
        """List policies, newest first, including inactive ones."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await records.find_page(tx, caller.tenant_id, page)

    async def create(
        self, caller: Caller, body: PolicyBody, act: Act, render: Callable[[PolicyRecord], bytes]
    ) -> KeptAnswer:
        """Create a policy and return the answer that `render` builds.

        Raises NotPossible with all errors.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        _require_valid(body)
        editor = await self.authorization.editor(caller, act)
        policy_id = PolicyId(self.new_id())
        policy = stored_policy(identified_policy(body, policy_id), caller.tenant_id)

        async def work() -> bytes:
            active = policy.head.active
            await records.save(
                tx, caller.tenant_id, policy_id, active=active, content=policy.content, created_by=editor.actor
            )
            await self._record(tx, created(policy.head, json.decode(policy.content), editor))
            return render(present(await records.find(tx, caller.tenant_id, policy_id)))

        async with self.database.transaction(caller.tenant_id) as tx:
            return await idempotency.once(tx, caller, act.idempotency, work)

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
            if await records.save(
                tx, caller.tenant_id, policy_id, active=active, content=after.content, created_by=editor.actor
            ):
                contents = json.decode(before.stored.content), json.decode(after.content)
                await self._record(tx, replaced(after.head, *contents, editor))
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
            await records.delete(tx, tenant_id, policy_id)
            await self._record(tx, removed(record.stored.head, json.decode(record.stored.content), editor))

    async def simulate(self, caller: Caller, policy_id: PolicyId, order: SimulationRequest) -> Simulation:
        """Simulate a policy over the longest period of its rules. Writes nothing.

        Raises NotFound, NotPossible for unknown groups and sites, and Unavailable if the directory does not answer or
        the simulation takes too long.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        return await self.simulator.simulate(caller.tenant_id, policy_id, order)

    async def _record(self, tx: Transaction, change: Change) -> None:
        """Record the change of a policy with its event."""
        await record_change(tx, announced(change, EventId(self.new_id()), now=self.now()))


def _require_valid(body: PolicyBody) -> None:
    if faults := tuple(policy_faults(to_policy_rules(body))):
        raise NotPossible(faults)
