"""Mailboxes as they are sent: what was asked for, and what the service adds to it."""

from typing import Literal
from uuid import UUID

from msgspec import structs

from chamberlain.core.validation_fields import Id
from chamberlain.directory.mailboxes import MailboxType, TemplateSource
from chamberlain.http.wire import Actor, Time, time_of
from chamberlain.mailboxes.models import MailboxRecord, capacity_unit
from chamberlain.mailboxes.models_mailbox_states import ProvisioningState
from chamberlain.mailboxes.schema import MailboxBody, fields_of
from chamberlain.requests import models as request_models
from chamberlain.requests.wire import RequestError, RequestFault
from chamberlain.templates.schema_mailbox_properties import Permissions


class Mailbox(MailboxBody, frozen=True, kw_only=True):
    """A mailbox. What nobody sent and no template gave is left out; what the service adds is always there."""

    template_id: Id
    permissions: Permissions
    id: UUID
    type: MailboxType
    primary_smtp_address: str
    template_source: TemplateSource
    capacity_unit: Literal["MB", "units", "people"]
    provisioning_state: ProvisioningState
    request_id: UUID
    error: RequestError | None
    warnings: tuple[str, ...]
    created_at: Time
    created_by: Actor
    updated_at: Time


class AcceptedMailbox(Mailbox, frozen=True, kw_only=True):
    """The same as the answer to whoever asked for it."""

    tenant_id: UUID
    approval_required: bool


def mailbox_of(record: MailboxRecord) -> Mailbox:
    """What is sent of a mailbox."""
    sent = fields_of(record.order)
    sent["template_id"] = str(record.template_id)
    # The record shows permissions as wanted; none at all is a wish as well.
    sent.setdefault("permissions", {})
    return Mailbox(
        **sent,
        id=record.id,
        type=record.type,
        primary_smtp_address=record.mail,
        template_source=record.template_source,
        capacity_unit=capacity_unit(record.type),
        provisioning_state=record.provisioning_state,
        request_id=record.request_id,
        error=None if record.error is None else _error(record.error),
        warnings=record.warnings,
        created_at=time_of(record.created_at),
        created_by=Actor(record.created_by.type, record.created_by.id, record.created_by.display_name),
        updated_at=time_of(record.updated_at),
    )


def accepted_mailbox_of(record: MailboxRecord) -> AcceptedMailbox:
    """What is sent to whoever asked for it."""
    shown = structs.asdict(mailbox_of(record))
    return AcceptedMailbox(**shown, tenant_id=record.tenant_id, approval_required=record.approval_required)


def _error(error: request_models.RequestError) -> RequestError:
    faults = tuple(RequestFault(fault.pointer, fault.code, fault.detail) for fault in error.faults)
    return RequestError(error.step, error.code, error.detail, faults)
