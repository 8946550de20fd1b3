"""Drafts of group requests: all that is written, or that a dry run shows, of an order that was found right."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.rules.approvals import ApprovalRecord, begin_approvals
from chamberlain.rules.callers import Actor, Caller
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.events import Event, RequestSummary, approval_required
from chamberlain.rules.group_names import GroupNames
from chamberlain.rules.groups import GroupOrder, WantedGroup, wanted_group
from chamberlain.rules.ids import EventId, RequestId, UserId
from chamberlain.rules.jobs import JobKind
from chamberlain.rules.people import PeopleAnswer
from chamberlain.rules.plans import plan_group
from chamberlain.rules.requests import RequestKind, RequestState, Submission, begin_steps
from chamberlain.rules.submissions import Draft
from chamberlain.rules.templates import CompiledGroupTemplate, GroupTemplate
from chamberlain.rules.tenants import Tenant


@dataclass(frozen=True, slots=True)
class Situation:
    """What one order is checked against: who asks for what, and the template and tenant as they are known."""

    caller: Caller
    user: UserId
    order: GroupOrder
    request_id: RequestId
    tenant: Tenant
    compiled: CompiledGroupTemplate

    @property
    def template(self) -> GroupTemplate:
        """The template itself."""
        return self.compiled.template


@dataclass(frozen=True, slots=True)
class Moment:
    """When something happens, and the id of the event that tells of it if one does."""

    event_id: EventId
    now: datetime


def wanted_in(situation: Situation, names: GroupNames) -> WantedGroup:
    """The group that comes of it, at the first of its addresses."""
    return wanted_group(
        situation.order,
        situation.template,
        request_id=situation.request_id,
        caller=situation.user,
        display_name=names.display_name,
        address=names.addresses[0],
        prefix=situation.tenant.extension_prefix,
    )


def draft_of(
    situation: Situation, submission: Submission, names: GroupNames, answer: PeopleAnswer | None, *, moment: Moment
) -> Draft:
    """The request as it is to be written. `answer` is None when the directory gave none: then people are checked
    later."""
    template = situation.template
    people_checked = answer is not None
    actor = _actor(situation, answer)
    approvals = _approvals(situation, answer, moment)
    event = _event(situation, names, actor, approvals[0], moment=moment) if approvals else None
    return Draft(
        request_id=situation.request_id,
        tenant_revision=situation.tenant.revision,
        kind=RequestKind(template.head.kind),
        state=RequestState.PENDING_APPROVAL if approvals else RequestState.QUEUED,
        display_name=names.display_name,
        addresses=names.addresses,
        template_id=template.head.id,
        template_revision=template.head.revision,
        template_name=template.head.name,
        body=submission.body,
        approval_required=bool(approvals),
        people_checked=people_checked,
        steps=begin_steps(plan_group(wanted_in(situation, names), people_checked=people_checked)),
        idempotency=submission.idempotency,
        job=None if approvals else JobKind.GROUP_PROVISION,
        change=_change(situation, submission, names, actor, event),
        approvals=approvals,
    )


def _approvals(situation: Situation, answer: PeopleAnswer | None, moment: Moment) -> tuple[ApprovalRecord, ...]:
    rule = situation.template.approval
    return () if rule is None else begin_approvals(rule, answer, requester=situation.user, now=moment.now)


def _actor(situation: Situation, answer: PeopleAnswer | None) -> Actor:
    person = None if answer is None else answer.people.get(situation.user)
    return Actor(situation.caller.type, situation.caller.id, "" if person is None else person.display_name)


def _change(
    situation: Situation, submission: Submission, names: GroupNames, actor: Actor, event: Event | None
) -> Change:
    head = situation.template.head
    return Change(
        tenant_id=situation.tenant.id,
        action=f"{head.kind}.create",
        actor=actor,
        client_id=situation.caller.client_id,
        subject=Subject("request", situation.request_id, names.display_name),
        before=None,
        after={"displayName": names.display_name, "templateId": str(head.id)},
        request_id=situation.request_id,
        trace_id=submission.trace_id,
        event=event,
    )


def _event(situation: Situation, names: GroupNames, actor: Actor, opened: ApprovalRecord, *, moment: Moment) -> Event:
    summary = RequestSummary(
        request_id=situation.request_id,
        tenant_id=situation.tenant.id,
        kind=RequestKind(situation.template.head.kind),
        state=RequestState.PENDING_APPROVAL,
        display_name=names.display_name,
        error=None,
        created_by=actor,
    )
    return approval_required(moment.event_id, summary, level=opened.level, approvers=opened.approvers, now=moment.now)
