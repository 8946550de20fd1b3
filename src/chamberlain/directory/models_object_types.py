"""Types of directory objects that an adoption can take."""

from enum import StrEnum


class ObjectType(StrEnum):
    """What is adopted, as the directory tells it apart; a team is a group."""

    MAILBOX = "mailbox"
    GROUP = "group"
