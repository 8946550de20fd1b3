# SPDX-License-Identifier: Apache-2.0
"""Parts of the service that call a directory. Pure."""

from enum import StrEnum


class Feature(StrEnum):
    """A part of the service that calls a directory."""

    # Look-ups for every request, and the discovery of groups.
    PEOPLE = "people"
    GROUPS = "groups"
    TEAMS = "teams"
    GUEST_RULES = "guestRules"
    # The observation of a group with its guests, and the mark of its policy.
    POLICIES = "policies"
    REMOVE_GUESTS = "removeGuests"
    DISABLE_GUESTS = "disableGuests"
    INACTIVITY = "inactivity"
