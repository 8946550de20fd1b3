# SPDX-License-Identifier: Apache-2.0
"""JSON of mailboxes, requests and dry runs.

The body is stored with the request.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast
from uuid import UUID

from msgspec import Struct, convert, defstruct, field, json, structs

from chamberlain.changes.models import format_time
from chamberlain.core.fields import Id, MailboxName, Name, Shape
from chamberlain.core.ids import UserId
from chamberlain.core.validation import Reader
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType, PermissionLevel, RoomEquipment, TemplateSource
from chamberlain.directory.steps import title
from chamberlain.http.wire import Actor, Time
from chamberlain.mailboxes.dry_run import MailboxDryRun
from chamberlain.mailboxes.models import MailboxRecord, ProvisioningState, capacity_unit
from chamberlain.requests import models as request_models
from chamberlain.requests.wire import (
    DryRunConflict,
    DryRunLevel,
    DryRunPerson,
    DryRunStep,
    DryRunTemplate,
    RequestError,
    RequestWarning,
    _conflict,
    _level,
    _person,
    request_fault,
    warning_reasons,
    warning_texts,
)
from chamberlain.templates.models import TemplateKind
from chamberlain.templates.schema import Alias, MailboxPropertiesShape, Permissions, RoomMailboxMetadataShape

Body = TypeVar("Body", bound=Struct)


def _first(*names: str) -> Callable[[type[Body]], type[Body]]:
    """Move fields to the front of a shape.

    Inheritance puts them behind those of the base class.
    """

    def reorder(shape: type[Body]) -> type[Body]:
        known = {each.name: each for each in structs.fields(shape)}
        members = [
            (name, known[name].type, field(default=known[name].default, name=known[name].encode_name))
            for name in dict.fromkeys((*names, *known))
        ]
        reordered = defstruct(
            shape.__name__,
            members,
            bases=(Shape,),
            module=shape.__module__,
            namespace={"__doc__": shape.__doc__},
            frozen=True,
            kw_only=True,
            omit_defaults=True,
        )
        return cast("type[Body]", reordered)

    return reorder


@_first("name", "display_name", "template_id")
class MailboxBody(MailboxPropertiesShape, frozen=True, kw_only=True, omit_defaults=True):
    """A mailbox to create. Without a template, its properties decide its type."""

    name: MailboxName
    display_name: Name
    template_id: Id | None = None
    alias: Alias | None = None


MAILBOX = Reader(MailboxBody)


def to_mailbox_order(body: MailboxBody) -> MailboxOrder:
    """Convert a body to an order, field by field."""
    return convert(body, MailboxOrder, from_attributes=True)


# Any: each value has the type of its field.
def fields_of(order: MailboxOrder) -> dict[str, Any]:
    """Return the fields of a body that an order sets.

    Ids are in lower case.
    """
    said = {name: value for name in _FIELDS if (value := getattr(order, name)) is not None}
    for name, written in _WRITTEN.items():
        if name in said:
            said[name] = written(said[name])
    return said


def read_mailbox_order(body: bytes) -> MailboxOrder:
    """Parse the order in a stored body."""
    return to_mailbox_order(MAILBOX.read_stored(body))


def write_mailbox_order(order: MailboxOrder) -> bytes:
    """Serialize an order as a stored body."""
    return _encode(MailboxBody(**fields_of(order)))


def _permissions(levels: Mapping[UserId, PermissionLevel]) -> dict[str, PermissionLevel]:
    return {str(user): level for user, level in levels.items()}


def _room(equipment: RoomEquipment) -> RoomMailboxMetadataShape:
    return convert(equipment, RoomMailboxMetadataShape, from_attributes=True)


_FIELDS = MailboxBody.__struct_fields__
# Fields whose type differs in the body. Any: each value has the type of its field.
_WRITTEN: Mapping[str, Callable[[Any], object]] = MappingProxyType(
    {
        "template_id": str,
        "permissions": _permissions,
        "metadata": dict,
        "primary_owner": str,
        "secondary_owner": str,
        "room_mailbox_metadata": _room,
    }
)
_encode = json.Encoder().encode


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
    warning_reasons: tuple[RequestWarning, ...]
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
        warnings=warning_texts(record.warnings),
        warning_reasons=warning_reasons(record.warnings),
        created_at=format_time(record.created_at),
        created_by=Actor(record.created_by.type, record.created_by.id, record.created_by.display_name),
        updated_at=format_time(record.updated_at),
    )


def accepted_mailbox_of(record: MailboxRecord) -> AcceptedMailbox:
    """Encode a mailbox for the answer to its request."""
    shown = structs.asdict(mailbox_of(record))
    return AcceptedMailbox(**shown, tenant_id=record.tenant_id, approval_required=record.approval_required)


def _error(error: request_models.RequestError) -> RequestError:
    return RequestError(error.step, error.code, error.detail, tuple(map(request_fault, error.faults)))


class DryRunMailbox(Struct, rename="camel", frozen=True):
    """The result of a dry run.

    Zeros replace a number that is drawn later; `warnings` say so.
    """

    dry_run: bool
    kind: TemplateKind
    template: DryRunTemplate
    template_source: TemplateSource
    name: str
    display_name: str
    address: str
    owners: tuple[DryRunPerson, ...]
    approval_required: bool
    approvals: tuple[DryRunLevel, ...]
    steps: tuple[DryRunStep, ...]
    conflicts: tuple[DryRunConflict, ...]
    warnings: tuple[str, ...]
    warning_reasons: tuple[RequestWarning, ...]


def dry_run_mailbox(dry_run: MailboxDryRun) -> DryRunMailbox:
    """Encode a dry run."""
    return DryRunMailbox(
        dry_run=True,
        kind=dry_run.template.kind,
        template=DryRunTemplate(dry_run.template.id, dry_run.template.name),
        template_source=dry_run.template_source,
        name=dry_run.name,
        display_name=dry_run.display_name,
        address=dry_run.address,
        owners=tuple(map(_person, dry_run.owners)),
        approval_required=bool(dry_run.approvals),
        approvals=tuple(map(_level, dry_run.approvals)),
        steps=tuple([DryRunStep(step, title(step)) for step in dry_run.steps]),
        conflicts=tuple(map(_conflict, dry_run.conflicts)),
        warnings=warning_texts(dry_run.warnings),
        warning_reasons=warning_reasons(dry_run.warnings),
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
    "warningReasons": [],
}
