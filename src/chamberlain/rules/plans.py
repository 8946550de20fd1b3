"""Plans: the steps that lead from what the directory shows to what is wanted."""

from enum import StrEnum


class Step(StrEnum):
    """One idempotent "ensure ..." towards the directory, by the name that the API shows."""

    CHECK_PEOPLE = "checkPeople"
    CREATE_GROUP = "createGroup"
    ADD_OWNERS = "addOwners"
    ADD_MEMBERS = "addMembers"
    SET_LABEL = "setLabel"
    CREATE_TEAM = "createTeam"
    CREATE_CHANNELS = "createChannels"
    ASSIGN_GUEST_RULES = "assignGuestRules"
