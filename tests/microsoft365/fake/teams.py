# SPDX-License-Identifier: Apache-2.0
"""Teams: creation for a group, channels and members.

Teams has a copy of each group that lags most (Lags.teams). Its own objects are replicated like those of the directory.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from tests.microsoft365.fake.answers import Answer, Call, GraphError
from tests.microsoft365.fake.faults import MEMBER_FAULTS
from tests.microsoft365.fake.membership import is_dynamic, put_references, read_references
from tests.microsoft365.fake.pages import answer_list, answer_object
from tests.microsoft365.fake.tenant import GROUPS, KEPT, TEAMS, USERS, Tenant, channels, members, new_channel, owners
from tests.microsoft365.fake.writes import Json, View

Parts = Mapping[str, str]
Object = Mapping[str, Json]

# The settings of a new team (team-put-teams.md, example).
_SETTINGS: Final[Mapping[str, Mapping[str, Json]]] = {
    "memberSettings": {
        "allowCreateUpdateChannels": True,
        "allowDeleteChannels": True,
        "allowAddRemoveApps": True,
        "allowCreateUpdateRemoveTabs": True,
        "allowCreateUpdateRemoveConnectors": True,
    },
    "guestSettings": {"allowCreateUpdateChannels": True, "allowDeleteChannels": True},
    "messagingSettings": {
        "allowUserEditMessages": True,
        "allowUserDeleteMessages": True,
        "allowOwnerDeleteMessages": True,
        "allowTeamMentions": True,
        "allowChannelMentions": True,
    },
    "funSettings": {
        "allowGiphy": True,
        "giphyContentRating": "strict",
        "allowStickersAndMemes": True,
        "allowCustomMemes": True,
    },
}
# "Maximum length is 50 characters" and the characters that Teams refuses (resources/channel.md).
_CHANNEL_NAME: Final = re.compile(r"(?![_.])[^~#%&*{}/\\:<>?+|'\"]{1,50}")
# Both are reported: microsoft-graph-docs issues 6168 and 6649.
_NAME_TAKEN: Final = ("NameAlreadyExists", "BadRequest")
# teams-api-overview.md: members of one bulk request.
_MOST_ADDED: Final = 200


def create_team(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Make a group a team (team-put-teams.md)."""
    group_id, seen = parts["group-id"], tenant.teams()
    group = seen.get(GROUPS, group_id)
    if group is None or tenant.latest().get(GROUPS, group_id) is None:
        # "If the group was created less than 15 minutes ago ... 404" (team-put-teams.md); text of issue 9662.
        raise _not_found("Failed to execute MsGraph backend request GetGroupFromIdS2SRequest.")
    if tenant.latest().get(TEAMS, group_id) is not None:
        # microsoft-graph-docs issue 6448: conflict.
        raise GraphError(409, "Conflict", "Failed to execute MS Graph backend request: the team exists.")
    if "Unified" not in group["groupTypes"]:
        raise GraphError(400, "BadRequest", "Only a Microsoft 365 group can be made a team.")
    if not seen.keys(owners(group_id)):
        # "In order to create a team, the group must have a least one owner."
        raise GraphError(400, "BadRequest", "The group must have at least one owner.")
    sent: Mapping[str, Any] = call.body or {}
    changed = {name: {**values, **(sent.get(name) or {})} for name, values in _SETTINGS.items()}
    tenant.log.put(TEAMS, group_id, {"id": group_id, "createdDateTime": tenant.timestamp(), **changed})
    tenant.log.put(channels(group_id), "general", new_channel(tenant, "General", tenant.now()))
    tenant.change(GROUPS, group_id, resourceProvisioningOptions=["Team"])
    tenant.record("team", group_id, None)
    context = {"@odata.context": f"{call.base}/$metadata#teams/$entity"}
    return Answer(201, {**context, **_team(tenant, group, tenant.latest().get(TEAMS, group_id))})


def get_team(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer a team with the names of its group (team-get.md)."""
    team_id = parts.get("team-id") or parts["group-id"]
    view = tenant.read()
    team = _find_team(view, team_id)
    group = tenant.teams().get(GROUPS, team_id) or {}
    return answer_object(call, _team(tenant, group, team), "team", "teams")


def _find_team(view: View, team_id: str) -> Object:
    found: Object | None = view.get(TEAMS, team_id)
    if found is None:
        raise _not_found(f"No team found with Group Id {team_id}")
    return found


def _not_found(message: str) -> GraphError:
    return GraphError(404, "NotFound", message)


def _team(tenant: Tenant, group: Object, team: Object) -> dict[str, Json]:
    return {
        **{name: dict(values) for name, values in _SETTINGS.items()},
        **team,
        "displayName": group.get("displayName"),
        "description": group.get("description"),
        "visibility": "public" if group.get("visibility") == "Public" else "private",
        "isArchived": False,
        "tenantId": tenant.id,
    }


def list_channels(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List channels, but deleted ones (channel-list.md)."""
    team_id = parts.get("team-id") or parts["group-id"]
    view = tenant.read()
    _find_team(view, team_id)
    found = [each for _, each in view.items(channels(team_id)) if "id" in each]
    return answer_list(call, found, "channel", f"teams('{team_id}')/channels")


def create_channel(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Create a standard channel (channel-post.md)."""
    team_id = parts["team-id"]
    _find_team(tenant.read(), team_id)
    body: Mapping[str, Any] = call.body
    name = body.get("displayName") or ""
    if not _CHANNEL_NAME.fullmatch(name):
        raise GraphError(400, "BadRequest", "Invalid channel name.")
    if body.get("membershipType", "standard") != "standard":
        # channel-post.md, example 2: a private channel needs an owner among its members. The adapter creates none.
        raise GraphError(400, "BadRequest", "Private channels need members.")
    taken = tenant.latest().get(channels(team_id), name.lower())
    if taken is not None and taken.get("deletedAt", tenant.now()) > tenant.now() - KEPT:
        raise GraphError(400, tenant.random.choice(_NAME_TAKEN), "Channel name already existed, please use other name")
    channel = {**new_channel(tenant, name, tenant.now()), "description": body.get("description")}
    tenant.log.put(channels(team_id), name.lower(), channel)
    tenant.record("channel", channel["id"], f"{team_id}/{name}")
    return Answer(201, {"@odata.context": f"{call.base}/$metadata#teams('{team_id}')/channels/$entity", **channel})


def list_team_members(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List members: those of the group as Teams sees it, and those that Teams has added."""
    team_id = parts["team-id"]
    view, seen = tenant.read(), tenant.teams()
    _find_team(view, team_id)
    added = {each: role for each, role in view.items(("team members", team_id)) if view.get(members(team_id), each)}
    owner_ids = {*seen.keys(owners(team_id)), *(each for each, role in added.items() if role == "owner")}
    ids = dict.fromkeys([*seen.keys(owners(team_id)), *seen.keys(members(team_id)), *added])
    found = [_member(tenant, each, is_owner=each in owner_ids) for each in ids]
    return answer_list(call, found, "aadUserConversationMember", f"teams('{team_id}')/members")


def _member(tenant: Tenant, user_id: str, *, is_owner: bool) -> dict[str, Json]:
    user = tenant.latest().get(USERS, user_id) or {}
    guest = ["guest"] if user.get("userType") == "Guest" else []
    return {
        "@odata.type": "#microsoft.graph.aadUserConversationMember",
        "id": base64.b64encode(f"{tenant.id}##{user_id}".encode()).decode(),
        "roles": ["owner"] if is_owner else guest,
        "displayName": user.get("displayName"),
        "visibleHistoryStartDateTime": "0001-01-01T00:00:00Z",
        "userId": user_id,
        "email": user.get("mail"),
        "tenantId": tenant.id,
    }


def add_team_member(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Add one member (team-post-members.md)."""
    group = _writable_team(tenant, parts["team-id"])
    user_id, role = _read_member(call, call.body)
    if tenant.read().get(USERS, user_id) is None:
        raise _not_found(f"User with id {user_id} not found.")
    _put_member(tenant, group, user_id, role)
    context = {"@odata.context": f"{call.base}/$metadata#teams('{group['id']}')/members/$entity"}
    return Answer(201, {**context, **_member(tenant, user_id, is_owner=role == "owner")})


def add_team_members(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Add members in bulk: 200, or 207 with an error for each that was not added (conversationmembers-add.md)."""
    group = _writable_team(tenant, parts["team-id"])
    asked = [_read_member(call, each) for each in call.body.get("values") or ()]
    if not asked or len(asked) > _MOST_ADDED:
        raise GraphError(400, "BadRequest", f"Between 1 and {_MOST_ADDED} members can be added.")
    fault = tenant.faults.draw(call.method, call.path, among=MEMBER_FAULTS)
    failed = tenant.random.randrange(len(asked)) if fault is not None else None
    view, results = tenant.read(), []
    for number, (user_id, role) in enumerate(asked):
        error = None
        if number == failed or view.get(USERS, user_id) is None:
            error = {"code": "NotFound", "message": ""}
        else:
            _put_member(tenant, group, user_id, role)
        kind = "#microsoft.graph.aadUserConversationMemberResult"
        results.append({"@odata.type": kind, "userId": user_id, "error": error})
    context = f"{call.base}/$metadata#Collection(microsoft.graph.aadUserConversationMemberResult)"
    status = 207 if any(each["error"] for each in results) else 200
    return Answer(status, {"@odata.context": context, "value": results})


def _writable_team(tenant: Tenant, team_id: str) -> Object:
    _find_team(tenant.read(), team_id)
    group: Object | None = tenant.latest().get(GROUPS, team_id)
    if group is None:
        raise _not_found(f"No team found with Group Id {team_id}")
    if is_dynamic(group):
        # microsoft-graph-docs issue 12712.
        raise GraphError(403, "Forbidden", "You do not have permission to perform this operation.")
    return group


def _read_member(call: Call, sent: Mapping[str, Any]) -> tuple[str, str]:
    roles = sent.get("roles") or []
    if sent.get("@odata.type", "").lstrip("#") != "microsoft.graph.aadUserConversationMember" or not {*roles} <= {
        "owner"
    }:
        raise GraphError(400, "BadRequest", "Invalid member.")
    if roles and "TeamMember.ReadWrite.All" not in call.principal.permissions:
        # TeamMember.ReadWriteNonOwnerRole.All adds members without the role of an owner.
        raise GraphError(403, "Forbidden", "Insufficient privileges to add an owner.")
    # A user is one object, not a list of them (conversationmembers-add.md; `user` of aadUserConversationMember).
    if not isinstance(sent.get("user@odata.bind"), str):
        raise GraphError(400, "BadRequest", "A user is expected for 'user@odata.bind'.")
    [user_id] = read_references(sent["user@odata.bind"])
    return user_id, "owner" if roles else "member"


def _put_member(tenant: Tenant, group: Object, user_id: str, role: str) -> None:
    tenant.log.put(("team members", str(group["id"])), user_id, role)
    for relation in ("owners", "members") if role == "owner" else ("members",):
        put_references(tenant, group, relation, [user_id])
