# SPDX-License-Identifier: Apache-2.0
"""Read groups and users of the Graph surface through a port."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import msgspec

from chamberlain.core.directory_filters import Equals, Filter, Path
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.lookups import Found, FoundGroup, FoundUser, Related, Relation, Search, Slice
from chamberlain.directory.port import Lookups
from chamberlain.embedded.directory.errors import BadQuery, Unreachable
from chamberlain.embedded.directory.graph import relations
from chamberlain.embedded.directory.graph.calls import Call, NotThere, Row
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.embedded.directory.graph.paging import Listing, Page, Query, page_of
from chamberlain.embedded.directory.graph.remote import Reader

Entry = TypeVar("Entry")

# The operator of the directory has to change something there, as for a broken connection.
_REPAIRED_AFTER = timedelta(minutes=1)


class PortReader(Reader):
    """Reads groups and users of one tenant as rows of the tables."""

    def __init__(self, lookups: Lookups, tenant_id: TenantId) -> None:
        self._lookups = lookups
        self._tenant_id = tenant_id

    async def groups(self, call: Call, query: Query) -> Page:
        """Read a page of groups."""
        with _faults():
            found = await self._lookups.groups(self._tenant_id, _search(query))
        return _page(call, query, Found([_group_row(each) for each in found.entries], found.total))

    async def group(self, call: Call) -> Row:
        """Read the group in the path. Raises NotThere."""
        with _faults():
            found = await self._lookups.groups(self._tenant_id, _one(call, "id", str(call.id)))
        return _group_row(_only(call, found))

    async def related(self, call: Call, relation: relations.Relation, query: Query) -> Page:
        """Read a page of owners or members. Raises NotThere."""
        if call.id is None:
            raise _missing(call)
        kind = Relation.OWNERS if relation is relations.OWNERS else Relation.MEMBERS
        with _faults():
            found = await self._lookups.related(self._tenant_id, GroupId(call.id), kind, _slice(query))
        if found is None:
            raise _missing(call)
        return _page(call, query, Found([_related_row(each) for each in found.entries], found.total))

    async def users(self, call: Call, listing: Listing, query: Query) -> Page:  # noqa: ARG002 - all users.
        """Read a page of users."""
        with _faults():
            found = await self._lookups.users(self._tenant_id, _search(query))
        return _page(call, query, Found([_user_row(each) for each in found.entries], found.total))

    async def user(self, call: Call) -> Row:
        """Read the user in the path. Raises NotThere."""
        is_named = call.id is None
        search = _one(call, "userPrincipalName" if is_named else "id", str(call.address if is_named else call.id))
        with _faults():
            found = await self._lookups.users(self._tenant_id, search)
        return _user_row(_only(call, found))


@contextmanager
def _faults() -> Iterator[None]:
    """Translate the faults of the port to those of the surface."""
    try:
        yield
    except TryAgain as fault:
        raise Unreachable(fault.because.sentence, fault.after) from fault
    except Rejected as fault:
        if fault.code == "filterNotSupported":
            raise BadQuery("Request_UnsupportedQuery", fault.detail) from fault
        raise Unreachable(fault.detail, _REPAIRED_AFTER) from fault


def _search(query: Query) -> Search:
    if query.order is not None:
        raise BadQuery("Request_UnsupportedQuery", "This directory sorts by id only. Leave '$orderby' out.")
    if query.search:
        raise BadQuery("Request_UnsupportedQuery", "This directory has no '$search'. Use '$filter'.")
    # A list without a filter is not served.
    wanted: Filter = Equals(Path(None, "id"), ()) if query.filter is None else query.filter
    return Search(wanted, _slice(query), frozenset(query.options.select or ()))


def _slice(query: Query) -> Slice:
    """Return the entries of a page and one more.

    The latter means that there is a next page.
    """
    return Slice(query.options.top + 1, None if query.after is None else query.after.id)


def _one(call: Call, name: str, value: str) -> Search:
    options = read_options(call.query_string, known=frozenset({"$select"}))
    return Search(Equals(Path(None, name), (value,)), Slice(1), frozenset(options.select or ()))


def _page(call: Call, query: Query, found: Found[dict[str, object]]) -> Page:
    return page_of(call, query, found.entries, found.total if query.counts(call) else None)


def _only(call: Call, found: Found[Entry]) -> Entry:
    if not found.entries:
        raise _missing(call)
    return found.entries[0]


def _missing(call: Call) -> NotThere:
    return NotThere("Request_ResourceNotFound", f"Resource '{call.id or call.address}' does not exist.")


def _group_row(group: FoundGroup) -> dict[str, object]:
    is_dynamic = group.member_ship_type is MemberShipType.DYNAMIC
    has_mail = group.mail is not None
    return {
        "id": group.id,
        "created_at": group.created_at,
        "display_name": group.display_name,
        "description": group.description,
        "mail": group.mail,
        "mail_nickname": group.mail_nickname,
        "visibility": "Public" if group.member_ship_type is MemberShipType.PUBLIC else "Private",
        "group_types": [*(["Unified"] if has_mail else []), *(["DynamicMembership"] if is_dynamic else [])],
        "membership_rule": group.membership_rule,
        "mail_enabled": has_mail,
        "security_enabled": not has_mail,
        "label_id": None,
        "label_name": None,
        "extensions": _json(group.extensions),
        "is_team": group.is_team,
    }


def _user_row(user: FoundUser) -> dict[str, object]:
    return {
        "id": user.id,
        "display_name": user.display_name,
        "user_principal_name": user.user_name,
        "mail": user.mail,
        "user_type": "Guest" if user.is_guest else "Member",
        "account_enabled": user.can_sign_in,
        "last_seen_at": user.last_seen_at,
        "properties": _json(user.properties),
        "created_at": user.created_at,
        "aliases": user.aliases,
        "contact": _json({"businessPhones": user.business_phones}),
        "is_hidden": user.is_hidden,
        "extensions": _json(user.extensions),
    }


def _related_row(related: Related) -> dict[str, object]:
    if isinstance(related, FoundUser):
        return {**_user_row(related), "is_group": False}
    return {**_group_row(related), "is_group": True}


def _json(values: object) -> str:
    return msgspec.json.encode(values).decode()
