# SPDX-License-Identifier: Apache-2.0
"""Names of object classes and attributes. Pure.

Settings of a connection may override names of attributes, because servers spell some differently, such as that of the
department.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

# Object classes (deploy/suite/chamberlain.schema). The first ones are structural, of core.schema and dyngroup.schema.
PERSON_CLASS: Final = "inetOrgPerson"
GROUP_CLASS: Final = "groupOfNames"
DYNAMIC_GROUP_CLASS: Final = "groupOfURLs"
MANAGED_CLASS: Final = "chamberlainManaged"
MAILBOX_CLASS: Final = "chamberlainMailbox"
MANAGED_GROUP_CLASS: Final = "chamberlainGroup"


@dataclass(frozen=True, slots=True)
class Attributes:
    """Names of the attributes of mailboxes and groups.

    The first block is of chamberlain.schema, the second of standard schemas. `layout` has those of marks.
    """

    type: str = "chamberlainType"
    # All addresses of an entry, the primary one included. It is unique over all entries (overlay `unique`).
    address: str = "chamberlainAddress"
    hidden: str = "chamberlainHidden"
    full_access: str = "chamberlainFullAccess"
    send_as: str = "chamberlainSendAs"
    auto_mapped: str = "chamberlainAutoMapped"
    quota: str = "chamberlainQuota"
    capacity: str = "chamberlainCapacity"
    bookings: str = "chamberlainBookings"
    kind: str = "chamberlainKind"
    feature: str = "chamberlainFeature"
    automatic_reply: str = "chamberlainAutomaticReply"
    business_phones: str = "chamberlainBusinessPhone"
    # The name of a mailbox in requests. `name` is its name on the servers.
    mailbox_name: str = "chamberlainName"
    member_ship: str = "chamberlainMemberShip"
    room: str = "chamberlainRoom"
    guest_rules: str = "chamberlainGuestRules"

    name: str = "uid"
    nickname: str = "cn"
    display_name: str = "displayName"
    mail: str = "mail"
    owner: str = "owner"
    member: str = "member"
    member_url: str = "memberURL"
    manager: str = "manager"
    description: str = "description"
    street_address: str = "street"
    office_location: str = "physicalDeliveryOfficeName"
    company_name: str = "o"
    postal_code: str = "postalCode"
    city: str = "l"
    country: str = "co"
    phone: str = "telephoneNumber"
    department: str = "departmentNumber"


DEFAULT_NAMES: Final = Attributes()

# Properties of users, by their directory names, in naming and membership rules. Settings leave out those that a server
# does not have; a rule that needs one cannot be followed. `userType` and `accountEnabled` are filters of the layout.
PERSON_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "objectId": "entryUUID",
        "displayName": "displayName",
        "userPrincipalName": "uid",
        "mail": "mail",
        "givenName": "givenName",
        "surname": "sn",
        "department": "departmentNumber",
        "jobTitle": "title",
        "companyName": "o",
        "officeLocation": "physicalDeliveryOfficeName",
        "employeeId": "employeeNumber",
        "mobilePhone": "mobile",
        "streetAddress": "street",
        "postalCode": "postalCode",
        "city": "l",
        "state": "st",
        "preferredLanguage": "preferredLanguage",
    }
)
