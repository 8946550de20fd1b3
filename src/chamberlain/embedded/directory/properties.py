"""The properties of a user that membership rules can use, and where the database has each."""

from dataclasses import dataclass
from enum import Enum, auto


class ValueType(Enum):
    """What a property holds."""

    TEXT = auto()
    BOOLEAN = auto()


@dataclass(frozen=True, slots=True)
class UserProperty:
    """A property by its directory name; `expression` reads it from a row `u` of directory.users."""

    name: str
    expression: str
    type: ValueType = ValueType.TEXT


# Those that lie together in one column, because nothing but naming and membership rules asks for them.
FURTHER = (
    "givenName",
    "surname",
    "department",
    "jobTitle",
    "companyName",
    "officeLocation",
    "employeeId",
    "mobilePhone",
    "streetAddress",
    "postalCode",
    "city",
    "state",
    "country",
    "usageLocation",
    "preferredLanguage",
)

_ALL = (
    UserProperty("objectId", "u.id::text"),
    UserProperty("displayName", "u.display_name"),
    UserProperty("userPrincipalName", "u.user_principal_name"),
    UserProperty("mail", "u.mail"),
    UserProperty("userType", "u.user_type"),
    UserProperty("accountEnabled", "u.account_enabled", ValueType.BOOLEAN),
    *(UserProperty(name, f"u.properties ->> '{name}'") for name in FURTHER),
)

_BY_NAME = {known.name.lower(): known for known in _ALL}


def find_property(name: str) -> UserProperty | None:
    """The property of this name, in any letter case."""
    return _BY_NAME.get(name.lower())
