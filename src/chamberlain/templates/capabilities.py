# SPDX-License-Identifier: Apache-2.0
"""Validate requests and templates by the capabilities of the tenant's directory.

A directory may lack abilities, refuse names, or be unable to store properties. All faults are reported before anything
is written, and each names a way out.
"""

from collections.abc import Iterator, Mapping, Sequence

from chamberlain.core.errors import Fault
from chamberlain.directory.capabilities import Ability, Capabilities
from chamberlain.directory.mailboxes import MailboxProperties, MailboxType
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.subjects import AddedBy, GuestRules
from chamberlain.templates.mailbox_types import inapplicable
from chamberlain.templates.models import GuestTemplate

# Properties of a mailbox order by field. Names and addresses are in every directory.
_FIELDS: Mapping[str, DriftProperty] = {
    "alias": DriftProperty.MAILBOX_ALIAS,
    "permissions": DriftProperty.MAILBOX_PERMISSIONS,
    "capacity": DriftProperty.MAILBOX_CAPACITY,
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
    "audio_device_name": DriftProperty.MAILBOX_AUDIO_DEVICE,
    "display_device_name": DriftProperty.MAILBOX_DISPLAY_DEVICE,
    "video_device_name": DriftProperty.MAILBOX_VIDEO_DEVICE,
    "is_wheel_chair_accessible": DriftProperty.MAILBOX_WHEEL_CHAIR,
    "tags": DriftProperty.MAILBOX_TAGS,
    "automatic_reply": DriftProperty.MAILBOX_AUTOMATIC_REPLY,
    "hide_from_gal": DriftProperty.MAILBOX_HIDDEN,
    "auto_mapping": DriftProperty.MAILBOX_AUTO_MAPPING,
}
_EQUIPMENT: Mapping[str, DriftProperty] = {
    "has_conference_phone": DriftProperty.MAILBOX_CONFERENCE_PHONE,
    "has_whiteboard": DriftProperty.MAILBOX_WHITEBOARD,
    "has_video_conferencing": DriftProperty.MAILBOX_VIDEO_CONFERENCING,
}
_OWNERS = {"primaryOwner": "primary_owner", "secondaryOwner": "secondary_owner"}
# Only rooms bring these to the directory. Other types keep them without effect.
_OF_ROOMS = frozenset({"audio_device_name", "display_device_name", "video_device_name", "tags"})
_NOTHING: tuple[object, ...] = (None, "", (), {})


def mailbox_faults(capabilities: Capabilities, pointer: str = "") -> Iterator[Fault]:
    """Validate that the service can create mailboxes in the directory."""
    if not capabilities.can(Ability.MAILBOXES):
        sentence = "The service cannot create mailboxes in this tenant's directory. Ask an administrator for one."
        yield Fault.build(pointer, "mailboxesNotSupported", sentence)


def property_faults(
    sent: MailboxProperties, mailbox_type: MailboxType, capabilities: Capabilities, pointer: str = ""
) -> Iterator[Fault]:
    """Yield an error for each property that the directory cannot store.

    `pointer` is the parent's.
    """
    for name in unheld_names(sent, mailbox_type, capabilities):
        yield not_held(f"{pointer}/{name.replace('.', '/')}", name)


def inherited_property_faults(
    order: MailboxProperties,
    sent: MailboxProperties,
    mailbox_type: MailboxType,
    capabilities: Capabilities,
    *,
    template: str,
) -> Iterator[Fault]:
    """Yield an error for each default that the directory cannot store.

    `order` is the sent order with the defaults of the template of this name.
    """
    own = unheld_names(sent, mailbox_type, capabilities)
    for name in unheld_names(order, mailbox_type, capabilities):
        if name not in own:
            yield not_held_of_template(name, template)


def unheld_names(sent: MailboxProperties, mailbox_type: MailboxType, capabilities: Capabilities) -> tuple[str, ...]:
    """Return the names of the sent properties that the directory cannot store.

    Properties that the type does not have are left out.
    """
    unheld = capabilities.unheld
    if not unheld:
        return ()
    others = {each.name for each in inapplicable(sent, mailbox_type)}
    return tuple([name for name in _sent_names(sent, mailbox_type, unheld) if name.partition(".")[0] not in others])


def not_held(pointer: str, name: str) -> Fault:
    """Return the error for a property that the directory cannot store."""
    sentence = "This tenant's directory cannot store {property}. Leave it out."
    return Fault.build(pointer, "propertyNotHeld", sentence, property=name)


def not_held_of_template(name: str, template: str) -> Fault:
    """Return the error for a template whose property the directory cannot store."""
    sentence = (
        'The template "{template}" sets {property}, and this tenant\'s directory cannot store it. Ask an '
        "administrator to change the template, or choose another one."
    )
    return Fault.build("/templateId", "propertyNotHeld", sentence, template=template, property=name)


def display_name_faults(name: str, capabilities: Capabilities) -> Iterator[Fault]:
    """Validate the length of a display name."""
    most = capabilities.limits.display_name
    if most is not None and len(name) > most:
        sentence = (
            "A display name has at most {max} characters in this tenant's directory, and this one has {actual}. "
            "Choose a shorter one."
        )
        yield Fault.build("/displayName", "nameNotPossible", sentence, max=most, actual=len(name))


def mailbox_name_faults(name: str, capabilities: Capabilities) -> Iterator[Fault]:
    """Validate the length and the characters of a mailbox name."""
    most = capabilities.limits.mailbox_name
    if most is not None and len(name) > most:
        sentence = (
            "The name of a mailbox has at most {max} characters in this tenant's directory, and this one has "
            "{actual}. Choose a shorter one."
        )
        yield Fault.build("/name", "nameNotPossible", sentence, max=most, actual=len(name))
    refused = tuple(dict.fromkeys(each for each in name if each in capabilities.limits.refused_characters))
    if refused:
        sentence = (
            "This tenant's directory does not accept these characters in the name of a mailbox: {characters}. "
            "Choose another name."
        )
        yield Fault.build("/name", "nameNotPossible", sentence, characters=refused)


def label_faults(label: str | None, capabilities: Capabilities) -> Iterator[Fault]:
    """Validate the label of a template or request by itself."""
    if label is not None and not capabilities.can(Ability.LABELS):
        sentence = "This tenant's directory has no labels. Leave labelId out."
        yield Fault.build("/labelId", "labelsNotSupported", sentence)


def team_faults(channels: Sequence[str], capabilities: Capabilities) -> Iterator[Fault]:
    """Validate that the directory has teams and channels."""
    if not capabilities.can(Ability.TEAMS):
        sentence = "This tenant's directory has no teams. Make the template one of kind group."
        yield Fault.build("/kind", "teamsNotSupported", sentence)
    elif channels and DriftProperty.GROUP_CHANNELS in capabilities.unheld:
        yield not_held("/channels", "channels")


def guest_restriction_faults(rules: GuestRules, capabilities: Capabilities) -> Iterator[Fault]:
    """Validate the rules of a guest template.

    A sharing capability is always possible, because groups ignore it.
    """
    for name in unsupported_domains(rules, capabilities):
        sentence = (
            "This tenant's directory does not enforce the domains of guests. Leave {property} out, and let a guest "
            "policy review the guests."
        )
        yield Fault.build(f"/guests/{name}", "guestDomainsNotSupported", sentence, property=name)
    if sets_unheld_user(rules, capabilities):
        yield not_held("/guests/addedBy", "guests.addedBy")


def restricts_guests(capabilities: Capabilities) -> bool:
    """Return whether the directory may be unable to follow a guest template."""
    return not capabilities.can(Ability.GUEST_DOMAINS) or DriftProperty.ASSIGNMENT_ADDED_BY in capabilities.unheld


def guest_template_faults(template: GuestTemplate, capabilities: Capabilities) -> Iterator[Fault]:
    """Validate a guest template that is about to be assigned."""
    for name in unsupported_domains(template.rules, capabilities):
        sentence = (
            'The guest template "{template}" sets {property}, and this tenant\'s directory does not enforce the '
            "domains of guests. Ask an administrator to change the template, or choose another one."
        )
        yield Fault.build("/templateId", "guestDomainsNotSupported", sentence, template=template.name, property=name)
    if sets_unheld_user(template.rules, capabilities):
        yield not_held_of_template("guests.addedBy", template.name)


def unsupported_domains(rules: GuestRules, capabilities: Capabilities) -> tuple[str, ...]:
    """Name the lists of domains that the directory does not enforce."""
    if capabilities.can(Ability.GUEST_DOMAINS):
        return ()
    lists = {"allowedDomains": rules.allowed_domains, "blockedDomains": rules.blocked_domains}
    return tuple([name for name, domains in lists.items() if domains])


def sets_unheld_user(rules: GuestRules, capabilities: Capabilities) -> bool:
    """Return whether the directory cannot restrict who adds guests.

    Owners are the default of the API.
    """
    return DriftProperty.ASSIGNMENT_ADDED_BY in capabilities.unheld and rules.added_by is not AddedBy.OWNERS


def _sent_names(sent: MailboxProperties, mailbox_type: MailboxType, unheld: frozenset[DriftProperty]) -> Iterator[str]:
    for field, drift_property in _FIELDS.items():
        is_of_type = mailbox_type is MailboxType.ROOM or field not in _OF_ROOMS
        if drift_property in unheld and is_of_type and getattr(sent, field, None) not in _NOTHING:
            yield drift_property.path
    for field, drift_property in _EQUIPMENT.items():
        if drift_property in unheld and getattr(sent.room_mailbox_metadata, field, None) is not None:
            yield drift_property.path
    if DriftProperty.MAILBOX_OWNERS in unheld:
        yield from (name for name, field in _OWNERS.items() if getattr(sent, field) is not None)
