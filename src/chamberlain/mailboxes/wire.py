"""JSON of mailboxes and of their dry runs."""

from typing import Literal
from uuid import UUID

from msgspec import Struct, structs

from chamberlain.core.fields import Id
from chamberlain.directory.mailboxes import MailboxType, TemplateSource
from chamberlain.directory.steps import title
from chamberlain.http.wire import Actor, Time, time_of
from chamberlain.mailboxes.dry_run import MailboxDryRun
from chamberlain.mailboxes.models import MailboxRecord, ProvisioningState, capacity_unit
from chamberlain.mailboxes.schema import MailboxBody, fields_of
from chamberlain.requests import models as request_models
from chamberlain.requests.wire import (
    RehearsalConflict,
    RehearsedLevel,
    RehearsedPerson,
    RehearsedStep,
    RehearsedTemplate,
    RequestError,
    RequestFault,
    _conflict,
    _level,
    _person,
)
from chamberlain.templates.models import TemplateKind
from chamberlain.templates.schema import Permissions


class Mailbox(MailboxBody, frozen=True, kw_only=True):
    """A mailbox.

    Properties without a value are left out, except those that the service adds.
    """

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
    """A mailbox in the answer to its request."""

    tenant_id: UUID
    approval_required: bool


def mailbox_of(record: MailboxRecord) -> Mailbox:
    """Encode a mailbox."""
    sent = fields_of(record.order)
    sent["template_id"] = str(record.template_id)
    # Permissions are always there, even if empty.
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
    """Encode a mailbox for the answer to its request."""
    shown = structs.asdict(mailbox_of(record))
    return AcceptedMailbox(**shown, tenant_id=record.tenant_id, approval_required=record.approval_required)


def _error(error: request_models.RequestError) -> RequestError:
    faults = tuple(RequestFault(fault.pointer, fault.code, fault.detail) for fault in error.faults)
    return RequestError(error.step, error.code, error.detail, faults)


class RehearsedMailbox(Struct, rename="camel", frozen=True):
    """The result of a dry run.

    Zeros replace a number that is drawn later; `warnings` say so.
    """

    dry_run: bool
    kind: TemplateKind
    template: RehearsedTemplate
    template_source: TemplateSource
    name: str
    display_name: str
    address: str
    owners: tuple[RehearsedPerson, ...]
    approval_required: bool
    approvals: tuple[RehearsedLevel, ...]
    steps: tuple[RehearsedStep, ...]
    conflicts: tuple[RehearsalConflict, ...]
    warnings: tuple[str, ...]


def rehearsed_mailbox(rehearsal: MailboxDryRun) -> RehearsedMailbox:
    """Encode a dry run."""
    return RehearsedMailbox(
        dry_run=True,
        kind=rehearsal.template.kind,
        template=RehearsedTemplate(rehearsal.template.id, rehearsal.template.name),
        template_source=rehearsal.template_source,
        name=rehearsal.name,
        display_name=rehearsal.display_name,
        address=rehearsal.address,
        owners=tuple(map(_person, rehearsal.owners)),
        approval_required=bool(rehearsal.approvals),
        approvals=tuple(map(_level, rehearsal.approvals)),
        steps=tuple([RehearsedStep(step, title(step)) for step in rehearsal.steps]),
        conflicts=tuple(map(_conflict, rehearsal.conflicts)),
        warnings=rehearsal.warnings,
    )


MAILBOX_EXAMPLE = {
    "dryRun": True,
    "kind": "room",
    "template": {"id": "7e000000-0000-4000-8000-000000000003", "name": "Room"},
    "templateSource": "default",
    "name": "Zürich",
    "displayName": "Room Zürich",
    "address": "zurich@rooms.estate.example",
    "owners": [],
    "approvalRequired": False,
    "approvals": [],
    "steps": [
        {"name": "createMailbox", "title": "Create the mailbox"},
        {"name": "setBooking", "title": "Accept bookings automatically"},
    ],
    "conflicts": [],
    "warnings": [],
}
