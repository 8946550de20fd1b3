"""`/users`, `/users/{id}` and `/me`: users as Graph shows them; a mailbox that several share has a user too."""

from collections.abc import Mapping
from typing import TypeAlias

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import Connection, one_tenant
from chamberlain.embedded.directory.entries import Contact
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Shape, nothing
from chamberlain.embedded.directory.graph.conditions import USERS
from chamberlain.embedded.directory.graph.filters import Vocabulary
from chamberlain.embedded.directory.graph.options import Options, read_options
from chamberlain.embedded.directory.graph.orders import SortKey
from chamberlain.embedded.directory.graph.pages import Listing, count_entries, fetch_page, read_query, shape_of_page
from chamberlain.embedded.directory.graph.times import written_time

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
