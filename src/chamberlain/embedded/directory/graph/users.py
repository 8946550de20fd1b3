# SPDX-License-Identifier: Apache-2.0
"""`/users`, `/users/{id}` and `/me` with licences and mailbox settings.

A mailbox is a user too.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from uuid import uuid5

import msgspec

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.graph.assigned_plans import ASSIGNED, read_assigned
from chamberlain.embedded.directory.graph.calls import Call, Row, Shape, written_time
from chamberlain.embedded.directory.graph.filters import USERS, Vocabulary
from chamberlain.embedded.directory.graph.options import Options, SortKey, check_select, context_of, read_options
from chamberlain.embedded.directory.graph.own_properties import (
    MAILBOX,
    contact_of,
    fetch_mailboxes,
    proxy_addresses,
    read_own_properties,
    with_own,
)
from chamberlain.embedded.directory.graph.paging import Listing, Page, Query, fetch_page, read_query, shape_of_page
from chamberlain.embedded.directory.graph.products import plan_id, product_id
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

_LIST_OPTIONS = frozenset({"$filter", "$search", "$select", "$orderby", "$count", "$top", "$skiptoken"})
_ENTITY_OPTIONS = frozenset({"$select"})

# Only mailboxes have a creation time. LATERAL makes one probe for each user; a merge join would read all mailboxes
# before those of the page.
_COLUMNS = """
    u.id, u.display_name, u.user_principal_name, u.mail, u.user_type, u.account_enabled, u.manager_id,
    u.last_seen_at,
    u.properties::text AS properties, m.created_at, m.aliases, m.contact::text AS contact, m.is_hidden,
    m.extensions::text AS extensions
"""
_SOURCE = """
    directory.users u LEFT JOIN LATERAL (
        SELECT b.created_at, b.aliases, b.contact, b.is_hidden, b.extensions
        FROM directory.mailboxes b WHERE b.tenant_id = $1 AND b.user_id = u.id LIMIT 1
    ) AS m ON true
WHERE u.tenant_id = $1
"""
_USERS = f"SELECT {_COLUMNS} FROM {_SOURCE}"  # noqa: S608 - fixed pieces.
ONE_USER = f"{_USERS} AND u.id = $2"
USERS_BY_ID = f"{_USERS} AND u.id = ANY ($2::uuid[])"
_OWNER = "SELECT a.holder_id FROM directory.addresses a WHERE a.tenant_id = $1 AND a.address = lower($2)"
_BY_ADDRESS = f"{_USERS} AND u.id IN ({_OWNER}) AND lower(u.user_principal_name) = lower($2)"

USER_LISTING = Listing(
    kind="User",
    columns=_COLUMNS,
    source=_SOURCE,
    counted="directory.users u WHERE u.tenant_id = $1",
    visible="NOT EXISTS (SELECT FROM directory.mailboxes b "
    "WHERE b.tenant_id = $1 AND b.user_id = u.id AND b.created_at > {})",
    subject=USERS,
    vocabulary=Vocabulary(frozenset(USERS.columns), frozenset({"proxyAddresses"})),
    keys={
        "displayName": SortKey('lower(u.display_name) COLLATE "C"'),
        "mail": SortKey('lower(u.mail) COLLATE "C"', may_lack=True),
        "userPrincipalName": SortKey('lower(u.user_principal_name) COLLATE "C"'),
    },
)


ReadUsers = Callable[[Call, Listing, Query], Awaitable[Page]]


async def list_users(call: Call, listing: Listing = USER_LISTING, *, read: ReadUsers = fetch_page) -> Shape:
    """List the users of a listing that match the filter.

    They are sorted by id unless the query has an order.
    """
    options = read_options(call.query_string, known=_LIST_OPTIONS)
    check_select(options, PROPERTIES, "user")
    page = await read(call, listing, read_query(call, listing, options))
    mailboxes = await read_own_properties(call, (MAILBOX,), options, page.rows)
    assigned = await read_assigned(call, options, page.rows)
    context = context_of(call.root, "users", options)
    return shape_of_page(
        call,
        page,
        context,
        lambda row: _selected(call, with_own({**_shape(row), **assigned.get(row["id"], {})}, mailboxes), options),
    )


async def find_user(call: Call) -> Row:
    """Fetch the user in the path. Raises NotThere."""
    async with call.connected() as connection:
        return await fetch_user(call, connection)


async def get_user(call: Call, *, read: Callable[[Call], Awaitable[Row]] = find_user) -> Shape:
    """Return one user."""
    options = read_options(call.query_string, known=_ENTITY_OPTIONS)
    check_select(options, PROPERTIES, "user")
    row = await read(call)
    mailboxes = await read_own_properties(call, (MAILBOX,), options, [row])
    assigned = await read_assigned(call, options, [row])
    context = context_of(call.root, "users", options, "/$entity")
    shape = with_own({**_shape(row), **assigned.get(row["id"], {})}, mailboxes)
    return {"@odata.context": context, **_selected(call, shape, options)}


def shape_user(call: Call, row: Row, options: Options) -> Shape:
    """Encode the selected properties of a user."""
    return _selected(call, _shape(row), options)


async def fetch_user(call: Call, connection: Connection) -> Row:
    """Fetch the user in the path over this connection. Raises NotThere."""
    return await call.fetch_by_name(connection, by_id=ONE_USER, by_address=_BY_ADDRESS)


def properties_of(row: Row) -> Mapping[str, str]:
    """Decode the user properties in the JSON column."""
    return msgspec.json.decode(row["properties"], type=dict[str, str])


def default_shape(row: Row, business_phones: Sequence[str] = ()) -> Shape:
    """Encode the default properties of a user, in the order of Graph."""
    properties = properties_of(row)
    return {
        "businessPhones": list(business_phones),
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
    }


def _shape(row: Row) -> Shape:
    properties = properties_of(row)
    return {
        **default_shape(row, contact_of(row).business_phones),
        **{name: properties.get(name) for name in _FURTHER},
        "accountEnabled": row["account_enabled"],
        "createdDateTime": None if row["created_at"] is None else written_time(row["created_at"]),
        "mailNickname": row["user_principal_name"].partition("@")[0],
        "proxyAddresses": proxy_addresses(row),
        "showInAddressList": not row["is_hidden"],
        "signInActivity": None
        if row["last_seen_at"] is None
        else {"lastSignInDateTime": written_time(row["last_seen_at"])},
        "userType": row["user_type"],
        **msgspec.json.decode(row["extensions"] or "{}", type=dict[str, dict[str, str]]),
    }


_FURTHER = (
    "city", "companyName", "country", "department", "employeeId", "postalCode", "state", "streetAddress",
    "usageLocation",
)  # fmt: skip
_SELECTED_BY_DEFAULT = frozenset(
    {
        "businessPhones", "displayName", "givenName", "jobTitle", "mail", "mobilePhone", "officeLocation",
        "preferredLanguage", "surname", "userPrincipalName", "id",
    }
)  # fmt: skip
PROPERTIES = _SELECTED_BY_DEFAULT.union(
    _FURTHER,
    ASSIGNED,
    {
        "accountEnabled",
        "createdDateTime",
        "mailNickname",
        "proxyAddresses",
        "showInAddressList",
        "signInActivity",
        "userType",
    },
)


def _selected(call: Call, user: Shape, options: Options) -> Shape:
    if options.select is None:
        # Extension attributes are always included, as for groups, unless the call is strict.
        return {
            name: value
            for name, value in user.items()
            if name in _SELECTED_BY_DEFAULT or ("_" in name and not call.is_strict)
        }
    return {name: user[name] for name in options.select if name in user}


async def list_licenses(call: Call) -> Shape:
    """List the licences of the user, with their service plans."""
    read_options(call.query_string)
    async with call.connected() as connection:
        user = await fetch_user(call, connection)
        rows = await connection.fetch(SQL["licenses"], call.tenant_id, user["id"])
    return {
        "@odata.context": f"{call.root}/$metadata#users('{user['id']}')/licenseDetails",
        "value": [
            {
                # Licences have no stored id; the name is unique for the user.
                "id": str(uuid5(user["id"], row["sku_part_number"])),
                "skuId": str(product_id(row["sku_part_number"])),
                "skuPartNumber": row["sku_part_number"],
                "servicePlans": [
                    {
                        "servicePlanId": str(plan_id(name)),
                        "servicePlanName": name,
                        "provisioningStatus": status,
                        "appliesTo": "User",
                    }
                    for name, status in zip(row["plans"], row["statuses"], strict=True)
                ],
            }
            for row in rows
        ],
    }


_PURPOSES: Mapping[str, str] = MappingProxyType(
    {"SharedMailbox": "shared", "RoomMailbox": "room", "EquipmentMailbox": "equipment"}
)


async def get_mailbox_settings(call: Call) -> Shape:
    """Return the settings of a user's mailbox.

    `mailbox` contains the properties that Graph does not have. A strict call does not return it.
    """
    read_options(call.query_string)
    async with call.connected() as connection:
        user = await fetch_user(call, connection)
        mailbox = await connection.fetchrow(SQL["mailbox"], call.tenant_id, user["id"])
        details = {} if call.is_strict else await fetch_mailboxes(call, connection, [user])
    reply = None if mailbox is None else mailbox["automatic_reply"]
    settings: Shape = {
        "@odata.context": f"{call.root}/$metadata#users('{user['id']}')/mailboxSettings",
        "automaticRepliesSetting": {
            "status": "disabled" if reply is None else "alwaysEnabled",
            "externalAudience": "all",
            "internalReplyMessage": reply or "",
            "externalReplyMessage": reply or "",
        },
        "userPurpose": "user" if mailbox is None else _PURPOSES[mailbox["recipient_type"]],
    }
    return settings if call.is_strict else {**settings, "mailbox": details.get(user["id"])}
