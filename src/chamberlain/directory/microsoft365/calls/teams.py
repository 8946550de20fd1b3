# SPDX-License-Identifier: Apache-2.0
"""Calls for teams and their channels.

The paths below /groups need Group.Read.All in addition; those below /teams do not.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.wire.graph import Graph

# Members of one bulk request (teams-api-overview.md).
MOST_ADDED: Final = 200
# Owners decide on channels by default. The body needs one setting.
_SETTINGS: Final[Mapping[str, Any]] = {"memberSettings": {"allowCreateUpdateChannels": True}}


async def create_team(graph: Graph, group_id: GroupId) -> None:
    """PUT /groups/{id}/team. Group.ReadWrite.All. Six a second for each directory."""
    await graph.call(known.CREATE_TEAM.request(group_id, body=_SETTINGS))


async def list_channels(graph: Graph, team_id: GroupId) -> Sequence[Mapping[str, Any]]:
    """GET /teams/{id}/channels. Group.ReadWrite.All."""
    query = {"$select": "id,displayName,createdDateTime"}
    return await graph.all(known.LIST_CHANNELS.request(team_id, query=query))


async def create_channel(graph: Graph, team_id: GroupId, name: str) -> None:
    """POST /teams/{id}/channels. Channel.Create."""
    # "The default value is standard" (resources/channel.md).
    await graph.call(known.CREATE_CHANNEL.request(team_id, body={"displayName": name}))


async def add_team_members(
    graph: Graph, team_id: GroupId, users: Collection[UserId], *, as_owners: bool
) -> frozenset[UserId]:
    """POST /teams/{id}/members/add, at most MOST_ADDED. TeamMember.ReadWrite.All.

    Four a minute for each team. Returns those who were not added.
    """
    values = [
        {
            "@odata.type": "microsoft.graph.aadUserConversationMember",
            "roles": ["owner"] if as_owners else [],
            "user@odata.bind": f"{graph.base}/users('{each}')",
        }
        for each in users
    ]
    answer = await graph.call(known.ADD_TEAM_MEMBERS.request(team_id, body={"values": values}))
    failed = (each for each in answer.body["value"] if each.get("error") is not None)
    return frozenset(UserId(UUID(each["userId"])) for each in failed)
