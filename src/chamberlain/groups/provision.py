"""Create groups and teams in the directory: load, observe, plan, apply, record.

Running it twice is harmless. Steps that the directory already shows are skipped. A group is found by the mark of its
request.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from chamberlain.auth.models import Editor
from chamberlain.changes.models import Event
from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import EventId, PolicyId, TemplateId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup, remaining
from chamberlain.directory.models import MailAddress
from chamberlain.directory.port import Directory, Outcome, People, Work
from chamberlain.directory.steps import Step
from chamberlain.groups.models import GroupNames, GroupOrder
from chamberlain.groups.rules import (
    faults_in_directory,
    group_created,
    people_question,
    team_license_missing,
    wanted_group,
)
from chamberlain.groups.wire import read_group_order
from chamberlain.queue.models import Claim, JobKind
from chamberlain.queue.worker import JobTable
from chamberlain.requests import finish
from chamberlain.requests.events import request_failed
from chamberlain.requests.finish import Settled, settle_within
from chamberlain.requests.lookup import look_for
from chamberlain.requests.models import Progress, RequestResult, RequestState
from chamberlain.requests.steps import (
    Settlement,
    Task,
    after_faults,
    after_outcome,
    entries_of,
    learned_name,
    summary_of_task,
    warn,
    with_caller,
)
from chamberlain.templates.cache import Revisions
from chamberlain.templates.models import GroupTemplate
from chamberlain.templates.rules import template_not_allowed

# A group counts as created when the directory shows it.
NOT_SHOWN = TryAgain(timedelta(seconds=5), "The directory says that the group is made, and does not show it.")


@dataclass(frozen=True, slots=True)
class Plan:
    """A task with its desired state."""

    task: Task
    order: GroupOrder
    template: GroupTemplate
    wanted: WantedGroup

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps that change the directory."""
        return tuple(record.step for record in self.task.steps if record.step is not Step.CHECK_PEOPLE)


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of one plan in this run."""

    plan: Plan
    progress: Progress
    group: ObservedGroup | None
    people_checked: bool
    made: UUID | None = None
    guest_rules: "GuestRuleDraft | None" = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadyGroup:
    """A created group, with the guest rules of its template."""

    wanted: WantedGroup
    group: ObservedGroup
    guest_template_id: TemplateId | None
    guest_policy_id: PolicyId | None
    editor: Editor


class GuestRuleDraft(Protocol):
    """The guest rules of a created group, and warnings.

    Each rule that it does not get has a warning.
    """

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings, as sentences."""


class GuestRuleAssigner(Protocol):
    """Assign guest rules to created groups, in the transaction that records them."""

    async def draft(self, tx: Transaction, groups: Sequence[ReadyGroup]) -> Sequence[GuestRuleDraft]:
        """Decide for each group. The decision stays valid until the transaction ends."""

    async def write(self, tx: Transaction, drafts: Sequence[GuestRuleDraft]) -> None:
        """Write drafts. Raises Overtaken if another transaction holds their rows."""


@dataclass(frozen=True, slots=True)
class GroupProvisioner:
    """Provision a batch of claimed jobs, each with its own outcome."""

    database: Database
    people: People
    directory: Directory
    revisions: Revisions
    guest_rules: GuestRuleAssigner
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
        going_on += [each for each in checked if isinstance(each, Plan)]
        runs += await self._ensure(going_on, started_at)
        await self._record(claim, runs)

    async def _take_up(self, claim: Claim) -> Sequence[Plan]:
        # If the directory shares the database, its writes are never durable before this one.
        async with self.database.across_tenants(before_disk=self.directory.capabilities.shares_database) as tx:
            tasks = await finish.take_up(tx, [job.subject for job in claim.jobs])
            templates = [await self.revisions.group_template(tx, task) for task in tasks]
        self.notifier.tell([task.request_id for task in tasks])
        return [_plan(task, compiled.template) for task, compiled in zip(tasks, templates, strict=True)]

    async def _check_people(self, plan: Plan, started_at: datetime) -> Plan | Run:
        """Validate the people if the directory did not answer at submission.

        Returns the plan with the caller's name, or the run if it ends here.
        """
        names = GroupNames(plan.wanted.display_name, ())
        question = people_question(plan.order, plan.template, names, caller=plan.task.caller)
        try:
            answer = await self.people.look_up(question)
        except TryAgain as fault:
            return Run(plan, self._after(plan, (), fault, started_at), None, people_checked=False)
        plan = replace(plan, task=with_caller(plan.task, answer.people.get(plan.task.caller)))
        refusal = template_not_allowed(
            plan.template.audience, plan.task.caller, answer.member_of
        ) or team_license_missing(plan.template, answer.people.get(plan.task.caller))
        if refusal is not None:
            rejected = Rejected(refusal.code, refusal.detail)
            return Run(plan, self._after(plan, (), rejected, started_at), None, people_checked=False)
        faults = faults_in_directory(plan.order, plan.template, answer, caller=plan.task.caller)
        if faults:
            progress = after_faults(plan.task.steps, faults, started_at=started_at, now=self.now())
            return Run(plan, progress, None, people_checked=False)
        return plan

    async def _ensure(self, plans: Sequence[Plan], started_at: datetime) -> list[Run]:
        if not plans:
            return []
        try:
            groups = await look_for(self.directory.observe, plans, _reference, self.directory.capabilities)
        except TryAgain as fault:
            return [self._run(plan, (), Outcome(None, (), fault), started_at) for plan in plans]
        works = [
            Work(plan.wanted, remaining(plan.wanted, group, plan.steps))
            for plan, group in zip(plans, groups, strict=True)
        ]
        outcomes = await self._outcomes(works, groups)
        return [
            self._run(plan, set(plan.steps).difference(work.steps), outcome, started_at)
            for plan, work, outcome in zip(plans, works, outcomes, strict=True)
        ]

    async def _outcomes(self, works: Sequence[Work], groups: Sequence[ObservedGroup | None]) -> Sequence[Outcome]:
        """Apply the missing steps of each work."""
        unfinished = [work for work in works if work.steps]
        try:
            ensured = iter(await self.directory.ensure(unfinished) if unfinished else ())
        except TryAgain as fault:
            ensured = iter([Outcome(None, (), fault) for _ in unfinished])
        return [
            next(ensured) if work.steps else Outcome(group, (), None) for work, group in zip(works, groups, strict=True)
        ]

    def _run(self, plan: Plan, shown: Collection[Step], outcome: Outcome, started_at: datetime) -> Run:
        if outcome.fault is None and outcome.group is None:
            outcome = replace(outcome, done=(), fault=NOT_SHOWN)
        done = {Step.CHECK_PEOPLE, *shown, *outcome.done}
        progress = self._after(plan, done, outcome.fault, started_at)
        return Run(plan, progress, outcome.group, people_checked=True, made=outcome.made)

    def _after(self, plan: Plan, done: Collection[Step], fault: OutsideFault | None, started_at: datetime) -> Progress:
        return after_outcome(plan.task.steps, done=done, fault=fault, started_at=started_at, now=self.now())

    async def _record(self, claim: Claim, runs: Sequence[Run]) -> None:
        now = self.now()
        async with self.database.across_tenants() as tx:
            runs = await self._with_guest_rules(tx, runs)
            settled = [Settled(_settlement(run, now), self._event(run, now), run.plan.task) for run in runs]
            changed = set(await settle_within(tx, claim, settled, now=now))
            mine = [run.guest_rules for run in runs if run.plan.task.request_id in changed]
            await self.guest_rules.write(tx, [draft for draft in mine if draft is not None])
        self.notifier.tell(changed)

    async def _with_guest_rules(self, tx: Transaction, runs: Sequence[Run]) -> Sequence[Run]:
        """Assign guest rules to the groups that are ready.

        The step is recorded with the end of the request.
        """
        ready = {run.plan.task.request_id: group for run in runs if (group := _ready_group(run)) is not None}
        drafted = dict(zip(ready, await self.guest_rules.draft(tx, list(ready.values())), strict=True))
        return [
            run if (found := drafted.get(run.plan.task.request_id)) is None else _assigned(run, found) for run in runs
        ]

    def _event(self, run: Run, now: datetime) -> Event | None:
        task, progress = run.plan.task, run.progress
        summary = summary_of_task(task, progress)
        event_id = EventId(self.new_id())
        if progress.state is RequestState.FAILED:
            return request_failed(event_id, summary, now=now)
        if progress.state is RequestState.SUCCEEDED and run.group is not None:
            metadata = run.plan.order.metadata
            return group_created(event_id, summary, run.group, template_id=task.template_id, metadata=metadata, now=now)
        return None


def _plan(task: Task, template: GroupTemplate) -> Plan:
    order = read_group_order(task.body)
    wanted = wanted_group(
        order,
        template,
        request_id=task.request_id,
        caller=task.caller,
        display_name=task.display_name,
        address=MailAddress(task.mail_nickname, task.mail),
        prefix=task.extension_prefix,
    )
    return Plan(task, order, template, wanted)


def _reference(plan: Plan) -> GroupReference:
    return GroupReference(plan.task.tenant_id, plan.wanted.extension, plan.task.request_id)


def _ready_group(run: Run) -> ReadyGroup | None:
    """Return a created group whose template assigns guest rules."""
    task, template, group = run.plan.task, run.plan.template, run.group
    has_rules = template.guest_template_id is not None or template.guest_policy_id is not None
    if group is None or run.progress.state is not RequestState.SUCCEEDED or not has_rules:
        return None
    editor = Editor(task.created_by, task.client_id, task.trace_id, None)
    return ReadyGroup(run.plan.wanted, group, template.guest_template_id, template.guest_policy_id, editor)


def _assigned(run: Run, found: GuestRuleDraft) -> Run:
    """Add the assignment and its warnings to the run."""
    progress = run.progress
    if found.warnings:
        progress = warn(progress, Step.ASSIGN_GUEST_RULES, " ".join(found.warnings))
    return replace(run, progress=progress, guest_rules=found, warnings=found.warnings)


def _settlement(run: Run, now: datetime) -> Settlement:
    task, group = run.plan.task, run.group
    result = made = None
    if run.progress.state is RequestState.SUCCEEDED and group is not None:
        result = RequestResult(task.kind, group.id, group.display_name, group.mail)
    elif (made_id := run.made if group is None else group.id) is not None:
        made = RequestResult(task.kind, made_id, task.display_name, task.mail)
    timeline = entries_of(task.steps, run.progress, result=result, at=now)
    return Settlement(
        task.request_id,
        run.progress,
        result,
        run.people_checked,
        now,
        timeline,
        made,
        learned_name(task),
        run.warnings,
    )


JOBS = JobTable(GroupProvisioner, {JobKind.GROUP_PROVISION: GroupProvisioner.provision})
