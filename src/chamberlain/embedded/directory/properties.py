"""The properties of users and devices that membership rules can use, and where the database has those of users."""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto


class ValueType(Enum):
    """What a property holds."""

    TEXT = auto()
    BOOLEAN = auto()


class Kind(StrEnum):
    """Whom a property belongs to, by the word that stands before its name."""

    USER = "user"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Property:
    """A property by its directory name; `expression` reads it from a row `u` of directory.users.

    There are no devices here, so those of devices are read nowhere.
    """

    name: str
    expression: str
    type: ValueType = ValueType.TEXT
    kind: Kind = Kind.USER


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
    Property("objectId", "u.id::text"),
    Property("displayName", "u.display_name"),
    Property("userPrincipalName", "u.user_principal_name"),
    Property("mail", "u.mail"),
    Property("userType", "u.user_type"),
    Property("accountEnabled", "u.account_enabled", ValueType.BOOLEAN),
    *(Property(name, f"u.properties ->> '{name}'") for name in FURTHER),
)

_OF_DEVICES = (
    "deviceCategory",
    "deviceId",
    "deviceManagementAppId",
    "deviceManufacturer",
    "deviceModel",
    "deviceOSType",
    "deviceOSVersion",
    "deviceOwnership",
    "deviceTrustType",
    "displayName",
    "enrollmentProfileName",
    "managementType",
    "objectId",
    "profileType",
)
_BOOLEANS_OF_DEVICES = ("accountEnabled", "isRooted")

_DEVICES = (
    *(Property(name, "NULL", kind=Kind.DEVICE) for name in _OF_DEVICES),
    *(Property(name, "NULL", ValueType.BOOLEAN, Kind.DEVICE) for name in _BOOLEANS_OF_DEVICES),
)

# All of them, by the names that rules use: `user.department`.
KNOWN = {f"{known.kind}.{known.name}": known for known in (*_ALL, *_DEVICES)}

_BY_NAME = {name.lower(): known for name, known in KNOWN.items()}


def find_property(name: str) -> Property | None:
    """The property of this name, such as `user.department`, in any letter case."""
    return _BY_NAME.get(name.lower())
