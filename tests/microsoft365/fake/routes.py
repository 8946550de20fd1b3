# SPDX-License-Identifier: Apache-2.0
"""The operations of Graph that the fake has, and the permissions that Microsoft's table does not list."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, TypeAlias

from tests.microsoft365.fake import delta, extensions, group_settings, groups, membership, organization, teams, users
from tests.microsoft365.fake.answers import Answer, Call
from tests.microsoft365.fake.tenant import Tenant

Handler: TypeAlias = Callable[[Tenant, Call, Mapping[str, str]], Answer]

ROUTES: Final[Mapping[str, Handler]] = {
    "GET /users": users.list_users,
    "GET /users/delta": delta.list_user_changes,
    "GET /users/{user-id}": users.get_user,
    "PATCH /users/{user-id}": users.update_user,
    "GET /users/{user-id}/manager": users.get_manager,
    "GET /users/{user-id}/licenseDetails": users.list_licenses,
    "POST /users/{user-id}/checkMemberGroups": users.check_member_groups,
    "POST /users/{user-id}/revokeSignInSessions": users.revoke_sessions,
    "GET /security/dataSecurityAndGovernance/sensitivityLabels": users.list_labels,
    "GET /contacts": organization.list_contacts,
    "GET /domains": organization.list_domains,
    "GET /organization": organization.get_organization,
    "GET /groups": groups.list_groups,
    "POST /groups": groups.create_group,
    "GET /groups/delta": delta.list_group_changes,
    "GET /groups(uniqueName='{uniqueName}')": groups.get_by_unique_name,
    "PATCH /groups(uniqueName='{uniqueName}')": groups.upsert_group,
    "GET /groups/{group-id}": groups.get_group,
    "PATCH /groups/{group-id}": groups.update_group,
    "DELETE /groups/{group-id}": groups.delete_group,
    "GET /directory/deletedItems/microsoft.graph.group": groups.list_deleted,
    "GET /groups/{group-id}/members": membership.list_members,
    "GET /groups/{group-id}/members/microsoft.graph.user": membership.list_member_users,
    "GET /groups/{group-id}/transitiveMembers/microsoft.graph.user": membership.list_transitive_users,
    "GET /groups/{group-id}/owners": membership.list_owners,
    "GET /groups/{group-id}/owners/microsoft.graph.user": membership.list_owner_users,
    "POST /groups/{group-id}/members/$ref": membership.add_member,
    "POST /groups/{group-id}/owners/$ref": membership.add_owner,
    "DELETE /groups/{group-id}/members/{directoryObject-id}/$ref": membership.remove_member,
    "DELETE /groups/{group-id}/owners/{directoryObject-id}/$ref": membership.remove_owner,
    "GET /groups/{group-id}/settings": group_settings.list_settings,
    "POST /groups/{group-id}/settings": group_settings.create_setting,
    "PATCH /groups/{group-id}/settings/{groupSetting-id}": group_settings.update_setting,
    "DELETE /groups/{group-id}/settings/{groupSetting-id}": group_settings.delete_setting,
    "GET /groupSettings": group_settings.list_tenant_settings,
    "GET /groupSettingTemplates": group_settings.list_templates,
    "GET /groups/{group-id}/sites/{site-id}": organization.get_group_site,
    "GET /sites/{site-id}": organization.get_site,
    "PUT /groups/{group-id}/team": teams.create_team,
    "GET /groups/{group-id}/team": teams.get_team,
    "GET /groups/{group-id}/team/channels": teams.list_channels,
    "GET /teams/{team-id}": teams.get_team,
    "GET /teams/{team-id}/channels": teams.list_channels,
    "POST /teams/{team-id}/channels": teams.create_channel,
    "GET /teams/{team-id}/members": teams.list_team_members,
    "POST /teams/{team-id}/members": teams.add_team_member,
    "POST /teams/{team-id}/members/add": teams.add_team_members,
    "GET /schemaExtensions": extensions.list_extensions,
    "POST /schemaExtensions": extensions.create_extension,
    "PATCH /schemaExtensions/{schemaExtension-id}": extensions.update_extension,
}


# The first part of a namespace and the brackets of a function are optional: Microsoft's client writes them so.
_SAME: Final = (
    (re.compile(r"/(?:microsoft\.graph\.)?delta(?:\(\))?$"), "/delta"),
    (re.compile(r"/graph\."), "/microsoft.graph."),
)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str, tuple[str, ...]]]:
    """Return the pattern of each route, those with fewer variable parts first."""
    found = []
    for operation in sorted(ROUTES, key=lambda each: each.count("{")):
        method, template = operation.split(" ")
        names = tuple(re.findall(r"\{([^}]*)\}", template))
        parts = re.split(r"\{[^}]*\}", template)
        variable = r"((?:[^'/]|'')+)" if "('" in template else r"([^/]+)"
        found.append((re.compile(f"{method} " + variable.join(map(re.escape, parts))), operation, names))
    return found


def find_route(method: str, path: str) -> tuple[str, Mapping[str, str]] | None:
    """Find the operation of a path, with its variable parts."""
    for written, instead in _SAME:
        path = written.sub(instead, path)
    for pattern, operation, names in _patterns():
        found = pattern.fullmatch(f"{method} {path}")
        if found is not None:
            return operation, {
                name: value.replace("''", "'") for name, value in zip(names, found.groups(), strict=True)
            }
    return None


def has_path(path: str) -> bool:
    """Return whether another method has a path."""
    return any(find_route(method, path) is not None for method in ("GET", "POST", "PUT", "PATCH", "DELETE"))
