"""Drafts of requests: all that is written of an order that was found right, whatever it is for."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.rules.approvals import ApprovalRecord, ApprovalRule, begin_approvals
from chamberlain.rules.callers import Actor, Caller
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.events import Event, RequestSummary, approval_required
from chamberlain.rules.groups import GroupAddress
from chamberlain.rules.ids import EventId, RequestId, UserId
from chamberlain.rules.jobs import job_kind_of
from chamberlain.rules.people import PeopleAnswer
from chamberlain.rules.plans import Step
from chamberlain.rules.requests import RequestKind, RequestState, Submission, begin_steps
from chamberlain.rules.submissions import Draft
from chamberlain.rules.templates import TemplateHead
from chamberlain.rules.tenants import Tenant


@dataclass(frozen=True, slots=True)
class Moment:
    """When something happens, and the id of the event that tells of it if one does."""

    event_id: EventId
    now: datetime


@dataclass(frozen=True, slots=True)
class Outline:
    """What every draft is made from. `noun` is what the audit trail calls it, `steps` lead to it."""

    caller: Caller
    tenant: Tenant
    request_id: RequestId
    head: TemplateHead
    approval: ApprovalRule | None
    noun: str
    display_name: str
    addresses: tuple[GroupAddress, ...]
    steps: tuple[Step, ...]


def draft_from(outline: Outline, submission: Submission, answer: PeopleAnswer | None, *, moment: Moment) -> Draft:
    """The request as it is to be written. `answer` is None when the directory gave none: then people are checked
    later."""
    kind = RequestKind(outline.head.kind)
    actor = _actor(outline, answer)
    approvals = _approvals(outline, answer, moment)
    event = _event(outline, actor, approvals[0], moment=moment) if approvals else None
    return Draft(
        request_id=outline.request_id,
        tenant_revision=outline.tenant.revision,
        kind=kind,
        state=RequestState.PENDING_APPROVAL if approvals else RequestState.QUEUED,
        display_name=outline.display_name,
        addresses=outline.addresses,
        template_id=outline.head.id,
        template_revision=outline.head.revision,
        template_name=outline.head.name,
        body=submission.body,
        approval_required=bool(approvals),
        people_checked=answer is not None,
        steps=begin_steps(outline.steps),
        idempotency=submission.idempotency,
        job=None if approvals else job_kind_of(kind),
        change=_change(outline, submission, actor, event),
        approvals=approvals,
    )


def _approvals(outline: Outline, answer: PeopleAnswer | None, moment: Moment) -> tuple[ApprovalRecord, ...]:
    if outline.approval is None:
        return ()
    # The id of an application is no user's, so that it stands in nobody's way.
    return begin_approvals(outline.approval, answer, requester=UserId(outline.caller.id), now=moment.now)


def _actor(outline: Outline, answer: PeopleAnswer | None) -> Actor:
    user = outline.caller.user_id
    person = None if answer is None or user is None else answer.people.get(user)
    return Actor(outline.caller.type, outline.caller.id, "" if person is None else person.display_name)


def _change(outline: Outline, submission: Submission, actor: Actor, event: Event | None) -> Change:
    return Change(
        tenant_id=outline.tenant.id,
        action=f"{outline.noun}.create",
        actor=actor,
        client_id=outline.caller.client_id,
        subject=Subject("request", outline.request_id, outline.display_name),
        before=None,
        after={"displayName": outline.display_name, "templateId": str(outline.head.id)},
        request_id=outline.request_id,
        trace_id=submission.trace_id,
        event=event,
    )


def _event(outline: Outline, actor: Actor, opened: ApprovalRecord, *, moment: Moment) -> Event:
    summary = RequestSummary(
        request_id=outline.request_id,
        tenant_id=outline.tenant.id,
        kind=RequestKind(outline.head.kind),
        state=RequestState.PENDING_APPROVAL,
        display_name=outline.display_name,
        error=None,
        created_by=actor,
    )
    return approval_required(moment.event_id, summary, level=opened.level, approvers=opened.approvers, now=moment.now)
