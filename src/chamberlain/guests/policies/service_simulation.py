"""Simulate the future effect of a policy on groups and sites.

Writes nothing.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.core.errors import NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import GroupId, PolicyId, TenantId
from chamberlain.core.json_stored import StoredDecoder
from chamberlain.database.transactions import Database
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.port import Subjects
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.policies import records, store, store_policy_tasks
from chamberlain.guests.policies.evaluation import AppliedPolicy, Present
from chamberlain.guests.policies.evaluation_policy_tasks import PolicyTask
from chamberlain.guests.policies.models import PolicyRules
from chamberlain.guests.policies.models_policy_records import present
from chamberlain.guests.policies.schema import PolicyShape, to_policy_rules
from chamberlain.guests.policies.simulation import Situation, period_of, simulate
from chamberlain.guests.policies.simulation_simulations import Simulation, SimulationOrder, Tally, chosen_fault
from chamberlain.guests.subjects import records as subject_records
from chamberlain.tenants import records as tenant_records

# Groups and sites of one batch.
BATCH = 200
# Clients and proxies wait for a minute. This is enough for some ten thousand guests on an idle machine.
TIMEOUT = timedelta(seconds=50)

_decode = StoredDecoder(PolicyShape).decode


@dataclass(frozen=True, slots=True)
class Simulator:
    """Simulates policies of all tenants. `timeout` limits one simulation."""

    database: Database
    subjects: Subjects
    now: Callable[[], datetime]
    timeout: timedelta = TIMEOUT

    async def simulate(self, tenant_id: TenantId, policy_id: PolicyId, order: SimulationOrder) -> Simulation:
        """Simulate over the longest period of the policy's rules.

        Timers of a policy that is already assigned continue; elsewhere they start now. Raises NotFound, NotPossible
        for unknown groups and sites, and Unavailable if the directory does not answer or the time is up.
        """
        rules, extension = await self._read(tenant_id, policy_id)
        now = self.now()
        tally = Tally(policy_id, now, now + period_of(rules))
        limit = _Limit(time.monotonic() + self.timeout.total_seconds())
        with limit:
            async for batch in self._batches(tenant_id, extension, order):
                situations = await self._situations(policy_id, rules, batch, now)
                # A thread, so that the event loop serves other calls meanwhile.
                await asyncio.to_thread(_add, tally, list(zip(batch, situations, strict=True)), limit)
        return tally.simulation()

    async def _read(self, tenant_id: TenantId, policy_id: PolicyId) -> tuple[PolicyRules, str]:
        async with self.database.transaction(tenant_id) as tx:
            record = present(await records.find(tx, tenant_id, policy_id))
            tenant = await tenant_records.find(tx, tenant_id)
        prefix = "" if tenant is None else tenant.extension_prefix
        return to_policy_rules(_decode(record.stored.content)), f"{prefix}_group"

    async def _batches(
        self, tenant_id: TenantId, extension: str, order: SimulationOrder
    ) -> AsyncIterator[Sequence[ObservedSubject]]:
        """Read the groups and sites from the directory, batch by batch."""
        if order.chosen:
            yield await self._chosen(tenant_id, extension, order)
            return
        after: GroupId | None = None
        while True:
            async with self.database.transaction(tenant_id) as tx:
                ids = await subject_records.ids_behind(tx, tenant_id, after, BATCH)
            observed = await self._observe([SubjectReference(tenant_id, each, extension) for each in ids])
            yield [each for each in observed if each is not None]
            if len(ids) < BATCH:
                return
            after = ids[-1]

    async def _chosen(self, tenant_id: TenantId, extension: str, order: SimulationOrder) -> Sequence[ObservedSubject]:
        observed = await self._observe([SubjectReference(tenant_id, each, extension) for _, _, each in order.chosen])
        asked = list(zip(order.chosen, observed, strict=True))
        faults = [chosen_fault(type_, place, subject) for (type_, place, _), subject in asked]
        if found := [fault for fault in faults if fault is not None]:
            raise NotPossible(found)
        return [each for each in observed if each is not None]

    async def _observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        try:
            return await self.subjects.observe(references) if references else ()
        except TryAgain as error:
            detail = "The directory cannot be asked who is in these groups. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error

    async def _situations(
        self, policy_id: PolicyId, rules: PolicyRules, observed: Sequence[ObservedSubject], now: datetime
    ) -> Sequence[Situation]:
        if not observed:
            return ()
        tenant_id = observed[0].tenant_id
        async with self.database.transaction(tenant_id) as tx:
            tasks = await store.read(tx, await store_policy_tasks.find(tx, [(tenant_id, each.id) for each in observed]))
        by_id = {task.subject.id: task for task in tasks}
        new = AppliedPolicy(policy_id, rules, now, is_begun=False)
        return [_situation(each, by_id.get(each.id), new, now=now) for each in observed]


@dataclass(slots=True)
class _Limit:
    """End a calculation at a time, or when its caller has left.

    A thread cannot be cancelled.
    """

    end: float
    is_left: bool = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.is_left = True

    def require(self) -> None:
        """Raise Unavailable if the time is up."""
        if self.is_left or time.monotonic() > self.end:
            detail = "To look ahead at all of these takes too long. Choose some of them: groupIds, siteIds."
            raise Unavailable("overloaded", detail)


def _add(tally: Tally, situations: Sequence[tuple[ObservedSubject, Situation]], limit: _Limit) -> None:
    for observed, situation in situations:
        tally.add(observed, simulate(situation, now=tally.since, until=tally.until, before_each=limit.require))


def _situation(observed: ObservedSubject, task: PolicyTask | None, new: AppliedPolicy, *, now: datetime) -> Situation:
    """Describe a group or site with its current policy, or the new one."""
    assigned = None if task is None else task.policy
    stays = task is not None and assigned is not None and assigned.id == new.id
    return Situation(
        subject=FindingSubject(observed.tenant_id, observed.id, observed.type, observed.display_name),
        policy=assigned.applied(now=now) if stays and assigned is not None else new,
        present=Present(observed.guests, observed.owners),
        clocks=task.clocks if stays and task is not None else (),
        accepted=task.accepted if stays and task is not None else {},
        follows_rule=observed.member_ship_type is MemberShipType.DYNAMIC,
    )
