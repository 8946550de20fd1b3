# SPDX-License-Identifier: Apache-2.0
"""Drafts of valid requests for groups and mailboxes."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from chamberlain.auth.models import Actor, Caller
from chamberlain.changes.models import Change, Event, Subject
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import EventId, RequestId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.models import MailAddress, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.queue.models import JobKind
from chamberlain.requests.events import RequestSummary, approval_required
from chamberlain.requests.models import (
    ApprovalRecord,
    ApprovalRule,
    Draft,
    MailboxDraft,
    RequestKind,
    RequestState,
    begin_approvals,
    begin_steps,
    job_kind_of,
)
from chamberlain.templates.models import TemplateHead
from chamberlain.tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a draft, and the id of its event."""

    event_id: EventId
    now: datetime


class Asked(Protocol):
    """The input of every draft. `noun` is that of the audit action.

    With `ask_addresses` the write asks the directory for taken addresses.
    """

    @property
    def caller(self) -> Caller: ...
    @property
    def tenant(self) -> Tenant: ...
    @property
    def request_id(self) -> RequestId: ...
    @property
    def head(self) -> TemplateHead: ...
    @property
    def approval(self) -> ApprovalRule | None: ...
    @property
    def noun(self) -> str: ...
    @property
    def ask_addresses(self) -> bool: ...


def draft_from(
    asked: Asked,
    submission: Submission,
    answer: PeopleAnswer | None,
    *,
    moment: Moment | None,
    display_name: str,
    addresses: tuple[MailAddress, ...],
    steps: tuple[Step, ...],
    warnings: tuple[Reason, ...] = (),
    mailbox: MailboxDraft | None = None,
) -> Draft:
    """Draft a request.

    `answer` is None if the directory did not answer. Then the worker validates people. Requests with an approval need
    `moment`.
    """
    head = asked.head
    kind = RequestKind(head.kind)
    actor = _actor(asked.caller, answer)
    change = _change(asked, submission, actor, display_name)
    approvals: tuple[ApprovalRecord, ...] = ()
    if asked.approval is not None:
        approvals = _approvals(asked, asked.approval, answer, moment)
        change = replace(change, event=_event(asked, change, approvals[0], moment))
    return Draft(
        request_id=asked.request_id,
        tenant_revision=asked.tenant.revision,
        kind=kind,
        state=RequestState.PENDING_APPROVAL if approvals else RequestState.QUEUED,
        display_name=display_name,
        addresses=addresses,
        template_id=head.id,
        template_revision=head.revision,
        template_name=head.name,
        body=submission.body,
        approval_required=bool(approvals),
        people_checked=answer is not None,
        steps=begin_steps(steps),
        idempotency=submission.idempotency,
        job=JobKind.APPROVAL_ATTEND if approvals else job_kind_of(kind),
        change=change,
        approvals=approvals,
        warnings=warnings,
        mailbox=mailbox,
        # The write does not ask an unavailable directory.
        ask_addresses=asked.ask_addresses and answer is not None,
    )


def _actor(caller: Caller, answer: PeopleAnswer | None) -> Actor:
    user = caller.user_id
    person = None if answer is None or user is None else answer.people.get(user)
    return Actor(caller.type, caller.id, "" if person is None else person.display_name)


def _change(asked: Asked, submission: Submission, actor: Actor, display_name: str) -> Change:
    return Change(
        tenant_id=asked.tenant.id,
        action=f"{asked.noun}.create",
        actor=actor,
        client_id=asked.caller.client_id,
        subject=Subject("request", asked.request_id, display_name),
        before=None,
        after={"displayName": display_name, "templateId": str(asked.head.id)},
        request_id=asked.request_id,
        trace_id=submission.trace_id,
        client_address=submission.client_address,
    )


def _approvals(
    asked: Asked, rule: ApprovalRule, answer: PeopleAnswer | None, moment: Moment | None
) -> tuple[ApprovalRecord, ...]:
    # The id of an application matches no approver.
    return begin_approvals(rule, answer, requester=UserId(asked.caller.id), now=_given(moment).now)


def _event(asked: Asked, change: Change, opened: ApprovalRecord, moment: Moment | None) -> Event:
    summary = RequestSummary(
        request_id=asked.request_id,
        tenant_id=asked.tenant.id,
        kind=RequestKind(asked.head.kind),
        state=RequestState.PENDING_APPROVAL,
        display_name=change.subject.display_name,
        error=None,
        created_by=change.actor,
    )
    given = _given(moment)
    return approval_required(given.event_id, summary, level=opened.level, approvers=opened.approvers, now=given.now)


def _given(moment: Moment | None) -> Moment:
    if moment is None:
        raise ValueError("A request that requires approval needs the moment.")
    return moment
