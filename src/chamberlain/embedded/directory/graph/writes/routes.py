# SPDX-License-Identifier: Apache-2.0
"""The writes below `/v1.0`, with the permissions of which one is required.

The permissions are those of Microsoft's published table. Where it has no row (references, new users and managers), they
are those of the reference pages.
"""

from functools import partial
from typing import Final

from chamberlain.embedded.directory.graph.writes import groups, teams, users
from chamberlain.embedded.directory.writes.groups import Relation

_DIRECTORY: Final = frozenset({"Directory.ReadWrite.All"})
_WRITE_USERS: Final = _DIRECTORY | {"User.ReadWrite.All"}
_CHANGE_USERS: Final = _WRITE_USERS | {users.ENABLE_ACCOUNTS}
_DELETE_USERS: Final = _WRITE_USERS | {"User.DeleteRestore.All"}
_LICENSES: Final = _WRITE_USERS | {"LicenseAssignment.ReadWrite.All"}
_SESSIONS: Final = _WRITE_USERS | {"User.RevokeSessions.All"}
_DELETE_GROUPS: Final = frozenset({"Group.ReadWrite.All"})
_WRITE_GROUPS: Final = _DIRECTORY | _DELETE_GROUPS
_CREATE_GROUPS: Final = _WRITE_GROUPS | {"Group.Create"}
_WRITE_MEMBERS: Final = _WRITE_GROUPS | {"GroupMember.ReadWrite.All"}
_WRITE_SETTINGS: Final = _DIRECTORY | {"GroupSettings.ReadWrite.All"}
_CREATE_CHANNELS: Final = _WRITE_GROUPS | {"Channel.Create"}
_TEAM_MEMBERS: Final = frozenset({"TeamMember.ReadWrite.All", "TeamMember.ReadWriteNonOwnerRole.All"})

_ID = r"([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})"
_ID_OR_ADDRESS = r"([^/\x00]{1,320})"
# The reference page writes a slash before the parenthesis, and the metadata none.
_UNIQUE_NAME = r"groups/?\(uniqueName='((?:[^'/\x00]|'')*)'\)"

WRITES: Final = (
    ("POST", "users", users.create_user, _WRITE_USERS),
    ("PATCH", f"users/{_ID_OR_ADDRESS}", users.update_user, _CHANGE_USERS),
    ("DELETE", f"users/{_ID_OR_ADDRESS}", users.delete_user, _DELETE_USERS),
    ("PUT", rf"users/{_ID_OR_ADDRESS}/manager/\$ref", users.set_manager, _WRITE_USERS),
    ("DELETE", rf"users/{_ID_OR_ADDRESS}/manager/\$ref", users.remove_manager, _WRITE_USERS),
    ("POST", f"users/{_ID_OR_ADDRESS}/assignLicense", users.assign_license, _LICENSES),
    ("POST", f"users/{_ID_OR_ADDRESS}/revokeSignInSessions", users.revoke_sessions, _SESSIONS),
    ("POST", "groups", groups.create_group, _CREATE_GROUPS),
    ("PATCH", _UNIQUE_NAME, groups.upsert_group, _WRITE_GROUPS),
    ("PATCH", f"groups/{_ID}", groups.update_group, _WRITE_GROUPS),
    ("DELETE", f"groups/{_ID}", groups.delete_group, _DELETE_GROUPS),
    ("POST", rf"groups/{_ID}/members/\$ref", partial(groups.add_reference, relation=Relation.MEMBERS), _WRITE_MEMBERS),
    ("POST", rf"groups/{_ID}/owners/\$ref", partial(groups.add_reference, relation=Relation.OWNERS), _WRITE_GROUPS),
    (
        "DELETE",
        rf"groups/{_ID}/members/{_ID}/\$ref",
        partial(groups.remove_reference, relation=Relation.MEMBERS),
        _WRITE_MEMBERS,
    ),
    (
        "DELETE",
        rf"groups/{_ID}/owners/{_ID}/\$ref",
        partial(groups.remove_reference, relation=Relation.OWNERS),
        _WRITE_GROUPS,
    ),
    ("POST", f"groups/{_ID}/settings", teams.create_settings, _WRITE_SETTINGS),
    ("PATCH", f"groups/{_ID}/settings/{_ID}", teams.update_settings, _WRITE_SETTINGS),
    ("DELETE", f"groups/{_ID}/settings/{_ID}", teams.delete_settings, _WRITE_SETTINGS),
    ("PUT", f"groups/{_ID}/team", teams.create_team, _WRITE_GROUPS),
    ("POST", f"teams/{_ID}/channels", teams.create_channel, _CREATE_CHANNELS),
    ("POST", f"groups/{_ID}/team/channels", teams.create_channel, _CREATE_CHANNELS),
    ("POST", f"teams/{_ID}/members", teams.add_member, _TEAM_MEMBERS),
    ("POST", f"teams/{_ID}/members/add", teams.add_members, _TEAM_MEMBERS),
)
