# SPDX-License-Identifier: Apache-2.0
"""Calls for groups and their members."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from chamberlain.core.ids import GroupId, RequestId, UserId
from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.objects import GROUP_PROPERTIES, Group, parse_group
from chamberlain.directory.microsoft365.operations import Operation, text
from chamberlain.directory.microsoft365.searches import Condition, headers_of, query_of
from chamberlain.directory.microsoft365.wire.faults import Answer, Refused
from chamberlain.directory.microsoft365.wire.graph import Graph

# "You can add up to 20 members in a single request" (group-post-members.md); owners and members of a new group together
# (group-post-groups.md).
MOST_REFERENCES: Final = 20
_PAGE: Final = "999"
_ADVANCED: Final = {"ConsistencyLevel": "eventual"}
# Graph serves other requests first (throttling.md, "x-ms-throttle-priority").
_LOW: Final = {known.PRIORITY: "low"}
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
# The properties of a group for clients.
_LOOKUP: Final = (*GROUP_PROPERTIES, "membershipRule", "createdDateTime")
# Clauses of a filter with `or` (aad-advanced-queries.md).
MOST_CLAUSES: Final = 15


def unique_name(request_id: RequestId) -> str:
    """Return the alternate key of the group of a request."""
    return f"chamberlain-{request_id}"


async def get_group(graph: Graph, group_id: GroupId, extension: str) -> Group | None:
    """GET /groups/{id}. GroupMember.Read.All."""
    return await _get(graph, known.GET_GROUP, group_id, extension)


async def read_group(graph: Graph, group_id: GroupId, extension: str) -> Mapping[str, Any] | None:
    """GET /groups/{id}, unparsed, for discovery. GroupMember.Read.All."""
    return await _read(graph, known.GET_GROUP, group_id, extension, _LOW)


async def get_named_group(graph: Graph, request_id: RequestId, extension: str) -> Group | None:
    """GET /groups(uniqueName='…'). GroupMember.Read.All."""
    return await _get(graph, known.GET_NAMED_GROUP, unique_name(request_id), extension)


async def find_marked_groups(graph: Graph, request_id: RequestId, extension: str) -> Sequence[Group]:
    """GET /groups?$filter=<extension>/requestId eq '…'. GroupMember.Read.All.

    The index of filters lags behind. Groups are in the order of their ids.
    """
    condition = f"{extension}/requestId eq {text(request_id)}"
    query = {"$filter": condition, "$select": _selection(extension)}
    try:
        found = await graph.all(known.LIST_GROUPS.request(query=query))
    except Refused as refused:
        if refused.says("unknownProperty"):
            return ()
        raise
    return sorted((parse_group(each, extension) for each in found), key=lambda group: group.id)


async def find_groups_by_nickname(graph: Graph, nickname: str, extension: str) -> Sequence[Group]:
    """GET /groups?$filter=mailNickname eq '…'. GroupMember.Read.All.

    The index of filters lags behind.
    """
    query = {"$filter": f"mailNickname eq {text(nickname)}", "$select": _selection(extension)}
    return [parse_group(each, extension) for each in await graph.all(known.LIST_GROUPS.request(query=query))]


async def known_groups(graph: Graph, group_ids: Collection[GroupId]) -> frozenset[str]:
    """GET /groups?$filter=id in (…), for at most MOST_CLAUSES ids. GroupMember.Read.All."""
    condition = f"id in ({','.join(text(each) for each in group_ids)})"
    found = await graph.all(known.LIST_GROUPS.request(query={"$filter": condition, "$select": "id"}))
    return frozenset(each["id"] for each in found)


def group_pages(
    graph: Graph, condition: Condition | None, extensions: Collection[str]
) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
    """GET /groups?$filter=…, with values of extensions, in pages. GroupMember.Read.All."""
    query = {"$select": ",".join((*_LOOKUP, *extensions)), "$top": _PAGE}
    return graph.pages(known.LIST_GROUPS.request(query=query | query_of(condition), headers=headers_of(condition)))


async def groups_by_id(graph: Graph, group_ids: Collection[GroupId]) -> Sequence[Mapping[str, Any]]:
    """GET /groups?$filter=id in (…), for at most MOST_CLAUSES ids. GroupMember.Read.All."""
    condition = f"id in ({','.join(text(each) for each in group_ids)})"
    query = {"$filter": condition, "$select": ",".join(_LOOKUP)}
    return await graph.all(known.LIST_GROUPS.request(query=query))


async def groups_with_addresses(graph: Graph, condition: str) -> Sequence[Mapping[str, Any]]:
    """GET /groups?$filter=proxyAddresses/any(…). GroupMember.Read.All."""
    query = {"$filter": condition, "$select": "id,proxyAddresses"}
    return await graph.all(known.LIST_GROUPS.request(query=query))


async def upsert_group(graph: Graph, request_id: RequestId, body: Mapping[str, Any], extension: str) -> Group | None:
    """PATCH /groups(uniqueName='…') with create-if-missing. Group.ReadWrite.All.

    Returns the created group, or None if it exists.
    """
    headers = {"Prefer": "create-if-missing"}
    answer = await graph.call(known.UPSERT_GROUP.request(unique_name(request_id), body=body, headers=headers))
    if answer.status != 201:
        return None
    # Graph returns no extension values here.
    return parse_group({**answer.body, extension: body.get(extension)}, extension)


async def create_group(graph: Graph, body: Mapping[str, Any], extension: str) -> Group:
    """POST /groups. Group.ReadWrite.All."""
    answer = await graph.call(known.CREATE_GROUP.request(body=body))
    # Graph returns no extension values here.
    return parse_group({**answer.body, extension: body.get(extension)}, extension)


async def name_group(graph: Graph, group_id: GroupId, request_id: RequestId) -> None:
    """PATCH /groups/{id} with the unique name of a request. Group.ReadWrite.All.

    It can be set once.
    """
    await update_group(graph, group_id, {"uniqueName": unique_name(request_id)})


async def update_group(graph: Graph, group_id: GroupId, body: Mapping[str, Any]) -> None:
    """PATCH /groups/{id}. Group.ReadWrite.All."""
    await graph.call(known.UPDATE_GROUP.request(group_id, body=body))


async def list_members(graph: Graph, group_id: GroupId) -> Sequence[Mapping[str, Any]]:
    """GET /groups/{id}/members, with the type of each. GroupMember.Read.All."""
    return await graph.all(known.LIST_MEMBERS.request(group_id, query={"$select": "id", "$top": _PAGE}))


async def list_guests(graph: Graph, group_id: GroupId) -> Sequence[Mapping[str, Any]]:
    """GET /groups/{id}/members/microsoft.graph.user?$filter=userType eq 'Guest'. GroupMember.Read.All, User.Read.All.

    A filter of members is an advanced query.
    """
    query = {
        "$filter": "userType eq 'Guest'",
        "$count": "true",
        "$select": "id,displayName,mail,userType",
        "$top": _PAGE,
    }
    return await graph.all(known.LIST_MEMBER_USERS.request(group_id, query=query, headers=_ADVANCED))


async def list_all_users(graph: Graph, group_id: GroupId) -> Sequence[Mapping[str, Any]]:
    """GET /groups/{id}/transitiveMembers/microsoft.graph.user. GroupMember.Read.All."""
    query = {"$select": "id,displayName", "$top": _PAGE}
    return await graph.all(known.LIST_ALL_USERS.request(group_id, query=query))


async def list_owners(graph: Graph, group_id: GroupId) -> Sequence[Mapping[str, Any]]:
    """GET /groups/{id}/owners/microsoft.graph.user. GroupMember.Read.All."""
    query = {"$select": "id,displayName,mail,userType", "$top": _PAGE}
    return await graph.all(known.LIST_OWNERS.request(group_id, query=query))


def bound(graph: Graph, users: Iterable[UserId]) -> list[str]:
    """Return references to users."""
    return [f"{graph.base}/users/{each}" for each in users]


async def bind_members(graph: Graph, group_id: GroupId, users: Collection[UserId]) -> None:
    """PATCH /groups/{id} with members@odata.bind, at most MOST_REFERENCES. Group.ReadWrite.All.

    It fails as a whole if one of them is a member.
    """
    await update_group(graph, group_id, {"members@odata.bind": bound(graph, users)})


async def add_member(graph: Graph, group_id: GroupId, user_id: UserId) -> None:
    """POST /groups/{id}/members/$ref. Group.ReadWrite.All. A present member stays."""
    await _add(graph, known.ADD_MEMBER, group_id, user_id)


async def add_owner(graph: Graph, group_id: GroupId, user_id: UserId) -> None:
    """POST /groups/{id}/owners/$ref. Group.ReadWrite.All. A present owner stays."""
    await _add(graph, known.ADD_OWNER, group_id, user_id)


async def remove_member(graph: Graph, group_id: GroupId, user_id: UserId) -> None:
    """DELETE /groups/{id}/members/{id}/$ref. Group.ReadWrite.All."""
    await graph.call(known.REMOVE_MEMBER.request(group_id, user_id))


async def remove_owner(graph: Graph, group_id: GroupId, user_id: UserId) -> None:
    """DELETE /groups/{id}/owners/{id}/$ref. Group.ReadWrite.All."""
    await graph.call(known.REMOVE_OWNER.request(group_id, user_id))


async def read_changes(graph: Graph, extension: str) -> Answer:
    """GET /groups/delta: the first page of all groups. GroupMember.Read.All.

    `$select` defines the tracked changes; `$top` is not supported. Whether Graph tracks extensions is not published.
    """
    tracked = (*(each for each in GROUP_PROPERTIES if each != "uniqueName"), "members", "owners")
    query = {"$select": ",".join((*tracked, extension) if extension else tracked)}
    try:
        return await graph.call(known.LIST_CHANGES.request(query=query, headers=_LOW))
    except Refused as refused:
        if extension and refused.says("unknownProperty"):
            return await read_changes(graph, "")
        raise


async def follow_changes(graph: Graph, link: str) -> Answer:
    """GET the link of an earlier page of /groups/delta. GroupMember.Read.All."""
    return await graph.call(graph.following(known.LIST_CHANGES.request(headers=_LOW), link))


async def _get(graph: Graph, operation: Operation, key: object, extension: str) -> Group | None:
    found = await _read(graph, operation, key, extension)
    return None if found is None else parse_group(found, extension)


async def _read(
    graph: Graph, operation: Operation, key: object, extension: str, headers: Mapping[str, str] = _NO_HEADERS
) -> Mapping[str, Any] | None:
    try:
        answer = await graph.call(operation.request(key, query={"$select": _selection(extension)}, headers=headers))
    except Refused as refused:
        if refused.is_missing:
            return None
        if extension and refused.says("unknownProperty"):
            # No program has registered this extension, so nothing has its marks.
            return await _read(graph, operation, key, "", headers)
        raise
    return answer.body


def _selection(extension: str) -> str:
    return ",".join((*GROUP_PROPERTIES, extension) if extension else GROUP_PROPERTIES)


async def _add(graph: Graph, operation: Operation, group_id: GroupId, user_id: UserId) -> None:
    reference = f"{graph.base}/directoryObjects/{user_id}"
    try:
        await graph.call(operation.request(group_id, body={"@odata.id": reference}))
    except Refused as refused:
        if not refused.says("alreadyAdded"):
            raise
