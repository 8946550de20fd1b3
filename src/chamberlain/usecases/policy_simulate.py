"""Simulate a policy: what it would do to some groups and sites, or to all of them, from now on. Nothing is written."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import NotPossible, TryAgain, Unavailable
from chamberlain.rules.findings import FindingSubject
from chamberlain.rules.groups import MemberShipType
from chamberlain.rules.ids import GroupId, PolicyId, TenantId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.policies import PolicyRules
from chamberlain.rules.policy_evaluation import AppliedPolicy, Present
from chamberlain.rules.policy_records import present
from chamberlain.rules.policy_simulation import Situation, period_of, simulate
from chamberlain.rules.policy_tasks import PolicyTask
from chamberlain.rules.simulations import Simulation, SimulationOrder, Tally, chosen_fault
from chamberlain.rules.subjects import ObservedSubject, SubjectReference
from chamberlain.shapes.policies import PolicyShape, to_policy_rules
from chamberlain.shapes.stored import StoredDecoder
from chamberlain.store import policies, policy_clocks, policy_tasks, subjects, tenants
from chamberlain.store.database import Database

# What the directory shows of groups of one tenant; raises TryAgain.
ObserveSubjects: TypeAlias = Callable[[Sequence[SubjectReference]], Awaitable[Sequence[ObservedSubject | None]]]

# So many are looked at together.
PAGE = 200
# Clients and proxies wait for a minute. It is enough for some ten thousand guests on a machine that does nothing else.
PATIENCE = timedelta(seconds=50)

_decode = StoredDecoder(PolicyShape).decode


@dataclass(frozen=True, slots=True)
class SimulatePolicy:
    """For administrators of the tenant, and applications that configure it."""

    database: Database
    observe: ObserveSubjects
    authorization: Authorization
    now: Callable[[], datetime]
    patience: timedelta = PATIENCE

    async def __call__(self, caller: Caller, policy_id: PolicyId, order: SimulationOrder) -> Simulation:
        """What would happen over the longest period that a rule of the policy has. Where it is assigned already, its
        clocks go on; elsewhere they begin now. Raises Forbidden, NotFound, NotPossible for groups and sites that there
        are not, and Unavailable when the directory does not answer, or when it takes too long."""
        await self.authorization.require(caller, Operation.ADMINISTER_COLLAB)
        rules, extension = await self._read(caller.tenant_id, policy_id)
        now = self.now()
        tally = Tally(policy_id, now, now + period_of(rules))
        limit = _Limit(time.monotonic() + self.patience.total_seconds())
        with limit:
            async for shown in self._shown(caller.tenant_id, extension, order):
                situations = await self._situations(policy_id, rules, shown, now)
                # It counts on and on, and others are to be answered meanwhile.
                await asyncio.to_thread(_add, tally, list(zip(shown, situations, strict=True)), limit)
        return tally.simulation()

    async def _read(self, tenant_id: TenantId, policy_id: PolicyId) -> tuple[PolicyRules, str]:
        async with self.database.transaction(tenant_id) as tx:
            record = present(await policies.find(tx, tenant_id, policy_id))
            tenant = await tenants.find(tx, tenant_id)
        prefix = "" if tenant is None else tenant.extension_prefix
        return to_policy_rules(_decode(record.stored.content)), f"{prefix}_group"

    async def _shown(
        self, tenant_id: TenantId, extension: str, order: SimulationOrder
    ) -> AsyncIterator[Sequence[ObservedSubject]]:
        """What the directory shows of them, page by page."""
        if order.chosen:
            yield await self._chosen(tenant_id, extension, order)
            return
        behind: GroupId | None = None
        while True:
            async with self.database.transaction(tenant_id) as tx:
                ids = await subjects.ids_behind(tx, tenant_id, behind, PAGE)
            shown = await self._observe([SubjectReference(tenant_id, each, extension) for each in ids])
            yield [each for each in shown if each is not None]
            if len(ids) < PAGE:
                return
            behind = ids[-1]

    async def _chosen(self, tenant_id: TenantId, extension: str, order: SimulationOrder) -> Sequence[ObservedSubject]:
        shown = await self._observe([SubjectReference(tenant_id, each, extension) for _, _, each in order.chosen])
        asked = list(zip(order.chosen, shown, strict=True))
        faults = [chosen_fault(type_, place, observed) for (type_, place, _), observed in asked]
        if found := [fault for fault in faults if fault is not None]:
            raise NotPossible(found)
        return [each for each in shown if each is not None]

    async def _observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        try:
            return await self.observe(references) if references else ()
        except TryAgain as error:
            detail = "The directory cannot be asked who is in these groups. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error

    async def _situations(
        self, policy_id: PolicyId, rules: PolicyRules, shown: Sequence[ObservedSubject], now: datetime
    ) -> Sequence[Situation]:
        if not shown:
            return ()
        tenant_id = shown[0].tenant_id
        async with self.database.transaction(tenant_id) as tx:
            tasks = await policy_clocks.read(tx, await policy_tasks.find(tx, [(tenant_id, each.id) for each in shown]))
        by_id = {task.subject.id: task for task in tasks}
        new = AppliedPolicy(policy_id, rules, now, is_begun=False)
        return [_situation(each, by_id.get(each.id), new, now=now) for each in shown]


@dataclass(slots=True)
class _Limit:
    """Ends what counts in a thread: at a time, and when nobody waits for it any more. A thread is not cancelled."""

    end: float
    is_left: bool = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.is_left = True

    def require(self) -> None:
        """Raises Unavailable when it takes too long."""
        if self.is_left or time.monotonic() > self.end:
            detail = "To look ahead at all of these takes too long. Choose some of them: groupIds, siteIds."
            raise Unavailable("overloaded", detail)


def _add(tally: Tally, situations: Sequence[tuple[ObservedSubject, Situation]], limit: _Limit) -> None:
    for observed, situation in situations:
        tally.add(observed, simulate(situation, now=tally.since, until=tally.until, before_each=limit.require))


def _situation(shown: ObservedSubject, task: PolicyTask | None, new: AppliedPolicy, *, now: datetime) -> Situation:
    """A group or site as it is now, if the policy stays, or were assigned to it in this moment."""
    assigned = None if task is None else task.policy
    stays = task is not None and assigned is not None and assigned.id == new.id
    return Situation(
        subject=FindingSubject(shown.tenant_id, shown.id, shown.type, shown.display_name),
        policy=assigned.applied(now=now) if stays and assigned is not None else new,
        present=Present(shown.guests, shown.owners),
        clocks=task.clocks if stays and task is not None else (),
        accepted=task.accepted if stays and task is not None else {},
        follows_rule=shown.member_ship_type is MemberShipType.DYNAMIC,
    )
