# SPDX-License-Identifier: Apache-2.0
"""Single-value properties of mailboxes and guest rules.

Each row has the desired value, the observed value and the step that repairs the drift.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chamberlain.directory.mailboxes import ObservedMailbox, Place, WantedMailbox
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedRules, normalised


@dataclass(frozen=True, slots=True)
class MailboxRow:
    """A property of mailboxes with one value.

    The desired value is None or empty if none is set.
    """

    name: DriftProperty
    wanted: Callable[[WantedMailbox], object]
    observed: Callable[[ObservedMailbox], object]
    step: Step | None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A property of guest rules.

    The value is None if the directory does not report it. `without` is its value for a group without rules.
    """

    name: DriftProperty
    value: Callable[[ObservedRules], object]
    step: Step
    without: object = None


def _place_of(observed: ObservedMailbox) -> Place:
    return observed.place or Place()


def _field(drift_property: DriftProperty, field: str) -> MailboxRow:
    """A field of the address book."""
    return MailboxRow(
        drift_property,
        lambda wanted: getattr(wanted.address_fields, field),
        lambda observed: getattr(observed.address_fields, field),
        Step.SET_ADDRESS_FIELDS,
    )


def _feature(drift_property: DriftProperty, name: str) -> MailboxRow:
    """A field of the room finder."""
    return MailboxRow(
        drift_property,
        lambda wanted: None if wanted.place is None else getattr(wanted.place, name),
        lambda observed: getattr(_place_of(observed), name),
        Step.SET_PLACE,
    )


def _equipment(drift_property: DriftProperty, name: str) -> MailboxRow:
    """A field of the room's equipment."""
    return MailboxRow(
        drift_property,
        lambda wanted: None if wanted.place is None else getattr(wanted.place.equipment, name),
        lambda observed: getattr(_place_of(observed).equipment, name),
        Step.SET_PLACE,
    )


# Which field of the address book, of the room finder and of the room's equipment is which property.
ADDRESS_FIELDS: Mapping[str, DriftProperty] = {
    "street_address": DriftProperty.MAILBOX_STREET_ADDRESS,
    "office_location": DriftProperty.MAILBOX_OFFICE_LOCATION,
    "company_name": DriftProperty.MAILBOX_COMPANY_NAME,
    "postal_code": DriftProperty.MAILBOX_POSTAL_CODE,
    "city": DriftProperty.MAILBOX_CITY,
    "country": DriftProperty.MAILBOX_COUNTRY,
    "phone": DriftProperty.MAILBOX_PHONE,
    "department": DriftProperty.MAILBOX_DEPARTMENT,
    "business_phones": DriftProperty.MAILBOX_BUSINESS_PHONES,
    "notes": DriftProperty.MAILBOX_NOTES,
}
PLACE_FIELDS: Mapping[str, DriftProperty] = {
    "capacity": DriftProperty.MAILBOX_CAPACITY,
    "audio_device_name": DriftProperty.MAILBOX_AUDIO_DEVICE,
    "display_device_name": DriftProperty.MAILBOX_DISPLAY_DEVICE,
    "video_device_name": DriftProperty.MAILBOX_VIDEO_DEVICE,
    "is_wheel_chair_accessible": DriftProperty.MAILBOX_WHEEL_CHAIR,
    "tags": DriftProperty.MAILBOX_TAGS,
}
EQUIPMENT_FIELDS: Mapping[str, DriftProperty] = {
    "has_conference_phone": DriftProperty.MAILBOX_CONFERENCE_PHONE,
    "has_whiteboard": DriftProperty.MAILBOX_WHITEBOARD,
    "has_video_conferencing": DriftProperty.MAILBOX_VIDEO_CONFERENCING,
}

MAILBOX: tuple[MailboxRow, ...] = (
    MailboxRow(
        DriftProperty.MAILBOX_DISPLAY_NAME,
        lambda wanted: wanted.display_name,
        lambda observed: observed.display_name,
        Step.SET_PROPERTIES,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_ADDRESS,
        lambda wanted: wanted.mail.lower(),
        lambda observed: observed.mail.lower(),
        None,
    ),
    *[_field(each, name) for name, each in ADDRESS_FIELDS.items()],
    *[_feature(each, name) for name, each in PLACE_FIELDS.items()],
    *[_equipment(each, name) for name, each in EQUIPMENT_FIELDS.items()],
    MailboxRow(
        DriftProperty.MAILBOX_CAPACITY,
        lambda wanted: wanted.quota_megabytes,
        lambda observed: observed.quota_megabytes,
        Step.SET_QUOTA,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_CAPACITY,
        lambda wanted: wanted.capacity,
        lambda observed: observed.capacity,
        Step.SET_CAPACITY,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_BOOKING,
        lambda wanted: wanted.books_automatically or None,
        lambda observed: observed.books_automatically,
        Step.SET_BOOKING,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_AUTOMATIC_REPLY,
        lambda wanted: wanted.automatic_reply,
        lambda observed: observed.automatic_reply,
        Step.SET_AUTOMATIC_REPLY,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_HIDDEN,
        lambda wanted: wanted.is_hidden,
        lambda observed: observed.is_hidden,
        Step.SET_VISIBILITY,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_OWNERS,
        lambda wanted: wanted.owners,
        lambda observed: observed.owners,
        Step.SET_OWNERS,
    ),
)


def _sorted_domains(domains: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if domains is None else tuple(sorted(map(normalised, domains)))


RULES: tuple[RuleRow, ...] = (
    RuleRow(DriftProperty.ASSIGNMENT_ALLOWED, lambda rules: rules.allowed, Step.SET_GUEST_ACCESS),
    RuleRow(DriftProperty.ASSIGNMENT_ADDED_BY, lambda rules: rules.added_by, Step.SET_GUEST_ACCESS),
    RuleRow(
        DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS,
        lambda rules: _sorted_domains(rules.allowed_domains),
        Step.SET_GUEST_DOMAINS,
        (),
    ),
    RuleRow(
        DriftProperty.ASSIGNMENT_BLOCKED_DOMAINS,
        lambda rules: _sorted_domains(rules.blocked_domains),
        Step.SET_GUEST_DOMAINS,
        (),
    ),
)
