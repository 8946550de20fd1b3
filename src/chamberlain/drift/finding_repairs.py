# SPDX-License-Identifier: Apache-2.0
"""Repair findings on request, whatever the tenant's settings say.

A request of kind repair is about one finding. Its job compares and repairs one property of one object, as the nightly
check does, and writes the finding before the result of the request. It is idempotent: a finding that is closed needs no
repair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from chamberlain.changes.models import Event
from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import EventId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Transaction
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.directory.steps import Step
from chamberlain.drift import store
from chamberlain.drift.models import Managed, RepairTask
from chamberlain.drift.pages import PageChecks, current_page
from chamberlain.drift.rules import (
    Page,
    Place,
    PropertyState,
    drift_property,
    forget_history,
    judge_all,
    phase_of,
)
from chamberlain.guests import finding_records
from chamberlain.guests.models import FindingMailbox, FindingRecord, FindingState
from chamberlain.queue.models import Claim, JobKind
from chamberlain.queue.worker import JobTable
from chamberlain.requests.events import RequestSummary, request_failed
from chamberlain.requests.finish import Settled, settle
from chamberlain.requests.models import Progress, RequestKind, RequestResult, RequestState
from chamberlain.requests.steps import Settlement, after_outcome, entries_of
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

NOT_SHOWN = TryAgain(timedelta(seconds=10), "The directory does not show the object at present.")
NOT_REPAIRED = TryAgain(timedelta(seconds=10), "The directory does not show the repair yet.")
CHANGED = TryAgain(timedelta(seconds=1), "The object is being changed.")
NOT_MANAGED = Rejected("notManaged", "The object is not managed any more, so its desired state is unknown.")
NOT_POSSIBLE = Rejected("notRepairable", "The directory cannot change this property. Accept the finding instead.")
REPLACED = Rejected("repairReplaced", "A later request repairs this finding. Follow that request.")
CLOSED = frozenset({FindingState.REPAIRED, FindingState.GONE})


@dataclass(frozen=True, slots=True)
class RepairTarget:
    """The object and the property of a finding.

    `managed` is None if the object is not managed any more. `tenant` repairs this property.
    """

    tenant: Tenant
    name: DriftProperty
    managed: Managed | None
    states: Mapping[Place, PropertyState]


@dataclass(frozen=True, slots=True)
class FindingRepairJobs(PageChecks):
    """Job handlers of requested repairs. They run with the worker's role."""

    notifier: Notifier = field(kw_only=True)

    async def repair(self, claim: Claim) -> None:
        """Repair the findings of claimed requests.

        Each has its own outcome. Raises Unavailable.
        """
        started_at = self.now()
        async with self.database.across_tenants() as tx:
            tasks = await store.claim_repairs(tx, [job.subject for job in claim.jobs])
        self.notifier.tell([task.request_id for task in tasks])
        settled = [await self._settle(task, started_at) for task in tasks]
        ends = zip(tasks, settled, strict=True)
        failed = [task for task, each in ends if each.settlement.progress.state is RequestState.FAILED]
        async with self.database.across_tenants() as tx:
            await store.withdraw_repairs(tx, failed)
            changed = await settle(tx, claim, settled, now=self.now())
        self.notifier.tell(changed)

    async def _settle(self, task: RepairTask, started_at: datetime) -> Settled:
        fault, finding = await self._run(task)
        now = self.now()
        done = (Step.REPAIR_DRIFT,) if fault is None else ()
        progress = after_outcome(task.steps, done=done, fault=fault, started_at=started_at, now=now)
        result = _result(finding) if progress.state is RequestState.SUCCEEDED else None
        timeline = entries_of(task.steps, progress, result=result, at=now)
        settlement = Settlement(task.request_id, progress, result, people_checked=True, at=now, timeline=timeline)
        return Settled(settlement, self._event(task, progress, now), task=None)

    async def _run(self, task: RepairTask) -> tuple[OutsideFault | None, FindingRecord | None]:
        """Repair the finding of a request.

        Returns the fault that stopped it, and the finding.
        """
        async with self.database.across_tenants() as tx:
            tenant = await tenant_records.find(tx, task.tenant_id)
            if tenant is None:
                return None, None
            if task.finding_id is None:
                return REPLACED, None
            finding = await finding_records.find(tx, task.tenant_id, task.finding_id)
            if finding is None or finding.state in CLOSED:
                return None, finding
            target = await self._target(tx, tenant, finding)
        if target is None or target.managed is None:
            return NOT_MANAGED, finding
        if target.name in (await self.directory.capabilities(tenant.id)).hidden:
            return NOT_POSSIBLE, finding
        try:
            return await self._repair_target(target, target.managed, task), finding
        except TryAgain as fault:
            return fault, finding

    async def _target(self, tx: Transaction, tenant: Tenant, finding: FindingRecord) -> RepairTarget | None:
        """Return the target of a repair.

        It is None for a finding that no drift check wrote.
        """
        name = drift_property(finding)
        if name is None:
            return None
        phase = phase_of(name)
        key = finding.subject.id if phase is RequestKind.ASSIGNMENT else finding.request_id
        objects = await store.read_objects(tx, self.revisions, tenant.id, phase, [] if key is None else [key])
        states = await store.read_states(tx, tenant.id, [finding.subject.id], [name.path])
        repairing = replace(tenant, repairs_drift=True, repair_properties={name: Treatment.MANAGED})
        managed = next((each for each in objects if each.subject.id == finding.subject.id), None)
        return RepairTarget(repairing, name, managed, forget_history(states))

    async def _repair_target(self, target: RepairTarget, managed: Managed, task: RepairTask) -> OutsideFault | None:
        """Compare the property, repair it, and write its finding."""
        page = await self._compare_property(target, managed)
        if page is None:
            return NOT_SHOWN
        page = await self._repair(page)
        async with self.database.across_tenants() as tx:
            page = await current_page(tx, page)
            await self._write(tx, page, task.trace_id, request_id=task.request_id)
        return _fault(page)

    async def _compare_property(self, target: RepairTarget, managed: Managed) -> Page | None:
        """Compare one property of an object.

        Returns None if the directory does not show the object.
        """
        shown = await self._observe([managed])
        if None in shown:
            return None
        compared = await self._compare(target.tenant, [managed], shown)
        kept = [
            replace(each, differences=tuple([one for one in each.differences if one.name is target.name]))
            for each in await self._ignore_missing_people(target.tenant, compared)
        ]
        judged = judge_all(target.tenant, target.states, kept, now=self.now())
        return Page(target.tenant, (target.name,), target.states, kept, kept, judged)

    async def lock_states(self, tx: Transaction, page: Page) -> Mapping[Place, PropertyState]:
        """Lock the findings.

        Earlier repairs and acceptances do not count for a requested repair.
        """
        return forget_history(await PageChecks.lock_states(self, tx, page))

    def _event(self, task: RepairTask, progress: Progress, now: datetime) -> Event | None:
        if progress.state is not RequestState.FAILED:
            return None
        summary = RequestSummary(
            request_id=task.request_id,
            tenant_id=task.tenant_id,
            kind=RequestKind.REPAIR,
            state=progress.state,
            display_name=task.display_name,
            error=progress.error,
            created_by=task.created_by,
        )
        return request_failed(EventId(self.new_id()), summary, now=now)


def _fault(page: Page) -> OutsideFault | None:
    """Return the fault of a repair.

    It is None if the directory shows the desired state.
    """
    if not page.comparisons:
        return CHANGED
    if not page.found:
        return None
    if not page.planned:
        return NOT_POSSIBLE
    return next((each.fault for each in page.judged if each.fault is not None), NOT_REPAIRED)


def _result(finding: FindingRecord | None) -> RequestResult | None:
    if finding is None:
        return None
    kind = "mailbox" if isinstance(finding.subject, FindingMailbox) else "group"
    return RequestResult(kind, finding.subject.id, finding.subject.display_name, None)


JOBS = JobTable(FindingRepairJobs, {JobKind.FINDING_REPAIR: FindingRepairJobs.repair})
