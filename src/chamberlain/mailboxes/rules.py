"""Drafts of mailboxes: the request as it is to be written, and the mailbox with it."""

from dataclasses import replace
from datetime import datetime

from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import MailboxId, UserId
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType, PermissionLevel
from chamberlain.directory.mailboxes_mailbox_plans import plan_mailbox
from chamberlain.directory.models import PeopleAnswer
from chamberlain.directory.models_mail_addresses import MailAddress
from chamberlain.mailboxes.desired_state import wanted_of
from chamberlain.mailboxes.models import MailboxRecord
from chamberlain.mailboxes.models_mailbox_states import ProvisioningState, provisioning_state_of
from chamberlain.mailboxes.names import MailboxNames
from chamberlain.mailboxes.rules_mailbox_faults import warnings_of
from chamberlain.mailboxes.rules_mailbox_situations import MailboxSituation
from chamberlain.requests.models_submissions import Draft, MailboxDraft
from chamberlain.templates.drafts import Moment, draft_from


def mailbox_draft_of(
    situation: MailboxSituation,
    submission: Submission,
    names: MailboxNames,
    answer: PeopleAnswer | None,
    *,
    mailbox_id: MailboxId,
    content: bytes,
    moment: Moment | None,
) -> Draft:
    """The request with its mailbox. `answer` is None when the directory gave none: then people are checked later."""
    order = situation.order
    mail = names.mail or ""
    wanted = wanted_of(
        order,
        situation.type,
        tenant_id=situation.tenant.id,
        request_id=situation.request_id,
        mail=mail,
        prefix=situation.tenant.extension_prefix,
    )
    mailbox = MailboxDraft(
        id=mailbox_id,
        order=order,
        content=content,
        name_key=names.name_key,
        alias=names.alias,
        template_source=situation.source,
        readers=readers_of(order, situation.caller.user_id),
    )
    return draft_from(
        situation,
        submission,
        answer,
        moment=moment,
        display_name=order.display_name,
        addresses=(MailAddress(names.local_part or "", mail),),
        steps=plan_mailbox(wanted, people_checked=answer is not None),
        warnings=warnings_of(situation),
        mailbox=mailbox,
    )


def readers_of(order: MailboxOrder, creator: UserId | None) -> frozenset[UserId]:
    """Who may read it without being an administrator: whoever asks for it, its owners, and who gets a permission."""
    permitted = [user for user, level in (order.permissions or {}).items() if level is not PermissionLevel.NONE]
    named = (creator, order.primary_owner, order.secondary_owner, *permitted)
    return frozenset([user for user in named if user is not None])


def record_of_draft(draft: Draft, at: datetime) -> MailboxRecord:
    """The mailbox as it stands when its request was written at this moment."""
    mailbox = draft.mailbox
    if mailbox is None:
        raise ValueError("This draft is not one of a mailbox.")
    return MailboxRecord(
        id=mailbox.id,
        tenant_id=draft.change.tenant_id,
        order=mailbox.order,
        type=MailboxType(draft.kind),
        mail=draft.addresses[0].mail,
        template_id=draft.template_id,
        template_source=mailbox.template_source,
        provisioning_state=provisioning_state_of(draft.state),
        request_id=draft.request_id,
        approval_required=draft.approval_required,
        error=None,
        warnings=draft.warnings,
        created_at=at,
        created_by=draft.change.actor,
        updated_at=at,
    )


def at_acceptance(record: MailboxRecord) -> MailboxRecord:
    """The mailbox as it stood when its request was accepted."""
    first = ProvisioningState.PENDING_APPROVAL if record.approval_required else ProvisioningState.QUEUED
    return replace(record, provisioning_state=first, error=None, updated_at=record.created_at)
