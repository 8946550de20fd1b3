# SPDX-License-Identifier: Apache-2.0
"""Mailboxes, their provisioning states, and their desired state."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from chamberlain.auth.models import Actor
from chamberlain.core.ids import MailboxId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.core.values import value
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxOrder,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    TemplateSource,
    WantedMailbox,
)
from chamberlain.requests.models import Accepted, Draft, RequestError, RequestResult, RequestState
from chamberlain.templates.models import MailboxTemplate
from chamberlain.templates.rules import completed


class ProvisioningState(StrEnum):
    """The provisioning state of a mailbox.

    Its `state` is a free text of the caller.
    """

    PENDING_APPROVAL = "pendingApproval"
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    ACTIVE = "active"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


def provisioning_state_of(state: RequestState) -> ProvisioningState:
    """Return the state of a mailbox by the state of its request."""
    return STATES[state]


def request_states_of(state: ProvisioningState) -> frozenset[RequestState]:
    """Return the request states that mean this provisioning state."""
    return frozenset([each for each, follows in STATES.items() if follows is state])


STATES: Mapping[RequestState, ProvisioningState] = {
    RequestState.PENDING_APPROVAL: ProvisioningState.PENDING_APPROVAL,
    RequestState.QUEUED: ProvisioningState.QUEUED,
    RequestState.RUNNING: ProvisioningState.PROVISIONING,
    RequestState.WAITING: ProvisioningState.PROVISIONING,
    RequestState.SUCCEEDED: ProvisioningState.ACTIVE,
    RequestState.FAILED: ProvisioningState.FAILED,
    RequestState.REJECTED: ProvisioningState.REJECTED,
    RequestState.CANCELLED: ProvisioningState.CANCELLED,
    RequestState.EXPIRED: ProvisioningState.EXPIRED,
}


@value(frozen=True, slots=True)
class MailboxRecord:
    """A mailbox.

    `order` has the template's defaults; `error` is the error of the request.
    """

    id: MailboxId
    tenant_id: TenantId
    order: MailboxOrder
    type: MailboxType
    mail: str
    template_id: TemplateId
    template_source: TemplateSource
    provisioning_state: ProvisioningState
    request_id: RequestId
    approval_required: bool
    error: RequestError | None
    warnings: tuple[Reason, ...]
    created_at: datetime
    created_by: Actor
    updated_at: datetime


@value(frozen=True, slots=True)
class AcceptedMailbox:
    """A requested mailbox at the time of acceptance, and its request."""

    record: MailboxRecord
    accepted: Accepted


@dataclass(frozen=True, slots=True)
class MailboxFilter:
    """Filters of a list of mailboxes; None matches all.

    `prefix` is the start of the name or an address.
    """

    type: MailboxType | None = None
    provisioning_state: ProvisioningState | None = None
    prefix: str | None = None


def capacity_unit(mailbox_type: MailboxType) -> Literal["MB", "units", "people"]:
    """Return the unit of the capacity."""
    match mailbox_type:
        case MailboxType.SHARED:
            return "MB"
        case MailboxType.EQUIPMENT:
            return "units"
        case MailboxType.ROOM:
            return "people"


def mailbox_result(mailbox_id: MailboxId, mailbox: ObservedMailbox) -> RequestResult:
    """Return the result of a request, with the mailbox's API id."""
    return RequestResult("mailbox", mailbox_id, mailbox.display_name, mailbox.mail)


def record_of_draft(draft: Draft, at: datetime) -> MailboxRecord:
    """Return the mailbox of a request that was written at this time."""
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
    """Return the mailbox as it was when its request was accepted."""
    first = ProvisioningState.PENDING_APPROVAL if record.approval_required else ProvisioningState.QUEUED
    return replace(record, provisioning_state=first, error=None, updated_at=record.created_at)


def wanted_mailbox(
    sent: MailboxOrder, template: MailboxTemplate, *, request_id: RequestId, mail: str, prefix: str
) -> WantedMailbox:
    """Return the desired state of an order.

    It is the same at submission, in a dry run, and on each run of the worker. Properties that the type does not have
    are left out. An empty text counts as absent, as directories do not distinguish the two.
    """
    order = completed(sent, template)
    tenant_id = template.head.tenant_id
    return wanted_of(order, template.type, tenant_id=tenant_id, request_id=request_id, mail=mail, prefix=prefix)


def wanted_of(
    order: MailboxOrder,
    of_type: MailboxType,
    *,
    tenant_id: TenantId,
    request_id: RequestId,
    mail: str,
    prefix: str,
) -> WantedMailbox:
    """Return the desired state of an order with its template's defaults."""
    permissions = order.permissions or {}
    return WantedMailbox(
        tenant_id=tenant_id,
        request_id=request_id,
        type=of_type,
        name=order.name,
        display_name=order.display_name,
        mail=mail,
        aliases=aliases_of(order, of_type, mail),
        address_fields=address_fields_of(order, of_type),
        place=place_of(order) if of_type is MailboxType.ROOM else None,
        books_automatically=of_type is not MailboxType.SHARED,
        automatic_reply=order.automatic_reply or None,
        quota_megabytes=order.capacity if of_type is MailboxType.SHARED else None,
        capacity=order.capacity if of_type is MailboxType.EQUIPMENT else None,
        is_hidden=order.hide_from_gal,
        permissions={user: level for user, level in permissions.items() if level is not PermissionLevel.NONE},
        auto_mapping=of_type is MailboxType.SHARED and order.auto_mapping is not False,
        owners=owners_of(order),
        extension=f"{prefix}_mailbox",
        marks={"requestId": str(request_id)},
        revoked=frozenset([user for user, level in permissions.items() if level is PermissionLevel.NONE]),
    )


def aliases_of(order: MailboxOrder, mailbox_type: MailboxType, mail: str) -> tuple[str, ...]:
    """Return the addresses besides the primary one."""
    alias = alias_of(order, mailbox_type, mail.partition("@")[2])
    return () if alias is None or alias == mail else (alias,)


def alias_of(order: MailboxOrder, mailbox_type: MailboxType, domain: str) -> str | None:
    """Return the second address in lower case, if the type has one."""
    is_wanted = order.alias is not None and mailbox_type is MailboxType.SHARED
    return f"{order.alias}@{domain}".lower() if is_wanted else None


def address_fields_of(order: MailboxOrder, mailbox_type: MailboxType) -> AddressFields:
    """Return the properties that an address book shows.

    Only a room has an office location.
    """
    address_fields = AddressFields(**_same_properties(AddressFields, order))
    return address_fields if mailbox_type is MailboxType.ROOM else replace(address_fields, office_location=None)


def place_of(order: MailboxOrder) -> Place:
    """Return the properties that a room finder shows."""
    return Place(**_same_properties(Place, order), equipment=order.room_mailbox_metadata or RoomEquipment())


def owners_of(order: MailboxOrder) -> tuple[UserId, ...]:
    """Return the primary and secondary owner, deduplicated."""
    owners = (order.primary_owner, order.secondary_owner)
    return tuple(dict.fromkeys([owner for owner in owners if owner is not None]))


# Any: each value has the type of its field.
def _same_properties(group: type[AddressFields | Place], order: MailboxOrder) -> dict[str, Any]:
    """Return the non-empty properties that an order shares with a group."""
    sent = {each.name: getattr(order, each.name, None) for each in fields(group)}
    return {name: value for name, value in sent.items() if value not in (None, "", ())}
