# SPDX-License-Identifier: Apache-2.0
"""Calls for users and contacts."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from chamberlain.core.ids import GroupId, UserId
from chamberlain.core.membership_rules import FURTHER
from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.operations import text
from chamberlain.directory.microsoft365.searches import Condition, headers_of, query_of
from chamberlain.directory.microsoft365.wire.faults import Refused
from chamberlain.directory.microsoft365.wire.graph import Graph

USER_PROPERTIES: Final = (
    "id", "displayName", "mail", "userPrincipalName", "userType", "accountEnabled", "assignedPlans", *FURTHER,
)  # fmt: skip
# "You can check up to a maximum of 20 groups per request" (directoryobject-checkmembergroups.md).
MOST_CHECKED: Final = 20
_ADVANCED: Final = {"ConsistencyLevel": "eventual"}
# A caller waits (throttling.md, "x-ms-throttle-priority").
_HIGH: Final = {known.PRIORITY: "high"}
_SELECTION: Final = ",".join(USER_PROPERTIES)


async def users_by_id(
    graph: Graph, user_ids: Collection[UserId], *, select: str = _SELECTION
) -> Sequence[Mapping[str, Any]]:
    """GET /users?$filter=id in (…), at most 15 ids. User.Read.All."""
    condition = f"id in ({','.join(text(each) for each in user_ids)})"
    query = {"$filter": condition, "$select": select}
    return await graph.all(known.LIST_USERS.request(query=query, headers=_HIGH))


def user_pages(graph: Graph, condition: Condition | None, *, select: str) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
    """GET /users?$filter=…, in pages. User.Read.All."""
    query = {"$select": select, "$top": "999"} | query_of(condition)
    return graph.pages(known.LIST_USERS.request(query=query, headers={**headers_of(condition), **_HIGH}))


async def users_with_addresses(graph: Graph, condition: str) -> Sequence[Mapping[str, Any]]:
    """GET /users?$filter=proxyAddresses/any(…). User.Read.All."""
    query = {"$filter": condition, "$select": "id,proxyAddresses"}
    return await graph.all(known.LIST_USERS.request(query=query, headers=_HIGH))


async def contacts_with_addresses(graph: Graph, condition: str) -> Sequence[Mapping[str, Any]]:
    """GET /contacts?$filter=proxyAddresses/any(…). OrgContact.Read.All."""
    query = {"$filter": condition, "$select": "id,proxyAddresses"}
    return await graph.all(known.LIST_CONTACTS.request(query=query, headers=_HIGH))


async def search_users(graph: Graph, word: str) -> Sequence[Mapping[str, Any]]:
    """GET /users?$search=…, one page. User.Read.All.

    Words of display names match by their beginning, other properties by theirs.
    """
    clauses = [f'"{name}:{word}"' for name in ("displayName", "mail", "userPrincipalName")]
    query = {"$search": " OR ".join(clauses), "$select": _SELECTION, "$count": "true", "$top": "999"}
    request = known.LIST_USERS.request(query=query, headers={**_ADVANCED, **_HIGH})
    answer = await graph.call(request)
    found: Sequence[Mapping[str, Any]] = answer.body["value"]
    return found


async def count_users(graph: Graph) -> int:
    """GET /users?$count=true, one user. User.Read.All."""
    query = {"$count": "true", "$select": "id", "$top": "1"}
    answer = await graph.call(known.LIST_USERS.request(query=query, headers=_ADVANCED))
    return int(answer.body.get("@odata.count", 0))


async def get_user(graph: Graph, user_id: UserId) -> Mapping[str, Any] | None:
    """GET /users/{id}. User.Read.All."""
    try:
        answer = await graph.call(known.GET_USER.request(user_id, query={"$select": "id,displayName,userType"}))
    except Refused as refused:
        if refused.is_missing:
            return None
        raise
    return answer.body


async def get_activity(graph: Graph, user_id: UserId) -> datetime | None:
    """GET /users/{id}?$select=signInActivity. AuditLog.Read.All, and a premium licence.

    A list of members has no activity. A user who never signed in has none either.
    """
    try:
        answer = await graph.call(known.GET_ACTIVITY.request(user_id, query={"$select": "id,signInActivity"}))
    except Refused as refused:
        if refused.is_missing:
            return None
        raise
    activity = answer.body.get("signInActivity") or {}
    times = [activity.get(name) for name in ("lastSignInDateTime", "lastNonInteractiveSignInDateTime")]
    return max((datetime.fromisoformat(each) for each in times if each), default=None)


async def get_manager(graph: Graph, user_id: UserId) -> Mapping[str, Any] | None:
    """GET /users/{id}/manager. User.Read.All."""
    try:
        answer = await graph.call(
            known.GET_MANAGER.request(user_id, query={"$select": "id,displayName"}, headers=_HIGH)
        )
    except Refused as refused:
        if refused.is_missing:
            return None
        raise
    return answer.body


async def check_groups(graph: Graph, user_id: UserId, group_ids: Sequence[GroupId]) -> frozenset[str]:
    """POST /users/{id}/checkMemberGroups, at most MOST_CHECKED groups. GroupMember.Read.All and User.Read.All.

    Nested groups count.
    """
    body = {"groupIds": [str(each) for each in group_ids]}
    try:
        answer = await graph.call(known.CHECK_GROUPS.request(user_id, body=body, headers=_HIGH))
    except Refused as refused:
        if refused.is_missing:
            return frozenset()
        raise
    return frozenset(answer.body["value"])


async def disable_user(graph: Graph, user_id: UserId) -> None:
    """PATCH /users/{id} with accountEnabled. User.EnableDisableAccount.All."""
    await graph.call(known.UPDATE_USER.request(user_id, body={"accountEnabled": False}))


async def revoke_sessions(graph: Graph, user_id: UserId) -> None:
    """POST /users/{id}/revokeSignInSessions. User.RevokeSessions.All."""
    await graph.call(known.REVOKE.request(user_id))
