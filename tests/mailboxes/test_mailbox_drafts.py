# SPDX-License-Identifier: Apache-2.0
"""Requests for mailboxes as they are written, and their mailboxes at that time."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import EventId, MailboxId, UserId
from chamberlain.directory.mailboxes import MailboxType, PermissionLevel, TemplateSource
from chamberlain.directory.models import MailAddress, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.models import MailboxRecord, ProvisioningState, at_acceptance, record_of_draft
from chamberlain.mailboxes.rules import MailboxSituation, mailbox_draft_of, readers_of
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import (
    ApprovalLevel,
    ApprovalMode,
    ApprovalRule,
    Approver,
    ApproverType,
    Draft,
    MailboxDraft,
    RequestError,
    RequestKind,
    RequestState,
)
from chamberlain.templates.drafts import Moment
from chamberlain.tenants.models import Applicability
from tests.auth.editor_values import NOW, TRACE
from tests.groups.group_values import ADA, ANSWER, BEN, CLEO, DARA, REQUEST, TENANT
from tests.mailboxes.mailbox_values import HOUSE, ORDER, ROOM, SHARED, names_in, situation

pytestmark = pytest.mark.pure

MAILBOX = MailboxId(UUID(int=5))
SENT = replace(ORDER, alias="Desk", primary_owner=BEN, permissions={CLEO: PermissionLevel.SEND_AS})
APPROVED_BY_BEN = ApprovalRule((ApprovalLevel(ApprovalMode.ANY, (Approver(ApproverType.USER, BEN),)),), None)


def draft(it: MailboxSituation, answer: PeopleAnswer | None = ANSWER) -> Draft:
    """The request that comes of it."""
    moment = Moment(EventId(UUID(int=1)), NOW)
    return mailbox_draft_of(
        it, Submission(b"{}", None, TRACE), names_in(it), answer, mailbox_id=MAILBOX, content=b"{}", moment=moment
    )


def test_it_works() -> None:
    it = draft(situation(SENT))

    assert (it.kind, it.state, it.job) == (RequestKind.SHARED, RequestState.QUEUED, JobKind.MAILBOX_PROVISION)
    assert it.addresses == (MailAddress("info-desk", "info-desk@estate.example"),)
    assert (it.display_name, it.warnings, it.change.action) == ("Information", (), "mailbox.create")
    assert [record.step for record in it.steps] == [
        Step.CREATE_MAILBOX,
        Step.SET_ALIASES,
        Step.SET_PERMISSIONS,
        Step.SET_OWNERS,
    ]
    assert it.mailbox == MailboxDraft(
        id=MAILBOX,
        order=SENT,
        content=b"{}",
        name_key="info desk",
        alias="desk@estate.example",
        template_source=TemplateSource.DEFAULT,
        readers=frozenset({ADA, BEN, CLEO}),
    )


def test_people_are_checked_later_when_the_directory_gave_no_answer() -> None:
    it = draft(situation(SENT), None)

    assert it.steps[0].step is Step.CHECK_PEOPLE
    assert not it.people_checked


@pytest.mark.parametrize("has_answer", [True, False])
@pytest.mark.parametrize("asks", [True, False])
def test_the_write_asks_for_addresses_where_the_directory_answers(*, asks: bool, has_answer: bool) -> None:
    it = replace(situation(SENT), ask_addresses=asks)

    assert draft(it, ANSWER if has_answer else None).ask_addresses is (asks and has_answer)


def test_a_tenant_that_keeps_what_does_not_apply_is_warned() -> None:
    it = replace(situation(SENT, ROOM), tenant=replace(HOUSE, applicability=Applicability.WARN))

    assert len(draft(it).warnings) == 1


@pytest.mark.parametrize(
    ("permissions", "creator", "readers"),
    [
        (None, None, {BEN, DARA}),
        ({}, ADA, {ADA, BEN, DARA}),
        ({CLEO: PermissionLevel.NONE}, ADA, {ADA, BEN, DARA}),
        ({CLEO: PermissionLevel.FULL_ACCESS}, None, {BEN, CLEO, DARA}),
    ],
)
def test_those_who_are_named_may_read_it(
    permissions: dict[UserId, PermissionLevel] | None, creator: UserId | None, readers: set[UserId]
) -> None:
    order = replace(ORDER, primary_owner=BEN, secondary_owner=DARA, permissions=permissions)

    assert readers_of(order, creator) == readers


def test_the_mailbox_stands_as_its_request_does() -> None:
    made = draft(situation(SENT))
    record = record_of_draft(made, NOW)

    assert record == MailboxRecord(
        id=MAILBOX,
        tenant_id=TENANT,
        order=SENT,
        type=MailboxType.SHARED,
        mail="info-desk@estate.example",
        template_id=SHARED.head.id,
        template_source=TemplateSource.DEFAULT,
        provisioning_state=ProvisioningState.QUEUED,
        request_id=REQUEST,
        approval_required=False,
        error=None,
        warnings=(),
        created_at=NOW,
        created_by=made.change.actor,
        updated_at=NOW,
    )


@pytest.mark.parametrize(
    ("approval", "first"),
    [(None, ProvisioningState.QUEUED), (APPROVED_BY_BEN, ProvisioningState.PENDING_APPROVAL)],
)
def test_it_is_known_how_it_stood_when_it_was_accepted(approval: ApprovalRule | None, first: ProvisioningState) -> None:
    record = record_of_draft(draft(situation(SENT, replace(SHARED, approval=approval))), NOW)
    later = replace(
        record,
        provisioning_state=ProvisioningState.FAILED,
        error=RequestError(Step.CREATE_MAILBOX, "quota", "Full."),
        updated_at=NOW.replace(hour=23),
    )

    assert record.provisioning_state is first
    assert at_acceptance(later) == record


def test_a_draft_without_a_mailbox_has_none() -> None:
    with pytest.raises(ValueError, match="mailbox"):
        record_of_draft(replace(draft(situation(SENT)), mailbox=None), NOW)
