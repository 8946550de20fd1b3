"""What is wanted of a directory for an order: what each property becomes there, by the type of the mailbox."""

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
    """What an order brings about: at submission, in a dry run, and from what is stored whenever a worker runs it.

    Properties that the type does not have are left out; a tenant may have had them kept. An empty text is wanted of
    nobody: directories do not tell it from none.
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
    """The same of an order that has all that its template adds."""
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
    """The addresses beside the first one."""
    alias = alias_of(order, mailbox_type, mail.partition("@")[2])
    return () if alias is None or alias == mail else (alias,)


def address_fields_of(order: MailboxOrder, mailbox_type: MailboxType) -> AddressFields:
    """What an address book shows; only a room has an office location."""
    return AddressFields(
        street_address=order.street_address or None,
        office_location=(order.office_location or None) if mailbox_type is MailboxType.ROOM else None,
        company_name=order.company_name or None,
        postal_code=order.postal_code or None,
        city=order.city or None,
        country=order.country or None,
        phone=order.phone or None,
        department=order.department or None,
        business_phones=order.business_phones or (),
        notes=order.notes or None,
    )


def place_of(order: MailboxOrder) -> Place:
    """What a room finder shows of a room."""
    return Place(
        capacity=order.capacity,
        audio_device_name=order.audio_device_name or None,
        display_device_name=order.display_device_name or None,
        video_device_name=order.video_device_name or None,
        is_wheel_chair_accessible=order.is_wheel_chair_accessible,
        tags=order.tags or (),
        equipment=order.room_mailbox_metadata or RoomEquipment(),
    )


def owners_of(order: MailboxOrder) -> tuple[UserId, ...]:
    """The primary owner, then the secondary one; both may be the same."""
    owners = (order.primary_owner, order.secondary_owner)
    return tuple(dict.fromkeys([owner for owner in owners if owner is not None]))
