# SPDX-License-Identifier: Apache-2.0
"""Finds groups and users for clients of the directory.

Graph neither sorts by id nor starts a page after one. So all matches are read, and the entries of the slice are kept.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from heapq import nsmallest
from typing import Any, Final
from uuid import UUID

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.membership_rules import FURTHER
from chamberlain.core.text import clean_line
from chamberlain.directory.lookups import Found, FoundGroup, FoundUser, Related, Relation, Search, Slice
from chamberlain.directory.microsoft365.calls import groups as group_calls
from chamberlain.directory.microsoft365.calls import people as people_calls
from chamberlain.directory.microsoft365.members import chunks
from chamberlain.directory.microsoft365.objects import marks_of, parse_group
from chamberlain.directory.microsoft365.searches import Condition, Translated, extensions_in, translate
from chamberlain.directory.microsoft365.wire.faults import PermissionMissing, Refused
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.port import Lookups

Object = Mapping[str, Any]
Pages = AsyncIterator[Sequence[Object]]

_ACTIVITY: Final = "signInActivity"
USER_PROPERTIES: Final = (
    "id", "displayName", "userPrincipalName", "mail", "userType", "accountEnabled", "createdDateTime",
    "proxyAddresses", "businessPhones", "showInAddressList", *FURTHER,
)  # fmt: skip
_USER_SELECTION: Final = ",".join(USER_PROPERTIES)
# The code for a query that Graph does not support, such as one of too many clauses (aad-advanced-queries.md).
_UNSUPPORTED: Final = "Request_UnsupportedQuery"


class GraphLookups(Lookups):
    """The groups and users of one tenant."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    async def groups(self, tenant_id: TenantId, search: Search) -> Found[FoundGroup]:  # noqa: ARG002 - one tenant.
        """Find groups.

        Their marks are those of the extensions in the filter and the selection.
        """
        extensions = {*extensions_in(search.filter), *(each for each in search.selected if "_" in each)}
        return await self._groups(search, frozenset(extensions))

    async def _groups(self, search: Search, extensions: frozenset[str]) -> Found[FoundGroup]:
        try:
            found = await _found(
                translate(search.filter, extensions),
                lambda condition: group_calls.group_pages(self._graph, condition, sorted(extensions)),
                search.slice,
            )
        except Refused as refused:
            unknown = {each for each in extensions if f"'{each}'" in refused.message}
            if not unknown or not refused.says("unknownProperty"):
                raise
            # No program has registered this extension, so nothing has its marks.
            return await self._groups(search, extensions - unknown)
        return Found([found_group(each, extensions) for each in found.entries], found.total)

    async def users(self, tenant_id: TenantId, search: Search) -> Found[FoundUser]:  # noqa: ARG002 - one tenant.
        """Find users. Accounts of mailboxes are users."""
        found = await _found(
            # The extension of a mailbox is no part of Graph.
            translate(search.filter, ()),
            lambda condition: people_calls.user_pages(self._graph, condition, select=_USER_SELECTION),
            search.slice,
        )
        seen: Sequence[datetime | None] = [None] * len(found.entries)
        if _ACTIVITY in search.selected:
            seen = await asyncio.gather(*[self._last_seen(UserId(UUID(each["id"]))) for each in found.entries])
        return Found([found_user(each, at) for each, at in zip(found.entries, seen, strict=True)], found.total)

    async def related(
        self,
        tenant_id: TenantId,  # noqa: ARG002 - one tenant.
        group_id: GroupId,
        relation: Relation,
        part: Slice,
    ) -> Found[Related] | None:
        """List the owners, or direct members, of a group.

        Devices, contacts and applications are left out.
        """
        read = group_calls.list_owners if relation is Relation.OWNERS else group_calls.list_members
        try:
            listed = await read(self._graph, group_id)
        except Refused as refused:
            if refused.is_missing:
                return None
            raise
        type_by_id = {UUID(each["id"]): str(each.get("@odata.type", "user")).rpartition(".")[2] for each in listed}
        left = {each for each, type_ in type_by_id.items() if type_ in {"user", "group"}}
        while True:
            ids = _sliced(left, part)
            users, groups = await asyncio.gather(
                self._users_by_id([each for each in ids if type_by_id[each] == "user"]),
                self._groups_by_id([each for each in ids if type_by_id[each] == "group"]),
            )
            related: Sequence[Related] = [*users, *groups]
            known: Mapping[UUID, Related] = {each.id: each for each in related}
            if len(known) == len(ids):
                return Found([known[each] for each in ids], len(left))
            # Fewer entries than the limit would mean that there are no more.
            left -= {each for each in ids if each not in known}

    async def _users_by_id(self, ids: Sequence[UUID]) -> Sequence[FoundUser]:
        found = await asyncio.gather(
            *[
                people_calls.users_by_id(self._graph, [UserId(each) for each in part], select=_USER_SELECTION)
                for part in chunks(ids, group_calls.MOST_CLAUSES)
            ]
        )
        return [found_user(each) for part in found for each in part]

    async def _groups_by_id(self, ids: Sequence[UUID]) -> Sequence[FoundGroup]:
        found = await asyncio.gather(
            *[
                group_calls.groups_by_id(self._graph, [GroupId(each) for each in part])
                for part in chunks(ids, group_calls.MOST_CLAUSES)
            ]
        )
        return [found_group(each) for part in found for each in part]

    async def _last_seen(self, user_id: UserId) -> datetime | None:
        try:
            return await people_calls.get_activity(self._graph, user_id)
        except PermissionMissing:
            # The permission is optional, and needs a premium licence.
            return None


async def _found(wanted: Translated, read: Callable[[Condition | None], Pages], part: Slice) -> Found[Object]:
    """Read all matches, and keep those of the slice."""
    if wanted is False:
        return Found((), 0)
    total = 0
    kept: Sequence[Object] = ()
    try:
        async for page in read(wanted if isinstance(wanted, Condition) else None):
            total += len(page)
            later = (each for each in page if part.after is None or UUID(each["id"]) > part.after)
            kept = nsmallest(part.limit, (*kept, *later), key=lambda each: UUID(each["id"]))
    except Refused as refused:
        if refused.graph_code == _UNSUPPORTED:
            sentence = f"Microsoft 365 does not support this filter: {refused.message}"
            raise Rejected("filterNotSupported", sentence) from refused
        raise
    return Found(kept, total)


def _sliced(ids: Collection[UUID], part: Slice) -> list[UUID]:
    return nsmallest(part.limit, [each for each in ids if part.after is None or each > part.after])


def found_group(found: Object, extensions: Collection[str] = ()) -> FoundGroup:
    """Convert a group."""
    group = parse_group(found, "")
    marks = {name: marks_of(found.get(name)) for name in extensions}
    return FoundGroup(
        id=group.id,
        display_name=group.display_name,
        mail=group.mail,
        mail_nickname=group.mail_nickname,
        description=group.description,
        member_ship_type=group.member_ship_type,
        membership_rule=found.get("membershipRule"),
        is_team=group.is_team,
        created_at=_time(found),
        extensions={name: values for name, values in marks.items() if values},
    )


def found_user(found: Object, last_seen_at: datetime | None = None) -> FoundUser:
    """Convert a user."""
    mail = _line(found, "mail")
    addresses = [str(each) for each in found.get("proxyAddresses") or ()]
    return FoundUser(
        id=UserId(UUID(found["id"])),
        display_name=_line(found, "displayName") or "",
        user_name=_line(found, "userPrincipalName") or "",
        mail=mail,
        is_guest=found.get("userType") == "Guest",
        can_sign_in=found.get("accountEnabled") is not False,
        is_hidden=found.get("showInAddressList") is False,
        # The primary address has its kind in capital letters.
        aliases=tuple([clean_line(each.removeprefix("smtp:")) for each in addresses if each.startswith("smtp:")]),
        business_phones=tuple(map(clean_line, found.get("businessPhones") or ())),
        created_at=_time(found),
        last_seen_at=last_seen_at,
        properties={name: text for name in FURTHER if (text := _line(found, name)) is not None},
    )


def _line(found: Object, name: str) -> str | None:
    value = found.get(name)
    return None if value is None else clean_line(value)


def _time(found: Object) -> datetime | None:
    value = found.get("createdDateTime")
    return None if value is None else datetime.fromisoformat(value)
