# SPDX-License-Identifier: Apache-2.0
"""Converts mailboxes between the port and the embedded directory."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from chamberlain.core.ids import UserId
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.embedded.mapping import KEY_MEMBER, mark_of, object_id_of
from chamberlain.directory.embedded.steps import Kind
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxSummary,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    WantedMailbox,
    remaining_of_mailbox,
)
from chamberlain.directory.port import MailboxWork
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.mailboxes import (
    Contact,
    MailboxEntry,
    MailboxShown,
    MailboxSummaryShown,
    Permission,
)
from chamberlain.embedded.directory.mailboxes import Place as PlaceEntry

_RECIPIENT_TYPES: Mapping[MailboxType, str] = MappingProxyType(
    {
        MailboxType.SHARED: "SharedMailbox",
        MailboxType.ROOM: "RoomMailbox",
        MailboxType.EQUIPMENT: "EquipmentMailbox",
    }
)
_TYPES = {recipient_type: mailbox_type for mailbox_type, recipient_type in _RECIPIENT_TYPES.items()}

# The calendar accepts every invitation while the resource is free.
_ACCEPT_INVITATIONS = "AutoAccept"


def _entry_of(work: MailboxWork) -> MailboxEntry:
    wanted = work.wanted
    # Rooms and equipment reply through their calendars.
    is_shared = wanted.type is MailboxType.SHARED
    return MailboxEntry(
        mark=mark_of(wanted),
        id=object_id_of(wanted),
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
        automate_processing=_ACCEPT_INVITATIONS if wanted.books_automatically else None,
        additional_response=None if is_shared else wanted.automatic_reply,
        automatic_reply=wanted.automatic_reply if is_shared else None,
        quota_megabytes=wanted.quota_megabytes,
        is_hidden=wanted.is_hidden,
        owners=wanted.owners,
        permissions={user: _permission(level, wanted) for user, level in wanted.permissions.items()},
        revoked=wanted.revoked,
    )


def observed_mailbox_of(shown: MailboxShown) -> ObservedMailbox:
    """Convert the current state of a mailbox."""
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
        books_automatically=shown.automate_processing == _ACCEPT_INVITATIONS,
        automatic_reply=_clean_lines(shown.automatic_reply if is_shared else shown.additional_response),
        quota_megabytes=shown.quota_megabytes,
        capacity=shown.resource_capacity if mailbox_type is MailboxType.EQUIPMENT else None,
        is_hidden=shown.is_hidden,
        permissions={UserId(user): PermissionLevel(one.access_right) for user, one in shown.permissions.items()},
        auto_mapped=frozenset(UserId(user) for user, one in shown.permissions.items() if one.auto_mapping),
        owners=tuple(map(UserId, shown.owners)),
        marks=shown.values,
    )


def mailbox_summary_of(shown: MailboxSummaryShown) -> MailboxSummary:
    """Convert a mailbox in a list."""
    return MailboxSummary(
        id=shown.id,
        type=_TYPES[shown.recipient_type],
        name=clean_line(shown.name),
        display_name=clean_line(shown.display_name),
        mail=clean_line(shown.mail),
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


def _bare(entry: MailboxEntry) -> MailboxEntry:
    return MailboxEntry(
        mark=entry.mark,
        id=entry.id,
        recipient_type=entry.recipient_type,
        name=entry.name,
        display_name=entry.display_name,
        mail=entry.mail,
        values=entry.values,
    )


MAILBOXES = Kind(
    entry_of=_entry_of,
    observed_of=observed_mailbox_of,
    remaining=lambda work, mailbox: remaining_of_mailbox(work.wanted, mailbox, work.steps),
    create=Step.CREATE_MAILBOX,
    created=_bare,
    parts={
        Step.SET_ADDRESS_FIELDS: lambda entry: replace(
            _bare(entry), properties=entry.properties, contact=entry.contact
        ),
        Step.SET_PLACE: lambda entry: replace(
            _bare(entry), place=entry.place, resource_capacity=entry.resource_capacity
        ),
        Step.SET_BOOKING: lambda entry: replace(_bare(entry), automate_processing=entry.automate_processing),
        Step.SET_AUTOMATIC_REPLY: lambda entry: replace(
            _bare(entry), additional_response=entry.additional_response, automatic_reply=entry.automatic_reply
        ),
        Step.SET_QUOTA: lambda entry: replace(_bare(entry), quota_megabytes=entry.quota_megabytes),
        Step.SET_CAPACITY: lambda entry: replace(_bare(entry), resource_capacity=entry.resource_capacity),
        Step.SET_VISIBILITY: lambda entry: replace(_bare(entry), is_hidden=entry.is_hidden),
        Step.SET_ALIASES: lambda entry: replace(_bare(entry), aliases=entry.aliases),
        Step.SET_PERMISSIONS: lambda entry: replace(_bare(entry), permissions=entry.permissions, revoked=entry.revoked),
        Step.SET_OWNERS: lambda entry: replace(_bare(entry), owners=entry.owners),
    },
)
