# SPDX-License-Identifier: Apache-2.0
"""Steps: idempotent changes of the directory."""

from collections.abc import Mapping
from enum import StrEnum


class Step(StrEnum):
    """One idempotent step, by its name in the API."""

    CHECK_PEOPLE = "checkPeople"
    CREATE_GROUP = "createGroup"
    ADD_OWNERS = "addOwners"
    ADD_MEMBERS = "addMembers"
    SET_LABEL = "setLabel"
    CREATE_TEAM = "createTeam"
    CREATE_CHANNELS = "createChannels"
    ASSIGN_GUEST_RULES = "assignGuestRules"
    SET_PROPERTIES = "setProperties"
    CREATE_MAILBOX = "createMailbox"
    SET_ADDRESS_FIELDS = "setAddressFields"
    SET_PLACE = "setPlace"
    SET_BOOKING = "setBooking"
    SET_AUTOMATIC_REPLY = "setAutomaticReply"
    SET_QUOTA = "setQuota"
    SET_CAPACITY = "setCapacity"
    SET_VISIBILITY = "setVisibility"
    SET_ALIASES = "setAliases"
    SET_PERMISSIONS = "setPermissions"
    SET_OWNERS = "setOwners"
    MARK_ASSIGNMENT = "markAssignment"
    SET_GUEST_ACCESS = "setGuestAccess"
    SET_GUEST_DOMAINS = "setGuestDomains"
    SET_SHARING_CAPABILITY = "setSharingCapability"
    REPAIR_DRIFT = "repairDrift"


def title(step: Step) -> str:
    """A step as a person reads it."""
    return TITLES[step]


TITLES: Mapping[Step, str] = {
    Step.CHECK_PEOPLE: "Check that everybody exists",
    Step.CREATE_GROUP: "Create the group",
    Step.ADD_OWNERS: "Add the owners",
    Step.ADD_MEMBERS: "Add the members",
    Step.SET_LABEL: "Set the label",
    Step.CREATE_TEAM: "Make the group a team",
    Step.CREATE_CHANNELS: "Create the channels",
    Step.ASSIGN_GUEST_RULES: "Assign the rules for guests",
    Step.SET_PROPERTIES: "Set what it is called, how it is described and who may join",
    Step.CREATE_MAILBOX: "Create the mailbox",
    Step.SET_ADDRESS_FIELDS: "Set the address fields",
    Step.SET_PLACE: "Describe the place",
    Step.SET_BOOKING: "Accept bookings automatically",
    Step.SET_AUTOMATIC_REPLY: "Set the automatic reply",
    Step.SET_QUOTA: "Set the storage quota",
    Step.SET_CAPACITY: "Set the capacity",
    Step.SET_VISIBILITY: "Show it in the address list, or hide it",
    Step.SET_ALIASES: "Add the alias",
    Step.SET_PERMISSIONS: "Set the permissions",
    Step.SET_OWNERS: "Set the owners",
    Step.MARK_ASSIGNMENT: "Mark what is assigned",
    Step.SET_GUEST_ACCESS: "Set whether guests may be added, and by whom",
    Step.SET_GUEST_DOMAINS: "Set the domains that guests may come from",
    Step.SET_SHARING_CAPABILITY: "Set with whom the site may be shared",
    Step.REPAIR_DRIFT: "Set the property to its desired value",
}
