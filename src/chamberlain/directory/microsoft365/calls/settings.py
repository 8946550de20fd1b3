# SPDX-License-Identifier: Apache-2.0
"""Calls for the guest setting of a group.

Only Microsoft 365 groups have it. Its one value says whether guests may be added (group-post-settings.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chamberlain.core.ids import GroupId
from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.wire.graph import Graph

# The template Group.Unified.Guest, which is the same in every directory.
GUEST_TEMPLATE: Final = "08d542b9-071f-4e16-94b0-74abb372e3d9"
_NAME: Final = "AllowToAddGuests"


async def list_guest_settings(graph: Graph, group_id: GroupId) -> Sequence[Mapping[str, Any]]:
    """GET /groups/{id}/settings. Group.ReadWrite.All."""
    found = await graph.all(known.LIST_SETTINGS.request(group_id))
    return [each for each in found if each.get("templateId") == GUEST_TEMPLATE]


async def create_guest_setting(graph: Graph, group_id: GroupId, *, is_allowed: bool) -> Mapping[str, Any]:
    """POST /groups/{id}/settings. GroupSettings.ReadWrite.All. Returns the setting."""
    body = {"templateId": GUEST_TEMPLATE, "values": _values(is_allowed=is_allowed)}
    answer = await graph.call(known.CREATE_SETTING.request(group_id, body=body))
    return answer.body


async def update_guest_setting(graph: Graph, group_id: GroupId, setting_id: str, *, is_allowed: bool) -> None:
    """PATCH /groups/{id}/settings/{id}. GroupSettings.ReadWrite.All."""
    body = {"values": _values(is_allowed=is_allowed)}
    await graph.call(known.UPDATE_SETTING.request(group_id, setting_id, body=body))


async def delete_guest_setting(graph: Graph, group_id: GroupId, setting_id: str) -> None:
    """DELETE /groups/{id}/settings/{id}. GroupSettings.ReadWrite.All."""
    await graph.call(known.DELETE_SETTING.request(group_id, setting_id))


def allows_guests(setting: Mapping[str, Any]) -> bool:
    """Return the value of a setting."""
    values = {each.get("name"): str(each.get("value")) for each in setting.get("values") or ()}
    return values.get(_NAME, "true").lower() == "true"


def _values(*, is_allowed: bool) -> Sequence[Mapping[str, str]]:
    return [{"name": _NAME, "value": "true" if is_allowed else "false"}]
