"""Create mailboxes in the directory: load, observe, plan, apply, record.

Running it twice is harmless. Steps that the directory already shows are skipped. A mailbox is found by the mark of its
request.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.auth.models import Caller
from chamberlain.changes.models import Event
from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import EventId, MailboxId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database
from chamberlain.directory.mailboxes import (
    MailboxOrder,
    MailboxReference,
    ObservedMailbox,
    WantedMailbox,
    remaining_of_mailbox,
)
from chamberlain.directory.port import Directory, MailboxOutcome, MailboxWork, People
from chamberlain.directory.steps import Step
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
from chamberlain.queue.models import Claim, JobKind
from chamberlain.queue.worker import JobTable
from chamberlain.requests import finish
from chamberlain.requests.events import request_failed
from chamberlain.requests.finish import Settled, settle
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
    with_caller,
)
from chamberlain.templates.cache import Revisions
from chamberlain.templates.models import CompiledMailboxTemplate
from chamberlain.templates.rules import completed
from chamberlain.tenants import records as tenant_records

# A new mailbox may become visible with a delay.
NOT_SHOWN = TryAgain(timedelta(seconds=5), "The directory says that the mailbox is made, and does not show it.")


@dataclass(frozen=True, slots=True)
class Plan:
    """A task with its desired state."""

    task: Task
    mailbox_id: MailboxId
    sent: MailboxOrder
    compiled: CompiledMailboxTemplate
    wanted: WantedMailbox

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps that change the directory."""
        return tuple([record.step for record in self.task.steps if record.step is not Step.CHECK_PEOPLE])


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of one plan in this run."""

    plan: Plan
    progress: Progress
    mailbox: ObservedMailbox | None
    people_checked: bool
    made: UUID | None = None


@dataclass(frozen=True, slots=True)
class MailboxProvisioner:
    """Provision a batch of claimed jobs, each with its own outcome."""

    database: Database
    people: People
    directory: Directory
    revisions: Revisions
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
            ids = await records.ids_of_requests(tx, [task.request_id for task in tasks])
            templates = [await self.revisions.mailbox_template(tx, task) for task in tasks]
        self.notifier.tell([task.request_id for task in tasks])
        return [_plan(task, ids[task.request_id], each) for task, each in zip(tasks, templates, strict=True)]

    async def _check_people(self, plan: Plan, started_at: datetime) -> Plan | Run:
        """Validate the people if the directory did not answer at submission.

        Returns the plan with the caller's name, or the run if it ends here.
        """
        situation = await self._situation(plan)
        # A taken address is noticed when it is written.
        names = MailboxNames(name_key="", local_part=None, domain=situation.domain, alias=None)
        try:
            answer = await self.people.look_up(people_question(situation, names))
        except TryAgain as fault:
            return Run(plan, self._after(plan, (), fault, started_at), None, people_checked=False)
        plan = replace(plan, task=with_caller(plan.task, answer.people.get(plan.task.caller)))
        refusal = mailbox_not_allowed(situation, answer)
        if refusal is not None:
            rejected = Rejected(refusal.code, refusal.detail)
            return Run(plan, self._after(plan, (), rejected, started_at), None, people_checked=False)
        faults = faults_in_directory(situation, answer)
        if faults:
            progress = after_faults(plan.task.steps, faults, started_at=started_at, now=self.now())
            return Run(plan, progress, None, people_checked=False)
        return plan

    async def _situation(self, plan: Plan) -> MailboxSituation:
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

    async def _ensure(self, plans: Sequence[Plan], started_at: datetime) -> list[Run]:
        if not plans:
            return []
        try:
            found = await look_for(self.directory.observe_mailboxes, plans, _reference, self.directory.capabilities)
        except TryAgain as fault:
            return [self._run(plan, (), MailboxOutcome(None, (), fault), started_at) for plan in plans]
        works = [
            MailboxWork(plan.wanted, remaining_of_mailbox(plan.wanted, mailbox, plan.steps))
            for plan, mailbox in zip(plans, found, strict=True)
        ]
        outcomes = await self._outcomes(works, found)
        return [
            self._run(plan, set(plan.steps).difference(work.steps), outcome, started_at)
            for plan, work, outcome in zip(plans, works, outcomes, strict=True)
        ]

    async def _outcomes(
        self, works: Sequence[MailboxWork], found: Sequence[ObservedMailbox | None]
    ) -> Sequence[MailboxOutcome]:
        """Apply the missing steps of each work."""
        unfinished = [work for work in works if work.steps]
        try:
            ensured = iter(await self.directory.ensure_mailboxes(unfinished) if unfinished else ())
        except TryAgain as fault:
            ensured = iter([MailboxOutcome(None, (), fault) for _ in unfinished])
        return [
            next(ensured) if work.steps else MailboxOutcome(mailbox, (), None)
            for work, mailbox in zip(works, found, strict=True)
        ]

    def _run(self, plan: Plan, shown: Collection[Step], outcome: MailboxOutcome, started_at: datetime) -> Run:
        if outcome.fault is None and outcome.mailbox is None:
            outcome = replace(outcome, done=(), fault=NOT_SHOWN)
        done = {Step.CHECK_PEOPLE, *shown, *outcome.done}
        progress = self._after(plan, done, outcome.fault, started_at)
        return Run(plan, progress, outcome.mailbox, people_checked=True, made=outcome.made)

    def _after(self, plan: Plan, done: Collection[Step], fault: OutsideFault | None, started_at: datetime) -> Progress:
        return after_outcome(plan.task.steps, done=done, fault=fault, started_at=started_at, now=self.now())

    async def _record(self, claim: Claim, runs: Sequence[Run]) -> None:
        now = self.now()
        settled = [Settled(_settlement(run, now), self._event(run, now), run.plan.task) for run in runs]
        self.notifier.tell(await settle(self.database, claim, settled, now=now))

    def _event(self, run: Run, now: datetime) -> Event | None:
        task, progress = run.plan.task, run.progress
        summary = summary_of_task(task, progress)
        event_id = EventId(self.new_id())
        if progress.state is RequestState.FAILED:
            return request_failed(event_id, summary, now=now)
        if progress.state is RequestState.SUCCEEDED and run.mailbox is not None:
            return mailbox_created(
                event_id,
                summary,
                run.mailbox,
                mailbox_id=run.plan.mailbox_id,
                template_id=task.template_id,
                metadata=completed(run.plan.sent, run.plan.compiled.template).metadata,
                now=now,
            )
        return None


def _plan(task: Task, mailbox_id: MailboxId, compiled: CompiledMailboxTemplate) -> Plan:
    sent = read_mailbox_order(task.body)
    wanted = wanted_mailbox(
        sent, compiled.template, request_id=task.request_id, mail=task.mail, prefix=task.extension_prefix
    )
    return Plan(task, mailbox_id, sent, compiled, wanted)


def _reference(plan: Plan) -> MailboxReference:
    return MailboxReference(plan.task.tenant_id, plan.wanted.extension, plan.task.request_id)


def _settlement(run: Run, now: datetime) -> Settlement:
    task, mailbox = run.plan.task, run.mailbox
    result = made = None
    if run.progress.state is RequestState.SUCCEEDED and mailbox is not None:
        result = mailbox_result(run.plan.mailbox_id, mailbox)
    elif (made_id := run.made if mailbox is None else mailbox.id) is not None:
        made = RequestResult("mailbox", made_id, task.display_name, task.mail)
    timeline = entries_of(task.steps, run.progress, result=result, at=now)
    return Settlement(
        task.request_id, run.progress, result, run.people_checked, now, timeline, made, learned_name(task)
    )


JOBS = JobTable(MailboxProvisioner, {JobKind.MAILBOX_PROVISION: MailboxProvisioner.provision})
