# SPDX-License-Identifier: Apache-2.0
"""Drafts of requests: what is written with a request, with and without approvers, and when the directory is silent."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType, Caller
from chamberlain.changes.models import Subject
from chamberlain.core.idempotency import IdempotencyKey, Submission
from chamberlain.core.ids import EventId, RequestId, TraceId
from chamberlain.core.reasons import Reason
from chamberlain.directory.models import MailAddress, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import (
    ApprovalLevel,
    ApprovalMode,
    ApprovalRule,
    ApprovalState,
    Approver,
    ApproverType,
    Draft,
    RequestKind,
    RequestState,
    StepRecord,
    StepState,
)
from chamberlain.templates.drafts import Moment, draft_from
from chamberlain.templates.models import TemplateHead, TemplateKind
from chamberlain.tenants.models import Tenant
from tests.groups.group_values import ADA, BEN, GROUP_HEAD, REQUEST, TENANT, person
from tests.mailboxes.mailbox_values import APPLICATION, HOUSE, USER

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
MOMENT = Moment(EventId(UUID(int=5)), NOW)
ANSWER = PeopleAnswer(people={user: person(user) for user in (ADA, BEN)})
ADDRESSES = (MailAddress("apollo", "apollo@estate.example"), MailAddress("apollo2", "apollo2@estate.example"))
BY_BEN = ApprovalRule((ApprovalLevel(ApprovalMode.ANY, (Approver(ApproverType.USER, BEN),)),), deadline_days=None)
TENANT_3, TEMPLATE_2 = replace(HOUSE, revision=3), replace(GROUP_HEAD, revision=2)
SUBMISSION = Submission(b'{"displayName": "Apollo"}', IdempotencyKey("key", b"digest"), TraceId("7" * 32), "192.0.2.1")

WARNING = Reason.build("nameNumberDrawn")


@dataclass(frozen=True, slots=True)
class Asked:
    """An order of Ada's for a group."""

    caller: Caller = USER
    tenant: Tenant = TENANT_3
    request_id: RequestId = REQUEST
    head: TemplateHead = TEMPLATE_2
    approval: ApprovalRule | None = None
    noun: str = "group"
    ask_addresses: bool = False


def drafted(asked: Asked, answer: PeopleAnswer | None = ANSWER, *, moment: Moment | None = MOMENT) -> Draft:
    return draft_from(
        asked,
        SUBMISSION,
        answer,
        moment=moment,
        display_name="Apollo",
        addresses=ADDRESSES,
        steps=(Step.CREATE_GROUP, Step.ADD_OWNERS),
        warnings=(WARNING,),
    )


def test_it_works() -> None:
    draft = drafted(Asked(), moment=None)

    assert (draft.request_id, draft.kind, draft.state) == (REQUEST, RequestKind.GROUP, RequestState.QUEUED)
    assert (draft.tenant_revision, draft.template_revision) == (3, 2)
    assert (draft.template_id, draft.template_name) == (GROUP_HEAD.id, "Project group")
    assert (draft.display_name, draft.addresses, draft.warnings) == ("Apollo", ADDRESSES, (WARNING,))
    assert (draft.body, draft.idempotency) == (SUBMISSION.body, SUBMISSION.idempotency)
    assert (draft.approval_required, draft.approvals, draft.people_checked) == (False, (), True)
    assert draft.steps == tuple(StepRecord(step, StepState.PENDING) for step in (Step.CREATE_GROUP, Step.ADD_OWNERS))
    change = draft.change
    assert (change.tenant_id, change.action, change.request_id) == (TENANT, "group.create", REQUEST)
    assert (change.actor, change.client_id) == (Actor(ActorType.USER, ADA, "Somebody"), "cli")
    assert change.subject == Subject("request", REQUEST, "Apollo")
    assert (change.before, change.after) == (None, {"displayName": "Apollo", "templateId": str(GROUP_HEAD.id)})
    assert (change.trace_id, change.client_address, change.event) == ("7" * 32, "192.0.2.1", None)


@pytest.mark.parametrize(
    ("kind", "job"),
    [
        (TemplateKind.GROUP, JobKind.GROUP_PROVISION),
        (TemplateKind.TEAM, JobKind.GROUP_PROVISION),
        (TemplateKind.SHARED, JobKind.MAILBOX_PROVISION),
        (TemplateKind.EQUIPMENT, JobKind.MAILBOX_PROVISION),
        (TemplateKind.ROOM, JobKind.MAILBOX_PROVISION),
    ],
)
def test_the_job_is_that_of_the_kind_or_of_its_approvals(kind: TemplateKind, job: JobKind) -> None:
    head = replace(GROUP_HEAD, kind=kind)

    assert drafted(Asked(head=head)).job is job
    assert drafted(Asked(head=head, approval=BY_BEN)).job is JobKind.APPROVAL_ATTEND


def test_a_request_that_needs_approval_waits_and_its_event_names_the_approvers() -> None:
    draft = drafted(Asked(approval=BY_BEN))

    assert (draft.state, draft.approval_required) == (RequestState.PENDING_APPROVAL, True)
    (level,) = draft.approvals
    assert (level.state, [approver.id for approver in level.approvers]) == (ApprovalState.PENDING, [BEN])
    event = draft.change.event
    assert event is not None
    assert (event.id, event.type, event.timestamp) == (UUID(int=5), "request.approvalRequired", NOW)
    assert (event.tenant_id, event.request_id) == (TENANT, REQUEST)
    assert event.data["level"] == 1
    assert event.data["approvers"] == [{"id": str(BEN), "displayName": "Somebody"}]


def test_nobody_approves_their_own_request() -> None:
    (level,) = drafted(Asked(caller=replace(USER, id=BEN), approval=BY_BEN)).approvals

    assert (level.state, level.approvers) == (ApprovalState.BLOCKED, ())


def test_an_approval_needs_its_moment() -> None:
    with pytest.raises(ValueError, match="moment"):
        drafted(Asked(approval=BY_BEN), moment=None)


def test_an_application_is_named_by_its_id_alone() -> None:
    actor = drafted(Asked(caller=APPLICATION)).change.actor

    assert actor == Actor(ActorType.APPLICATION, APPLICATION.id, "")


@pytest.mark.parametrize(
    ("ask_addresses", "answer", "are_asked"),
    [(True, ANSWER, True), (True, None, False), (False, ANSWER, False), (False, None, False)],
)
def test_addresses_are_asked_for_only_where_the_directory_answers(
    *, ask_addresses: bool, answer: PeopleAnswer | None, are_asked: bool
) -> None:
    draft = drafted(Asked(ask_addresses=ask_addresses), answer)

    assert draft.ask_addresses is are_asked
    assert draft.people_checked is (answer is not None)
