"""`/users`, `/users/{id}` and `/me`: users as Graph shows them; a mailbox that several share has a user too."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias
from uuid import uuid5

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import Connection, one_tenant
from chamberlain.embedded.directory.entries import Contact, Place
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Shape, nothing, written_time
from chamberlain.embedded.directory.graph.conditions import USERS
from chamberlain.embedded.directory.graph.filters import Vocabulary
from chamberlain.embedded.directory.graph.options import Options, SortKey, read_options
from chamberlain.embedded.directory.graph.paging import Listing, count_entries, fetch_page, read_query, shape_of_page

Row: TypeAlias = asyncpg.Record

_LIST_OPTIONS = frozenset({"$filter", "$select", "$orderby", "$count", "$top", "$skiptoken"})
_ENTITY_OPTIONS = frozenset({"$select"})

# `made_at` is of users who are mailboxes; the others were always there. One probe for each user: a merge of the two
# tables would read all mailboxes before those of the page.
_COLUMNS = """
    u.id, u.display_name, u.user_principal_name, u.mail, u.user_type, u.account_enabled,
    u.properties::text AS properties, m.created_at AS made_at, m.aliases, m.contact::text AS contact, m.is_hidden,
    m.extensions::text AS extensions
"""
_SOURCE = """
    directory.users u LEFT JOIN LATERAL (
        SELECT b.created_at, b.aliases, b.contact, b.is_hidden, b.extensions
        FROM directory.mailboxes b WHERE b.tenant_id = $1 AND b.user_id = u.id LIMIT 1
    ) AS m ON true
WHERE u.tenant_id = $1
"""
_USERS = f"SELECT {_COLUMNS} FROM {_SOURCE}"  # noqa: S608 - the two pieces above.
_BY_ID = f"{_USERS} AND u.id = $2"
_HOLDER = "SELECT a.holder_id FROM directory.addresses a WHERE a.tenant_id = $1 AND a.address = lower($2)"
_BY_ADDRESS = f"{_USERS} AND u.id IN ({_HOLDER}) AND lower(u.user_principal_name) = lower($2)"

USER_LISTING = Listing(
    kind="User",
    columns=_COLUMNS,
    source=_SOURCE,
    counted="directory.users u WHERE u.tenant_id = $1",
    visible="NOT EXISTS (SELECT FROM directory.mailboxes b "
    "WHERE b.tenant_id = $1 AND b.user_id = u.id AND b.created_at > {})",
    subject=USERS,
    vocabulary=Vocabulary(frozenset(USERS.columns)),
    keys={
        "displayName": SortKey('lower(u.display_name) COLLATE "C"'),
        "mail": SortKey('lower(u.mail) COLLATE "C"', may_lack=True),
        "userPrincipalName": SortKey('lower(u.user_principal_name) COLLATE "C"'),
    },
)


async def list_users(call: Call) -> Shape:
    """A page of the users that the filter names, in the order of their ids unless another one is wanted."""
    options = read_options(call.query_string, known=_LIST_OPTIONS)
    _check_select(options)
    page = await fetch_page(call, USER_LISTING, read_query(call, USER_LISTING, options))
    return shape_of_page(call, page, _context(call, options, ""), lambda row: _selected(_shape(row), options))


async def count_users(call: Call) -> int:
    """How many users the filter names."""
    return await count_entries(call, USER_LISTING)


async def get_user(call: Call) -> Shape:
    """One user."""
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    _check_select(options)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        row = await find_user(call, connection)
    return {"@odata.context": _context(call, options, "/$entity"), **_selected(_shape(row), options)}


async def find_user(call: Call, connection: Connection) -> Row:
    """The user whom the call names. Raises NotThere."""
    if call.id is not None:
        row = await connection.fetchrow(_BY_ID, call.tenant_id, call.id)
    else:
        row = await connection.fetchrow(_BY_ADDRESS, call.tenant_id, call.address)
    if row is None or (row["made_at"] is not None and not call.knows(row["made_at"])):
        raise nothing(call)
    return row


def proxy_addresses(row: Row) -> list[str]:
    """All addresses, the primary one marked by its spelling."""
    primary = [] if row["mail"] is None else [f"SMTP:{row['mail']}"]
    return [*primary, *(f"smtp:{alias}" for alias in row["aliases"] or ())]


def properties_of(row: Row) -> Mapping[str, str]:
    """Those properties of a user that the database has in one column."""
    return msgspec.json.decode(row["properties"], type=dict[str, str])


def contact_of(row: Row) -> Contact:
    """What the address book says of mailboxes besides; of other users nothing."""
    return Contact() if row["contact"] is None else msgspec.json.decode(row["contact"], type=Contact)


def _shape(row: Row) -> Shape:
    properties = properties_of(row)
    # What a suite shows when nothing is selected, in its order; and behind it what has to be asked for.
    return {
        "businessPhones": list(contact_of(row).business_phones),
        "displayName": row["display_name"],
        "givenName": properties.get("givenName"),
        "jobTitle": properties.get("jobTitle"),
        "mail": row["mail"],
        "mobilePhone": properties.get("mobilePhone"),
        "officeLocation": properties.get("officeLocation"),
        "preferredLanguage": properties.get("preferredLanguage"),
        "surname": properties.get("surname"),
        "userPrincipalName": row["user_principal_name"],
        "id": str(row["id"]),
        **{name: properties.get(name) for name in _FURTHER},
        "accountEnabled": row["account_enabled"],
        "createdDateTime": None if row["made_at"] is None else written_time(row["made_at"]),
        "mailNickname": row["user_principal_name"].partition("@")[0],
        "proxyAddresses": proxy_addresses(row),
        "showInAddressList": not row["is_hidden"],
        "userType": row["user_type"],
        **msgspec.json.decode(row["extensions"] or "{}", type=dict[str, dict[str, str]]),
    }


_FURTHER = (
    "city", "companyName", "country", "department", "employeeId", "postalCode", "state", "streetAddress",
    "usageLocation",
)  # fmt: skip
_SELECTED_ANYWAY = frozenset(
    {
        "businessPhones", "displayName", "givenName", "jobTitle", "mail", "mobilePhone", "officeLocation",
        "preferredLanguage", "surname", "userPrincipalName", "id",
    }
)  # fmt: skip
_PROPERTIES = _SELECTED_ANYWAY.union(
    _FURTHER,
    {"accountEnabled", "createdDateTime", "mailNickname", "proxyAddresses", "showInAddressList", "userType"},
)


def _check_select(options: Options) -> None:
    for name in options.select or ():
        # Names of extension attributes hold an underscore (prefix_name), those of properties never do.
        if name not in _PROPERTIES and "_" not in name:
            message = f"Could not find a property named '{name}' on type 'microsoft.graph.user'."
            raise BadQuery("BadRequest", message)


def _selected(user: Shape, options: Options) -> Shape:
    if options.select is None:
        # Extension attributes are shown as those of groups are.
        return {name: value for name, value in user.items() if name in _SELECTED_ANYWAY or "_" in name}
    return {name: user[name] for name in options.select if name in user}


def _context(call: Call, options: Options, end: str) -> str:
    chosen = "" if options.select is None else f"({','.join(options.select)})"
    return f"{call.root}/$metadata#users{chosen}{end}"


_NO_OPTIONS = frozenset[str]()

_LICENSES = """
SELECT l.sku_part_number, ARRAY(
    SELECT p.service_plan_name FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.sku_part_number = l.sku_part_number ORDER BY p.service_plan_name
) AS plans, ARRAY(
    SELECT p.provisioning_status FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.sku_part_number = l.sku_part_number ORDER BY p.service_plan_name
) AS statuses
FROM directory.licenses l WHERE l.tenant_id = $1 AND l.user_id = $2 ORDER BY l.sku_part_number
"""


async def list_licenses(call: Call) -> Shape:
    """The licences of the user."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        user = await find_user(call, connection)
        rows = await connection.fetch(_LICENSES, call.tenant_id, user["id"])
    return {
        "@odata.context": f"{call.root}/$metadata#users('{user['id']}')/licenseDetails",
        "value": [
            {
                # Nothing but its name tells a product from others; what has no id here gets one of it.
                "id": str(uuid5(user["id"], row["sku_part_number"])),
                "skuPartNumber": row["sku_part_number"],
                "servicePlans": [
                    {"servicePlanName": name, "provisioningStatus": status, "appliesTo": "User"}
                    for name, status in zip(row["plans"], row["statuses"], strict=True)
                ],
            }
            for row in rows
        ],
    }


_PURPOSES: Mapping[str, str] = MappingProxyType(
    {"SharedMailbox": "shared", "RoomMailbox": "room", "EquipmentMailbox": "equipment"}
)

_MAILBOX = """
SELECT m.recipient_type, m.name, m.place::text AS place, m.resource_capacity, m.automate_processing,
    m.additional_response, m.automatic_reply, m.quota_megabytes, m.is_hidden, m.owners
FROM directory.mailboxes m WHERE m.tenant_id = $1 AND m.user_id = $2
"""
_PERMISSIONS = """
SELECT p.user_id, p.access_right, p.auto_mapping FROM directory.mailbox_permissions p
WHERE p.tenant_id = $1 AND p.mailbox_id = $2 ORDER BY p.user_id
"""


async def get_mailbox_settings(call: Call) -> Shape:
    """The settings of a user's mailbox."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        user = await find_user(call, connection)
        mailbox = await connection.fetchrow(_MAILBOX, call.tenant_id, user["id"])
        permissions = await connection.fetch(_PERMISSIONS, call.tenant_id, user["id"])
    reply = None if mailbox is None else mailbox["automatic_reply"]
    return {
        "@odata.context": f"{call.root}/$metadata#users('{user['id']}')/mailboxSettings",
        "automaticRepliesSetting": {
            "status": "disabled" if reply is None else "alwaysEnabled",
            "externalAudience": "all",
            "internalReplyMessage": reply or "",
            "externalReplyMessage": reply or "",
        },
        "userPurpose": "user" if mailbox is None else _PURPOSES[mailbox["recipient_type"]],
        "mailbox": None if mailbox is None else _mailbox(user, mailbox, permissions),
    }


def _mailbox(user: asyncpg.Record, mailbox: asyncpg.Record, permissions: Sequence[asyncpg.Record]) -> Shape:
    contact = contact_of(user)
    place = None if mailbox["place"] is None else msgspec.json.decode(mailbox["place"], type=Place)
    return {
        "recipientType": mailbox["recipient_type"],
        "name": mailbox["name"],
        "emailAddresses": proxy_addresses(user),
        "phone": contact.phone,
        "notes": contact.notes,
        "quotaMegabytes": mailbox["quota_megabytes"],
        "resourceCapacity": mailbox["resource_capacity"],
        "automateProcessing": mailbox["automate_processing"],
        "additionalResponse": mailbox["additional_response"],
        "hiddenFromAddressLists": mailbox["is_hidden"],
        "hasConferencePhone": None if place is None else place.has_conference_phone,
        "hasWhiteboard": None if place is None else place.has_whiteboard,
        "hasVideoConferencing": None if place is None else place.has_video_conferencing,
        "owners": [str(owner) for owner in mailbox["owners"]],
        "permissions": [
            {"userId": str(one["user_id"]), "accessRight": one["access_right"], "autoMapping": one["auto_mapping"]}
            for one in permissions
        ],
    }
