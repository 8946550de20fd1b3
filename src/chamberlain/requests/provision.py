# SPDX-License-Identifier: Apache-2.0
"""Provision the objects of requests in the directory.

A job loads, observes, plans, applies and records. Running it twice is harmless. Steps that the directory already shows
are skipped. An object is found by the mark of its request. If the directory trusts writes, a recorded step is never
repeated, and an acknowledged write is not read back.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Generic, Protocol, TypeVar
from uuid import UUID

from chamberlain.changes.models import Event
from chamberlain.core.errors import Fault, Forbidden, OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import EventId, TenantId
from chamberlain.core.reasons import Reason
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import Directory, Outcome, People, Work
from chamberlain.directory.steps import Step
from chamberlain.queue.models import Claim
from chamberlain.requests.events import RequestSummary, request_failed, with_shortfalls
from chamberlain.requests.finish import Settled, settle, take_up
from chamberlain.requests.models import Progress, RequestResult, RequestState
from chamberlain.requests.steps import (
    Settlement,
    Task,
    after_faults,
    after_outcome,
    entries_of,
    fall_short,
    learned_name,
    reasons_by_step,
    summary_of_task,
    with_caller,
)


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """A task. Nouns add the desired state."""

    task: Task

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps that change the directory."""
        return tuple([record.step for record in self.task.steps if record.step is not Step.CHECK_PEOPLE])


Plan = TypeVar("Plan", bound=TaskPlan)
Wanted = TypeVar("Wanted")
Observed = TypeVar("Observed", bound="Identified")


class Identified(Protocol):
    """An object of the directory."""

    @property
    def id(self) -> UUID:
        """Return the id in the directory."""


@dataclass(frozen=True, slots=True)
class Run(Generic[Plan, Observed]):
    """The outcome of one plan in this run."""

    plan: Plan
    progress: Progress
    observed: Observed | None
    people_checked: bool
    made: UUID | None = None
    warnings: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class PeopleCheck:
    """Validate the people of a request.

    `question` is for the directory, the rules are for its answer.
    """

    question: PeopleQuestion
    refuse: Callable[[PeopleAnswer], Forbidden | None]
    faults: Callable[[PeopleAnswer], Sequence[Fault]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioner(ABC, Generic[Plan, Wanted, Observed]):
    """Provision a batch of claimed jobs, each with its own outcome."""

    # An object counts as created when the directory shows it, unless the directory trusts writes.
    not_shown: ClassVar[TryAgain]

    database: Database
    people: People
    directory: Directory
    notifier: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def provision(self, claim: Claim) -> None:
        """Provision the jobs of a claim.

        Raises Unavailable if the database does not answer. The jobs are claimed again when their lease ends.
        """
        started_at = self.now()
        plans = await self._take_up(claim)
        unchecked = [plan for plan in plans if not plan.task.people_checked]
        # Concurrent questions are sent as one batch.
        checked = await asyncio.gather(*[self._check_people(plan, started_at) for plan in unchecked])
        runs = [each for each in checked if isinstance(each, Run)]
        going_on = [plan for plan in plans if plan.task.people_checked]
        going_on += [each for each in checked if not isinstance(each, Run)]
        runs += await self._ensure(going_on, started_at)
        await self.record(claim, runs)

    @abstractmethod
    async def plan(self, tx: Transaction, tasks: Sequence[Task]) -> Sequence[Plan]:
        """Load the templates of tasks, and derive the desired state."""

    @abstractmethod
    async def people_check(self, plan: Plan) -> PeopleCheck:
        """Prepare the validation of the people."""

    @abstractmethod
    async def observe(self, plans: Sequence[Plan]) -> Sequence[Observed | None]:
        """Observe the object of each plan by its mark. Raises TryAgain."""

    @abstractmethod
    def work(self, plan: Plan, observed: Observed | None) -> Work[Wanted]:
        """Return the desired state and its remaining steps."""

    @abstractmethod
    async def ensure(self, works: Sequence[Work[Wanted]]) -> Sequence[Outcome[Observed]]:
        """Apply works in the directory. Raises TryAgain."""

    @abstractmethod
    def written(self, plan: Plan, object_id: UUID) -> Observed:
        """Return the written object, with its id in the directory."""

    @abstractmethod
    def result(self, plan: Plan, observed: Observed) -> RequestResult:
        """Return the result of a request that succeeded."""

    @abstractmethod
    def made(self, task: Task, object_id: UUID) -> RequestResult:
        """Return the object of a request that has not succeeded."""

    @abstractmethod
    def created(self, run: Run[Plan, Observed], observed: Observed, summary: RequestSummary, now: datetime) -> Event:
        """Return the event of a created object."""

    async def record(self, claim: Claim, runs: Sequence[Run[Plan, Observed]]) -> None:
        """Write the results of a claim in one transaction."""
        now = self.now()
        async with self.database.across_tenants() as tx:
            changed = await settle(tx, claim, [self.settled(run, now) for run in runs], now=now)
        self.notifier.tell(changed)

    def settled(self, run: Run[Plan, Observed], now: datetime) -> Settled:
        """Return the settlement of a run, with its event."""
        task, progress = run.plan.task, run.progress
        result = made = None
        if progress.state is RequestState.SUCCEEDED and run.observed is not None:
            result = self.result(run.plan, run.observed)
        elif (made_id := run.made if run.observed is None else run.observed.id) is not None:
            made = self.made(task, made_id)
        settlement = Settlement(
            task.request_id,
            progress,
            result,
            run.people_checked,
            now,
            entries_of(task.steps, progress, result=result, at=now),
            made,
            learned_name(task),
            run.warnings,
        )
        return Settled(settlement, self._event(run, now), task)

    def _event(self, run: Run[Plan, Observed], now: datetime) -> Event | None:
        summary = summary_of_task(run.plan.task, run.progress)
        if run.progress.state is RequestState.FAILED:
            return request_failed(EventId(self.new_id()), summary, now=now)
        if run.progress.state is RequestState.SUCCEEDED and run.observed is not None:
            return with_shortfalls(self.created(run, run.observed, summary, now), run.progress.steps)
        return None

    async def _take_up(self, claim: Claim) -> Sequence[Plan]:
        # If the directory shares the database, its writes are never durable before this one.
        tenants = {job.tenant_id for job in claim.jobs}
        async with self.database.across_tenants(before_disk=await self._sharing(tenants) == tenants) as tx:
            tasks = await take_up(tx, [job.subject for job in claim.jobs])
            plans = await self.plan(tx, tasks)
        self.notifier.tell([task.request_id for task in tasks])
        return plans

    async def _check_people(self, plan: Plan, started_at: datetime) -> Plan | Run[Plan, Observed]:
        """Validate the people if the directory did not answer at submission.

        Returns the plan with the caller's name, or the run if it ends here.
        """
        check = await self.people_check(plan)
        try:
            answer = await self.people.look_up(check.question)
        except TryAgain as fault:
            return Run(plan, self._after(plan, (), fault, started_at), None, people_checked=False)
        plan = replace(plan, task=with_caller(plan.task, answer.people.get(plan.task.caller)))
        refusal = check.refuse(answer)
        if refusal is not None:
            rejected = Rejected(refusal.code, refusal.detail)
            return Run(plan, self._after(plan, (), rejected, started_at), None, people_checked=False)
        faults = check.faults(answer)
        if faults:
            progress = after_faults(plan.task.steps, faults, started_at=started_at, now=self.now())
            return Run(plan, progress, None, people_checked=False)
        return plan

    async def _ensure(self, plans: Sequence[Plan], started_at: datetime) -> list[Run[Plan, Observed]]:
        if not plans:
            return []
        try:
            found = await self._observe_begun(plans)
        except TryAgain as fault:
            return [self._run(plan, (), Outcome(None, (), fault), started_at) for plan in plans]
        trusting = await self._trusting({plan.task.tenant_id for plan in plans})
        works = [
            _without_recorded(self.work(plan, observed), plan.task)
            if plan.task.tenant_id in trusting
            else self.work(plan, observed)
            for plan, observed in zip(plans, found, strict=True)
        ]
        outcomes = await self._outcomes(works, found)
        if trusting:
            outcomes = [
                self._acknowledged(plan, outcome) if plan.task.tenant_id in trusting else outcome
                for plan, outcome in zip(plans, outcomes, strict=True)
            ]
        return [
            self._run(plan, set(plan.steps).difference(work.steps), outcome, started_at)
            for plan, work, outcome in zip(plans, works, outcomes, strict=True)
        ]

    async def _observe_begun(self, plans: Sequence[Plan]) -> Sequence[Observed | None]:
        """Observe the object of each plan.

        Skips the lookup for new requests if the directory shares the database: it cannot have objects of them.
        """
        sharing = await self._sharing({plan.task.tenant_id for plan in plans})
        is_begun = [not plan.task.is_new or plan.task.tenant_id not in sharing for plan in plans]
        begun = [plan for plan, is_one in zip(plans, is_begun, strict=True) if is_one]
        shown = iter(await self.observe(begun) if begun else ())
        return [next(shown) if is_one else None for is_one in is_begun]

    async def _sharing(self, tenants: Collection[TenantId]) -> Collection[TenantId]:
        """Select the tenants whose directory shares the database of the service."""
        return {tenant for tenant in tenants if (await self.directory.capabilities(tenant)).shares_database}

    async def _trusting(self, tenants: Collection[TenantId]) -> Collection[TenantId]:
        """Select the tenants whose directory completes a step by an acknowledged write."""
        return {tenant for tenant in tenants if (await self.directory.capabilities(tenant)).trusts_writes}

    async def _outcomes(
        self, works: Sequence[Work[Wanted]], found: Sequence[Observed | None]
    ) -> Sequence[Outcome[Observed]]:
        """Apply the missing steps of each work."""
        unfinished = [work for work in works if work.steps]
        try:
            ensured = await self.ensure(unfinished) if unfinished else ()
        except TryAgain as fault:
            ensured = [Outcome(None, (), fault) for _ in unfinished]
        ends = iter(ensured)
        return [
            next(ends) if work.steps else Outcome(observed, (), None)
            for work, observed in zip(works, found, strict=True)
        ]

    def _acknowledged(self, plan: Plan, outcome: Outcome[Observed]) -> Outcome[Observed]:
        """Complete an outcome by the written state.

        The directory does not show the object yet.
        """
        made = outcome.made or plan.task.made
        if outcome.fault is not None or outcome.observed is not None or made is None:
            return outcome
        return replace(outcome, observed=self.written(plan, made))

    def _run(
        self, plan: Plan, shown: Collection[Step], outcome: Outcome[Observed], started_at: datetime
    ) -> Run[Plan, Observed]:
        if outcome.fault is None and outcome.observed is None:
            outcome = replace(outcome, done=(), fault=self.not_shown)
        done = {Step.CHECK_PEOPLE, *shown, *outcome.done}
        progress = self._after(plan, done, outcome.fault, started_at)
        shortfalls = reasons_by_step(outcome.shortfalls, plan.task.recorded) if outcome.shortfalls else {}
        return Run(
            plan,
            fall_short(progress, shortfalls),
            outcome.observed,
            people_checked=True,
            made=outcome.made,
            warnings=tuple(shortfalls.values()),
        )

    def _after(self, plan: Plan, done: Collection[Step], fault: OutsideFault | None, started_at: datetime) -> Progress:
        return after_outcome(plan.task.steps, done=done, fault=fault, started_at=started_at, now=self.now())


def _without_recorded(work: Work[Wanted], task: Task) -> Work[Wanted]:
    """Leave out the steps that earlier runs have recorded.

    A replica may not show their effect yet.
    """
    return replace(work, steps=tuple([step for step in work.steps if step not in task.recorded]))
