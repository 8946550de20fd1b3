"""Mailboxes in the words of both sides: ours, and those of the embedded directory."""

from collections.abc import Mapping
from types import MappingProxyType

from chamberlain.core.ids import UserId
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.embedded.entries import KEY_MEMBER, request_object_id
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxReference,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    WantedMailbox,
)
from chamberlain.embedded.directory.entries import Contact, MailboxEntry, Mark, Permission
from chamberlain.embedded.directory.entries import Place as PlaceEntry
from chamberlain.embedded.directory.mailboxes import MailboxShown

_RECIPIENT_TYPES: Mapping[MailboxType, str] = MappingProxyType(
    {
        MailboxType.SHARED: "SharedMailbox",
        MailboxType.ROOM: "RoomMailbox",
        MailboxType.EQUIPMENT: "EquipmentMailbox",
    }
)
_TYPES = {recipient_type: mailbox_type for mailbox_type, recipient_type in _RECIPIENT_TYPES.items()}

# What a calendar does that accepts every invitation for which there is room.
_ACCEPTS = "AutoAccept"


def mark_of_mailbox(reference: MailboxReference) -> Mark:
    """How the directory finds a mailbox again."""
    return Mark(reference.tenant_id, reference.extension, str(reference.request_id))


def mailbox_entry_of(wanted: WantedMailbox) -> MailboxEntry:
    """A mailbox as the directory is to have it. What rooms and equipment reply stands with their calendars."""
    reference = MailboxReference(wanted.tenant_id, wanted.extension, wanted.request_id)
    is_shared = wanted.type is MailboxType.SHARED
    return MailboxEntry(
        mark=mark_of_mailbox(reference),
        id=request_object_id(wanted.tenant_id, wanted.extension, wanted.request_id),
        recipient_type=_RECIPIENT_TYPES[wanted.type],
        name=wanted.name,
        display_name=wanted.display_name,
        mail=wanted.mail,
        values={**wanted.marks, KEY_MEMBER: str(wanted.request_id)},
        aliases=wanted.aliases,
        properties=_properties(wanted.address_fields),
        contact=Contact(
            phone=wanted.address_fields.phone,
            business_phones=wanted.address_fields.business_phones,
            notes=wanted.address_fields.notes,
        ),
        place=None if wanted.place is None else _place_entry(wanted.place),
        resource_capacity=wanted.capacity if wanted.place is None else wanted.place.capacity,
        automate_processing=_ACCEPTS if wanted.books_automatically else None,
        additional_response=None if is_shared else wanted.automatic_reply,
        automatic_reply=wanted.automatic_reply if is_shared else None,
        quota_megabytes=wanted.quota_megabytes,
        is_hidden=wanted.is_hidden,
        owners=wanted.owners,
        permissions={user: _permission(level, wanted) for user, level in wanted.permissions.items()},
        revoked=wanted.revoked,
    )


def observed_mailbox_of(shown: MailboxShown) -> ObservedMailbox:
    """A mailbox as the directory shows it."""
    mailbox_type = _TYPES[shown.recipient_type]
    is_shared = mailbox_type is MailboxType.SHARED
    return ObservedMailbox(
        id=shown.id,
        type=mailbox_type,
        name=clean_line(shown.name),
        display_name=clean_line(shown.display_name),
        mail=clean_line(shown.mail),
        aliases=tuple(map(clean_line, shown.aliases)),
        address_fields=_address_fields(shown),
        place=None if shown.place is None else _place(shown.place, shown.resource_capacity),
        books_automatically=shown.automate_processing == _ACCEPTS,
        automatic_reply=_clean_lines(shown.automatic_reply if is_shared else shown.additional_response),
        quota_megabytes=shown.quota_megabytes,
        capacity=shown.resource_capacity if mailbox_type is MailboxType.EQUIPMENT else None,
        is_hidden=shown.is_hidden,
        permissions={UserId(user): PermissionLevel(one.access_right) for user, one in shown.permissions.items()},
        auto_mapped=frozenset(UserId(user) for user, one in shown.permissions.items() if one.auto_mapping),
        owners=tuple(map(UserId, shown.owners)),
        marks=shown.values,
    )


def _permission(level: PermissionLevel, wanted: WantedMailbox) -> Permission:
    has_full_access = level is PermissionLevel.FULL_ACCESS
    return Permission(access_right=level.value, auto_mapping=has_full_access and wanted.auto_mapping)


def _properties(fields: AddressFields) -> Mapping[str, str]:
    named = {
        "streetAddress": fields.street_address,
        "officeLocation": fields.office_location,
        "companyName": fields.company_name,
        "postalCode": fields.postal_code,
        "city": fields.city,
        "country": fields.country,
        "department": fields.department,
    }
    return {name: value for name, value in named.items() if value is not None}


def _address_fields(shown: MailboxShown) -> AddressFields:
    contact = shown.contact
    properties = {name: clean_line(value) for name, value in shown.properties.items()}
    return AddressFields(
        street_address=properties.get("streetAddress"),
        office_location=properties.get("officeLocation"),
        company_name=properties.get("companyName"),
        postal_code=properties.get("postalCode"),
        city=properties.get("city"),
        country=properties.get("country"),
        phone=_clean_line(contact.phone),
        department=properties.get("department"),
        business_phones=tuple(map(clean_line, contact.business_phones)),
        notes=_clean_lines(contact.notes),
    )


def _clean_line(text: str | None) -> str | None:
    return None if text is None else clean_line(text)


def _clean_lines(text: str | None) -> str | None:
    return None if text is None else clean_lines(text)


def _place_entry(place: Place) -> PlaceEntry:
    return PlaceEntry(
        audio_device_name=place.audio_device_name,
        display_device_name=place.display_device_name,
        video_device_name=place.video_device_name,
        is_wheel_chair_accessible=place.is_wheel_chair_accessible,
        tags=place.tags,
        has_conference_phone=place.equipment.has_conference_phone,
        has_whiteboard=place.equipment.has_whiteboard,
        has_video_conferencing=place.equipment.has_video_conferencing,
    )


def _place(entry: PlaceEntry, capacity: int | None) -> Place:
    return Place(
        capacity=capacity,
        audio_device_name=_clean_line(entry.audio_device_name),
        display_device_name=_clean_line(entry.display_device_name),
        video_device_name=_clean_line(entry.video_device_name),
        is_wheel_chair_accessible=entry.is_wheel_chair_accessible,
        tags=tuple(map(clean_line, entry.tags)),
        equipment=RoomEquipment(
            has_conference_phone=entry.has_conference_phone,
            has_whiteboard=entry.has_whiteboard,
            has_video_conferencing=entry.has_video_conferencing,
        ),
    )
