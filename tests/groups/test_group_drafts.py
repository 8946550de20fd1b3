# SPDX-License-Identifier: Apache-2.0
"""Requests for groups as they are written."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Subject
from chamberlain.core.idempotency import IdempotencyKey, Submission
from chamberlain.core.ids import EventId
from chamberlain.directory.models import MailAddress, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.groups.models import GroupNames
from chamberlain.groups.rules import Situation, draft_of, wanted_in
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import (
    ApprovalLevel,
    ApprovalMode,
    ApprovalRule,
    Approver,
    ApproverType,
    Draft,
    RequestKind,
    RequestState,
    begin_steps,
)
from chamberlain.templates.drafts import Moment
from chamberlain.templates.models import GroupTemplate
from chamberlain.templates.rules import compile_group_template
from tests.auth.editor_values import NOW, TRACE
from tests.groups.group_values import (
    ADA,
    ANSWER,
    BEN,
    EMBEDDED,
    GROUP_HEAD,
    ORDER,
    REQUEST,
    TEAM_HEAD,
    TEMPLATE,
    TENANT,
    WANTED,
)
from tests.mailboxes.mailbox_values import HOUSE, USER

pytestmark = pytest.mark.pure

SUBMISSION = Submission(b"{}", IdempotencyKey("key", b"digest"), TRACE)
NAMES = GroupNames(
    "Apollo",
    (MailAddress("apollo", "apollo@estate.example"), MailAddress("apollo-0d9c1b7e", "apollo-0d9c1b7e@estate.example")),
)
MOMENT = Moment(EventId(UUID(int=1)), NOW)
APPROVED_BY_BEN = ApprovalRule((ApprovalLevel(ApprovalMode.ANY, (Approver(ApproverType.USER, BEN),)),), None)


def situation(template: GroupTemplate = TEMPLATE, *, ask_addresses: bool = False) -> Situation:
    """An order of Ada's."""
    return Situation(USER, ADA, ORDER, REQUEST, HOUSE, compile_group_template(template), ask_addresses, EMBEDDED)


def draft(it: Situation, answer: PeopleAnswer | None = ANSWER) -> Draft:
    """The request that comes of it."""
    return draft_of(it, SUBMISSION, NAMES, answer, moment=MOMENT)


def test_it_works() -> None:
    assert draft(situation()) == Draft(
        request_id=REQUEST,
        tenant_revision=1,
        kind=RequestKind.GROUP,
        state=RequestState.QUEUED,
        display_name="Apollo",
        addresses=NAMES.addresses,
        template_id=GROUP_HEAD.id,
        template_revision=1,
        template_name="Project group",
        body=b"{}",
        approval_required=False,
        people_checked=True,
        steps=begin_steps([Step.CREATE_GROUP]),
        idempotency=SUBMISSION.idempotency,
        job=JobKind.GROUP_PROVISION,
        change=Change(
            tenant_id=TENANT,
            action="group.create",
            actor=Actor(ActorType.USER, ADA, "Somebody"),
            client_id=USER.client_id,
            subject=Subject("request", REQUEST, "Apollo"),
            before=None,
            after={"displayName": "Apollo", "templateId": "7e000000-0000-4000-8000-000000000011"},
            request_id=REQUEST,
            trace_id=TRACE,
        ),
        approvals=(),
        warnings=(),
        mailbox=None,
        ask_addresses=False,
    )


def test_it_waits_for_an_approval() -> None:
    it = draft(situation(replace(TEMPLATE, head=TEAM_HEAD, approval=APPROVED_BY_BEN)))

    assert (it.kind, it.state, it.job) == (
        RequestKind.TEAM,
        RequestState.PENDING_APPROVAL,
        JobKind.APPROVAL_ATTEND,
    )
    assert it.approval_required
    assert [[person.id for person in level.approvers] for level in it.approvals] == [[BEN]]
    assert it.change.event is not None
    assert it.change.event.type == "request.approvalRequired"


def test_people_are_checked_later_when_the_directory_gave_no_answer() -> None:
    it = draft(situation(), None)

    assert [record.step for record in it.steps] == [Step.CHECK_PEOPLE, Step.CREATE_GROUP]
    assert not it.people_checked
    assert it.change.actor.display_name == ""


@pytest.mark.parametrize(
    ("ask_addresses", "answer", "expected"),
    [(True, ANSWER, True), (True, None, False), (False, ANSWER, False), (False, None, False)],
)
def test_the_write_asks_for_addresses_where_the_directory_answers(
    *, ask_addresses: bool, answer: PeopleAnswer | None, expected: bool
) -> None:
    assert draft(situation(ask_addresses=ask_addresses), answer).ask_addresses is expected


def test_the_group_gets_the_first_of_its_addresses() -> None:
    assert wanted_in(situation(), NAMES) == WANTED
