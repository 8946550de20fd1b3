"""Desired state of a mailbox in the directory, by its type."""

from dataclasses import fields, replace
from typing import Any

from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxOrder,
    MailboxType,
    PermissionLevel,
    Place,
    RoomEquipment,
    WantedMailbox,
)
from chamberlain.mailboxes.names import alias_of
from chamberlain.templates.models import MailboxTemplate, completed


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
