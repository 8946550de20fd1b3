# SPDX-License-Identifier: Apache-2.0
"""Provision mailboxes in the directory."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from chamberlain.auth.models import Caller
from chamberlain.changes.models import Event
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import EventId, MailboxId
from chamberlain.core.reasons import Reason
from chamberlain.database.transactions import Transaction
from chamberlain.directory.mailboxes import (
    MailboxOrder,
    MailboxReference,
    ObservedMailbox,
    WantedMailbox,
    remaining_of_mailbox,
    written_mailbox,
)
from chamberlain.directory.port import MailboxOutcome, MailboxWork, Work
from chamberlain.mailboxes import records
from chamberlain.mailboxes.models import mailbox_result, wanted_mailbox
from chamberlain.mailboxes.rules import (
    MailboxNames,
    MailboxSituation,
    faults_in_directory,
    mailbox_created,
    mailbox_not_allowed,
    people_question,
    situation_of,
)
from chamberlain.mailboxes.wire import read_mailbox_order
from chamberlain.queue.models import JobKind
from chamberlain.queue.worker import JobTable
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import RequestResult
from chamberlain.requests.provision import PeopleCheck, Provisioner, Run, TaskPlan
from chamberlain.requests.steps import Task
from chamberlain.templates.cache import Revisions
from chamberlain.templates.models import CompiledMailboxTemplate
from chamberlain.templates.rules import completed
from chamberlain.tenants import records as tenant_records


@dataclass(frozen=True, slots=True)
class MailboxPlan(TaskPlan):
    """A task with its desired state."""

    mailbox_id: MailboxId
    sent: MailboxOrder
    compiled: CompiledMailboxTemplate
    wanted: WantedMailbox


MailboxRun = Run[MailboxPlan, ObservedMailbox]


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxProvisioner(Provisioner[MailboxPlan, WantedMailbox, ObservedMailbox]):
    """Provision a batch of claimed jobs, each with its own outcome."""

    not_shown: ClassVar = TryAgain(timedelta(seconds=5), Reason.build("mailboxMadeNotShown"))

    revisions: Revisions

    async def plan(self, tx: Transaction, tasks: Sequence[Task]) -> Sequence[MailboxPlan]:
        """Load the templates of tasks, and derive the desired state."""
        ids = await records.ids_of_requests(tx, [task.request_id for task in tasks])
        templates = [await self.revisions.mailbox_template(tx, task) for task in tasks]
        return [_plan(task, ids[task.request_id], each) for task, each in zip(tasks, templates, strict=True)]

    async def people_check(self, plan: MailboxPlan) -> PeopleCheck:
        """Prepare the validation of the people."""
        situation = await self._situation(plan)
        # A taken address is noticed when it is written.
        names = MailboxNames(name_key="", local_part=None, domain=situation.domain, alias=None)
        return PeopleCheck(
            people_question(situation, names),
            lambda answer: mailbox_not_allowed(situation, answer),
            lambda answer: faults_in_directory(situation, answer),
        )

    async def observe(self, plans: Sequence[MailboxPlan]) -> Sequence[ObservedMailbox | None]:
        """Observe the mailbox of each plan by its mark. Raises TryAgain."""
        return await self.directory.observe_mailboxes(
            [
                MailboxReference(plan.task.tenant_id, plan.wanted.extension, plan.task.request_id, plan.task.made)
                for plan in plans
            ]
        )

    def work(self, plan: MailboxPlan, observed: ObservedMailbox | None) -> MailboxWork:
        """Return the desired state and its remaining steps."""
        return Work(plan.wanted, remaining_of_mailbox(plan.wanted, observed, plan.steps))

    async def ensure(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Apply works in the directory. Raises TryAgain."""
        return await self.directory.ensure_mailboxes(works)

    def written(self, plan: MailboxPlan, object_id: UUID) -> ObservedMailbox:
        """Return the mailbox as it was written."""
        return written_mailbox(plan.wanted, object_id)

    def result(self, plan: MailboxPlan, observed: ObservedMailbox) -> RequestResult:
        """Return the result of a request that succeeded."""
        return mailbox_result(plan.mailbox_id, observed)

    def made(self, task: Task, object_id: UUID) -> RequestResult:
        """Return the mailbox of a request that has not succeeded."""
        return RequestResult("mailbox", object_id, task.display_name, task.mail)

    def created(self, run: MailboxRun, observed: ObservedMailbox, summary: RequestSummary, now: datetime) -> Event:
        """Return the event of a created mailbox."""
        return mailbox_created(
            EventId(self.new_id()),
            summary,
            observed,
            mailbox_id=run.plan.mailbox_id,
            template_id=run.plan.task.template_id,
            metadata=completed(run.plan.sent, run.plan.compiled.template).metadata,
            now=now,
        )

    async def _situation(self, plan: MailboxPlan) -> MailboxSituation:
        task = plan.task
        async with self.database.across_tenants() as tx:
            tenant = await tenant_records.find(tx, task.tenant_id)
        if tenant is None:
            raise LookupError(f"The tenant of request {task.request_id} is not there.")
        caller = Caller(
            tenant_id=task.tenant_id,
            type=task.created_by.type,
            id=task.caller,
            client_id=task.client_id,
            # The permissions of the token were checked at submission.
            permissions=frozenset(),
            expires_at=task.created_at,
        )
        return situation_of(caller, plan.sent, request_id=task.request_id, tenant=tenant, compiled=plan.compiled)


def _plan(task: Task, mailbox_id: MailboxId, compiled: CompiledMailboxTemplate) -> MailboxPlan:
    sent = read_mailbox_order(task.body)
    wanted = wanted_mailbox(
        sent, compiled.template, request_id=task.request_id, mail=task.mail, prefix=task.extension_prefix
    )
    return MailboxPlan(task, mailbox_id, sent, compiled, wanted)


JOBS = JobTable(MailboxProvisioner, {JobKind.MAILBOX_PROVISION: MailboxProvisioner.provision})
