# SPDX-License-Identifier: Apache-2.0
"""Properties that drift detection compares, and the treatment of each.

The table has the defaults of a tenant. Properties that users of the directory may change are observed or ignored. Those
that only the service changes are managed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from chamberlain.core.errors import Fault


class Treatment(StrEnum):
    """Treatment of a property with drift.

    Managed ones are repaired if the tenant repairs drift, observed ones are reported, ignored ones are not compared.
    """

    MANAGED = "managed"
    OBSERVED = "observed"
    IGNORED = "ignored"


class DriftProperty(StrEnum):
    """Properties that can drift: noun, dot, and the path in findings."""

    MAILBOX_EXISTS = "mailbox.exists"
    MAILBOX_DISPLAY_NAME = "mailbox.displayName"
    MAILBOX_ADDRESS = "mailbox.primarySmtpAddress"
    MAILBOX_ALIAS = "mailbox.alias"
    MAILBOX_STREET_ADDRESS = "mailbox.streetAddress"
    MAILBOX_OFFICE_LOCATION = "mailbox.officeLocation"
    MAILBOX_COMPANY_NAME = "mailbox.companyName"
    MAILBOX_POSTAL_CODE = "mailbox.postalCode"
    MAILBOX_CITY = "mailbox.city"
    MAILBOX_COUNTRY = "mailbox.country"
    MAILBOX_PHONE = "mailbox.phone"
    MAILBOX_DEPARTMENT = "mailbox.department"
    MAILBOX_BUSINESS_PHONES = "mailbox.businessPhones"
    MAILBOX_NOTES = "mailbox.notes"
    MAILBOX_CAPACITY = "mailbox.capacity"
    MAILBOX_AUDIO_DEVICE = "mailbox.audioDeviceName"
    MAILBOX_DISPLAY_DEVICE = "mailbox.displayDeviceName"
    MAILBOX_VIDEO_DEVICE = "mailbox.videoDeviceName"
    MAILBOX_WHEEL_CHAIR = "mailbox.isWheelChairAccessible"
    MAILBOX_TAGS = "mailbox.tags"
    MAILBOX_CONFERENCE_PHONE = "mailbox.roomMailboxMetadata.hasConferencePhone"
    MAILBOX_WHITEBOARD = "mailbox.roomMailboxMetadata.hasWhiteboard"
    MAILBOX_VIDEO_CONFERENCING = "mailbox.roomMailboxMetadata.hasVideoConferencing"
    MAILBOX_BOOKING = "mailbox.booking"
    MAILBOX_AUTOMATIC_REPLY = "mailbox.automaticReply"
    MAILBOX_HIDDEN = "mailbox.hideFromGAL"
    MAILBOX_PERMISSIONS = "mailbox.permissions"
    MAILBOX_AUTO_MAPPING = "mailbox.autoMapping"
    MAILBOX_ADDITIONAL_PERMISSIONS = "mailbox.additionalPermissions"
    MAILBOX_OWNERS = "mailbox.owners"
    GROUP_EXISTS = "group.exists"
    GROUP_DISPLAY_NAME = "group.displayName"
    GROUP_MAIL = "group.mail"
    GROUP_DESCRIPTION = "group.description"
    GROUP_MEMBER_SHIP_TYPE = "group.memberShipType"
    GROUP_OWNERS = "group.owners"
    GROUP_ADDITIONAL_OWNERS = "group.additionalOwners"
    GROUP_MEMBERS = "group.members"
    GROUP_ADDITIONAL_MEMBERS = "group.additionalMembers"
    GROUP_LABEL = "group.labelId"
    GROUP_IS_TEAM = "group.isTeam"
    GROUP_CHANNELS = "group.channels"
    ASSIGNMENT_TEMPLATE = "assignment.templateId"
    ASSIGNMENT_POLICY = "assignment.policyId"
    ASSIGNMENT_ALLOWED = "assignment.guests.allowed"
    ASSIGNMENT_ADDED_BY = "assignment.guests.addedBy"
    ASSIGNMENT_ALLOWED_DOMAINS = "assignment.guests.allowedDomains"
    ASSIGNMENT_BLOCKED_DOMAINS = "assignment.guests.blockedDomains"
    ASSIGNMENT_SHARING = "assignment.sharingCapability"

    @property
    def path(self) -> str:
        """Return the path in findings."""
        return self.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Manner:
    """Name, default treatment and repairability of a property."""

    words: str
    treatment: Treatment
    is_repairable: bool = True


# Treatments of a tenant; the table has the others.
Treatments = Mapping[DriftProperty, Treatment]


def treatment_of(drift_property: DriftProperty, said: Treatments) -> Treatment:
    """Return the treatment of a property for a tenant."""
    return said.get(drift_property, PROPERTIES[drift_property].treatment)


def treatment_faults(said: Treatments, pointer: str) -> Iterator[Fault]:
    """Report managed properties that no step can repair.

    `pointer` is the place of the treatments.
    """
    for name, treatment in said.items():
        if treatment is Treatment.MANAGED and not PROPERTIES[name].is_repairable:
            sentence = "{property} cannot be put right, and can only be observed or ignored."
            yield Fault.build(f"{pointer}/{name}", "unknownValue", sentence, property=name)


def _managed(words: str) -> Manner:
    return Manner(words, Treatment.MANAGED)


def _observed(words: str) -> Manner:
    return Manner(words, Treatment.OBSERVED)


def _only_observed(words: str) -> Manner:
    return Manner(words, Treatment.OBSERVED, is_repairable=False)


PROPERTIES: Mapping[DriftProperty, Manner] = {
    # A deletion in the directory is intended; an empty object in its place would not help.
    DriftProperty.MAILBOX_EXISTS: _only_observed("the mailbox"),
    DriftProperty.MAILBOX_DISPLAY_NAME: _observed("the display name"),
    # Mail is sent to the current address; a repair would lose some.
    DriftProperty.MAILBOX_ADDRESS: _only_observed("the address"),
    DriftProperty.MAILBOX_ALIAS: _managed("the alias"),
    DriftProperty.MAILBOX_STREET_ADDRESS: _managed("the street address"),
    DriftProperty.MAILBOX_OFFICE_LOCATION: _managed("the office location"),
    DriftProperty.MAILBOX_COMPANY_NAME: _managed("the company name"),
    DriftProperty.MAILBOX_POSTAL_CODE: _managed("the postal code"),
    DriftProperty.MAILBOX_CITY: _managed("the city"),
    DriftProperty.MAILBOX_COUNTRY: _managed("the country"),
    DriftProperty.MAILBOX_PHONE: _managed("the phone number"),
    DriftProperty.MAILBOX_DEPARTMENT: _managed("the department"),
    DriftProperty.MAILBOX_BUSINESS_PHONES: _managed("the business phone numbers"),
    DriftProperty.MAILBOX_NOTES: _managed("the notes"),
    DriftProperty.MAILBOX_CAPACITY: _managed("the capacity"),
    DriftProperty.MAILBOX_AUDIO_DEVICE: _managed("the audio device"),
    DriftProperty.MAILBOX_DISPLAY_DEVICE: _managed("the display device"),
    DriftProperty.MAILBOX_VIDEO_DEVICE: _managed("the video device"),
    DriftProperty.MAILBOX_WHEEL_CHAIR: _managed("the wheelchair access"),
    DriftProperty.MAILBOX_TAGS: _managed("the tags"),
    DriftProperty.MAILBOX_CONFERENCE_PHONE: _managed("the conference phone"),
    DriftProperty.MAILBOX_WHITEBOARD: _managed("the whiteboard"),
    DriftProperty.MAILBOX_VIDEO_CONFERENCING: _managed("the video conferencing"),
    DriftProperty.MAILBOX_BOOKING: _managed("the automatic booking"),
    # Not compared if the mailbox allows its users another reply.
    DriftProperty.MAILBOX_AUTOMATIC_REPLY: _managed("the automatic reply"),
    DriftProperty.MAILBOX_HIDDEN: _managed("whether the address list hides the mailbox"),
    DriftProperty.MAILBOX_PERMISSIONS: _managed("the permissions"),
    DriftProperty.MAILBOX_AUTO_MAPPING: _managed("the automatic mapping"),
    # The directory's administrators may have granted them; the report informs them.
    DriftProperty.MAILBOX_ADDITIONAL_PERMISSIONS: _observed("the permissions of others"),
    DriftProperty.MAILBOX_OWNERS: _managed("the owners"),
    DriftProperty.GROUP_EXISTS: _only_observed("the group"),
    # Owners of a group may rename and describe it.
    DriftProperty.GROUP_DISPLAY_NAME: _observed("the display name"),
    DriftProperty.GROUP_MAIL: _only_observed("the address"),
    DriftProperty.GROUP_DESCRIPTION: Manner("the description", Treatment.IGNORED),
    DriftProperty.GROUP_MEMBER_SHIP_TYPE: _observed("the membership type"),
    DriftProperty.GROUP_OWNERS: _managed("the owners"),
    # Users join and leave a group that they use.
    DriftProperty.GROUP_ADDITIONAL_OWNERS: Manner("the further owners", Treatment.IGNORED, is_repairable=False),
    DriftProperty.GROUP_MEMBERS: Manner("the members", Treatment.IGNORED),
    DriftProperty.GROUP_ADDITIONAL_MEMBERS: Manner("the further members", Treatment.IGNORED, is_repairable=False),
    DriftProperty.GROUP_LABEL: _managed("the label"),
    DriftProperty.GROUP_IS_TEAM: _managed("the team"),
    DriftProperty.GROUP_CHANNELS: _observed("the channels"),
    DriftProperty.ASSIGNMENT_TEMPLATE: _managed("the mark of the guest template"),
    DriftProperty.ASSIGNMENT_POLICY: _managed("the mark of the guest policy"),
    DriftProperty.ASSIGNMENT_ALLOWED: _managed("whether guests may be added"),
    DriftProperty.ASSIGNMENT_ADDED_BY: _managed("the people who may add guests"),
    DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS: _managed("the domains that guests may come from"),
    DriftProperty.ASSIGNMENT_BLOCKED_DOMAINS: _managed("the domains that guests may not come from"),
    DriftProperty.ASSIGNMENT_SHARING: _managed("with whom the site may be shared"),
}
