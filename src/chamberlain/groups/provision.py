# SPDX-License-Identifier: Apache-2.0
"""Provision groups and teams in the directory.

Groups that are created get the guest rules of their template.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, Protocol
from uuid import UUID

from chamberlain.auth.models import Editor
from chamberlain.changes.models import Event
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import EventId, GroupId, PolicyId, TemplateId
from chamberlain.core.reasons import Reason
from chamberlain.database.transactions import Transaction
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup, remaining, written_group
from chamberlain.directory.models import MailAddress
from chamberlain.directory.port import GroupOutcome, GroupWork, Work
from chamberlain.directory.steps import Step
from chamberlain.groups.capabilities import people_and_label_faults, team_license_missing
from chamberlain.groups.models import GroupNames, GroupOrder
from chamberlain.groups.rules import (
    group_created,
    people_question,
    wanted_group,
)
from chamberlain.groups.wire import read_group_order
from chamberlain.queue.models import Claim, JobKind
from chamberlain.queue.worker import JobTable
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.finish import settle
from chamberlain.requests.models import RequestResult, RequestState
from chamberlain.requests.provision import PeopleCheck, Provisioner, Run, TaskPlan
from chamberlain.requests.steps import Task, warn
from chamberlain.templates.cache import Revisions
from chamberlain.templates.models import GroupTemplate
from chamberlain.templates.rules import template_not_allowed


@dataclass(frozen=True, slots=True)
class GroupPlan(TaskPlan):
    """A task with its desired state."""

    order: GroupOrder
    template: GroupTemplate
    wanted: WantedGroup


GroupRun = Run[GroupPlan, ObservedGroup]


@dataclass(frozen=True, slots=True)
class ReadyGroup:
    """A created group, with the guest rules of its template, or None."""

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
    def warnings(self) -> tuple[Reason, ...]:
        """Return the warnings."""


class GuestRuleAssigner(Protocol):
    """List created groups, and assign their guest rules.

    Both happen in the transaction that completes the requests.
    """

    async def draft(self, tx: Transaction, groups: Sequence[ReadyGroup]) -> Sequence[GuestRuleDraft]:
        """List the groups, and decide for each one.

        The decision stays valid until the transaction ends.
        """

    async def write(self, tx: Transaction, drafts: Sequence[GuestRuleDraft]) -> None:
        """Write drafts. Raises Overtaken if another transaction holds their rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProvisioner(Provisioner[GroupPlan, WantedGroup, ObservedGroup]):
    """Provision a batch of claimed jobs, each with its own outcome."""

    not_shown: ClassVar = TryAgain(timedelta(seconds=5), Reason.build("groupMadeNotShown"))

    revisions: Revisions
    guest_rules: GuestRuleAssigner

    async def plan(self, tx: Transaction, tasks: Sequence[Task]) -> Sequence[GroupPlan]:
        """Load the templates of tasks, and derive the desired state."""
        templates = [await self.revisions.group_template(tx, task) for task in tasks]
        return [_plan(task, compiled.template) for task, compiled in zip(tasks, templates, strict=True)]

    async def people_check(self, plan: GroupPlan) -> PeopleCheck:
        """Prepare the validation of the people."""
        order, template, caller = plan.order, plan.template, plan.task.caller
        names = GroupNames(plan.wanted.display_name, ())
        capabilities = await self.directory.capabilities(plan.task.tenant_id)
        return PeopleCheck(
            people_question(order, template, names, caller=caller),
            lambda answer: (
                template_not_allowed(template.audience, caller, answer.member_of)
                or team_license_missing(template, answer.people.get(caller), capabilities)
            ),
            lambda answer: people_and_label_faults(order, template, answer, capabilities, caller=caller),
        )

    async def observe(self, plans: Sequence[GroupPlan]) -> Sequence[ObservedGroup | None]:
        """Observe the group of each plan by its mark. Raises TryAgain."""
        return await self.directory.observe([_reference(plan) for plan in plans])

    def work(self, plan: GroupPlan, observed: ObservedGroup | None) -> GroupWork:
        """Return the desired state and its remaining steps."""
        return Work(plan.wanted, remaining(plan.wanted, observed, plan.steps))

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        """Apply works in the directory. Raises TryAgain."""
        return await self.directory.ensure(works)

    def written(self, plan: GroupPlan, object_id: UUID) -> ObservedGroup:
        """Return the group as it was written."""
        return written_group(plan.wanted, GroupId(object_id))

    def result(self, plan: GroupPlan, observed: ObservedGroup) -> RequestResult:
        """Return the result of a request that succeeded."""
        return RequestResult(plan.task.kind, observed.id, observed.display_name, observed.mail)

    def made(self, task: Task, object_id: UUID) -> RequestResult:
        """Return the group of a request that has not succeeded."""
        return RequestResult(task.kind, object_id, task.display_name, task.mail)

    def created(self, run: GroupRun, observed: ObservedGroup, summary: RequestSummary, now: datetime) -> Event:
        """Return the event of a created group."""
        return group_created(
            EventId(self.new_id()),
            summary,
            observed,
            template_id=run.plan.task.template_id,
            metadata=run.plan.order.metadata,
            now=now,
        )

    async def record(self, claim: Claim, runs: Sequence[GroupRun]) -> None:
        """Write the results of a claim in one transaction.

        Groups that are ready are listed and get guest rules. The step is recorded with the end of the request.
        """
        now = self.now()
        ready = {run.plan.task.request_id: group for run in runs if (group := _ready_group(run)) is not None}
        async with self.database.across_tenants() as tx:
            drafts = dict(zip(ready, await self.guest_rules.draft(tx, list(ready.values())), strict=True))
            assigned = [_assigned(run, drafts.get(run.plan.task.request_id)) for run in runs]
            changed = set(await settle(tx, claim, [self.settled(run, now) for run in assigned], now=now))
            await self.guest_rules.write(tx, [draft for request_id, draft in drafts.items() if request_id in changed])
        self.notifier.tell(changed)


def _reference(plan: GroupPlan) -> GroupReference:
    task = plan.task
    made = None if task.made is None else GroupId(task.made)
    return GroupReference(task.tenant_id, plan.wanted.extension, task.request_id, made)


def _plan(task: Task, template: GroupTemplate) -> GroupPlan:
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
    return GroupPlan(task, order, template, wanted)


def _ready_group(run: GroupRun) -> ReadyGroup | None:
    """Return the group of a request that succeeded."""
    task, template, group = run.plan.task, run.plan.template, run.observed
    if group is None or run.progress.state is not RequestState.SUCCEEDED:
        return None
    editor = Editor(task.created_by, task.client_id, task.trace_id, None)
    return ReadyGroup(run.plan.wanted, group, template.guest_template_id, template.guest_policy_id, editor)


def _assigned(run: GroupRun, draft: GuestRuleDraft | None) -> GroupRun:
    """Add the warnings of guest rules to the run."""
    if draft is None or not draft.warnings:
        return run
    reason = draft.warnings[0] if len(draft.warnings) == 1 else Reason.build("guestRulesUnusable")
    progress = warn(run.progress, Step.ASSIGN_GUEST_RULES, reason)
    return replace(run, progress=progress, warnings=(*run.warnings, *draft.warnings))


JOBS = JobTable(GroupProvisioner, {JobKind.GROUP_PROVISION: GroupProvisioner.provision})
