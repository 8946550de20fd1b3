# SPDX-License-Identifier: Apache-2.0
"""The methods and paths below `/v1.0`, with their handlers and permissions."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from chamberlain.embedded.directory.graph import delta, groups, relations, tenant, users
from chamberlain.embedded.directory.graph.batch import run_batch
from chamberlain.embedded.directory.graph.calls import Answer, Call, MethodNotAllowed, NotThere
from chamberlain.embedded.directory.graph.paging import count_entries
from chamberlain.embedded.directory.graph.places import get_place, list_rooms
from chamberlain.embedded.directory.graph.schema_extensions import list_schema_extensions
from chamberlain.embedded.directory.graph.sites import get_root_site, get_site
from chamberlain.embedded.directory.graph.writes.routes import WRITES

Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and path with its handler and permissions.

    One of the permissions is required. None means the calling user. An empty set requires none; the handler checks.
    `path_format` is the path with placeholders, for metrics and traces.
    """

    method: str
    path: re.Pattern[str]
    handler: Handler
    sufficient: frozenset[str] | None
    path_format: str
    is_write: bool = False


_READ_GROUPS = frozenset({"Group.Read.All", "Group.ReadWrite.All", "Directory.Read.All"})
_READ_MEMBERS = _READ_GROUPS | {"GroupMember.Read.All"}
_READ_TEAM_MEMBERS = _READ_GROUPS | {"TeamMember.Read.All"}
_READ_USERS = frozenset({"User.Read.All", "User.ReadWrite.All", "Directory.Read.All"})
_CHECK_MEMBERS = _READ_USERS | _READ_MEMBERS
_READ_SETTINGS = _READ_USERS | {"MailboxSettings.Read", "MailboxSettings.ReadWrite"}
_READ_PLACES = frozenset({"Place.Read.All", "Place.ReadWrite.All", "Directory.Read.All"})
_READ_SITES = frozenset({"Sites.Read.All", "Sites.ReadWrite.All", "Directory.Read.All"})
_READ_DOMAINS = frozenset({"Domain.Read.All", "Directory.Read.All"})
_READ_ORGANIZATION = frozenset({"Organization.Read.All", "User.Read.All", "Directory.Read.All"})
_READ_TEMPLATES = frozenset({"GroupSettings.Read.All", "GroupSettings.ReadWrite.All", "Directory.Read.All"})
_READ_GROUP_SETTINGS = _READ_TEMPLATES | {"Group.Read.All", "Group.ReadWrite.All"}
_READ_LABELS = frozenset({"SensitivityLabel.Read", "SensitivityLabels.Read.All"})
_READ_CONTACTS = frozenset({"OrgContact.Read.All", "Directory.Read.All"})
_READ_OBJECTS = frozenset({"Directory.Read.All"})

ID = r"([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})"
# The database cannot store a NUL.
_UNIQUE_NAME = r"((?:[^'/\x00]|''){1,512})"
_ID_OR_ADDRESS = r"([^/\x00]{1,320})"
# The first part of the namespace is optional; the vendor's programs omit it.
_ROOM = r"(?:microsoft\.)?graph\.room"
# The vendor's programs write a function with brackets.
_DELTA = r"(?:microsoft\.graph\.)?delta(?:\(\))?"
_USER = r"(?:microsoft\.)?graph\.user"
_LABELS = "dataSecurityAndGovernance/sensitivityLabels"
_PATHS: tuple[tuple[str, str, Handler, frozenset[str] | None], ...] = (
    ("GET", "groups", groups.list_groups, _READ_GROUPS),
    ("GET", r"groups/\$count", partial(count_entries, listing=groups.GROUP_LISTING), _READ_GROUPS),
    ("GET", rf"groups/{_DELTA}", delta.list_group_changes, _READ_GROUPS),
    ("GET", rf"groups/{ID}", groups.get_group, _READ_GROUPS),
    ("GET", rf"groups\(uniqueName='{_UNIQUE_NAME}'\)", groups.get_group_by_unique_name, _READ_GROUPS),
    ("GET", rf"groups/{ID}/owners", partial(relations.list_related, relation=relations.OWNERS), _READ_MEMBERS),
    ("GET", rf"groups/{ID}/owners/\$count", partial(relations.count_related, relation=relations.OWNERS), _READ_MEMBERS),
    (
        "GET",
        rf"groups/{ID}/owners/{_USER}",
        partial(relations.list_related_users, listing=relations.OWNING_USERS),
        _READ_MEMBERS,
    ),
    ("GET", rf"groups/{ID}/members", partial(relations.list_related, relation=relations.MEMBERS), _READ_MEMBERS),
    (
        "GET",
        rf"groups/{ID}/members/\$count",
        partial(relations.count_related, relation=relations.MEMBERS),
        _READ_MEMBERS,
    ),
    (
        "GET",
        rf"groups/{ID}/members/{_USER}",
        partial(relations.list_related_users, listing=relations.MEMBER_USERS),
        _READ_MEMBERS,
    ),
    (
        "GET",
        rf"groups/{ID}/members/{_USER}/\$count",
        partial(relations.count_related_users, listing=relations.MEMBER_USERS),
        _READ_MEMBERS,
    ),
    (
        "GET",
        rf"groups/{ID}/transitiveMembers/{_USER}",
        partial(relations.list_related_users, listing=relations.TRANSITIVE_USERS),
        _READ_MEMBERS,
    ),
    ("GET", rf"groups/{ID}/settings", groups.list_settings, _READ_GROUPS),
    ("GET", rf"groups/{ID}/sites/root", get_root_site, _READ_SITES),
    ("GET", rf"groups/{ID}/team", groups.get_team, _READ_GROUPS),
    ("GET", rf"groups/{ID}/team/channels", groups.list_channels, _READ_GROUPS),
    ("GET", rf"teams/{ID}", groups.get_team, _READ_GROUPS),
    ("GET", rf"teams/{ID}/channels", groups.list_channels, _READ_GROUPS),
    ("GET", rf"teams/{ID}/members", relations.list_team_members, _READ_TEAM_MEMBERS),
    ("GET", "groupSettings", tenant.list_tenant_settings, _READ_GROUP_SETTINGS),
    ("GET", "groupSettingTemplates", tenant.list_setting_templates, _READ_TEMPLATES),
    ("GET", "me", users.get_user, None),
    ("GET", "me/licenseDetails", users.list_licenses, None),
    ("GET", "me/mailboxSettings", users.get_mailbox_settings, None),
    ("GET", "users", users.list_users, _READ_USERS),
    ("GET", r"users/\$count", partial(count_entries, listing=users.USER_LISTING), _READ_USERS),
    ("GET", rf"users/{_DELTA}", delta.list_user_changes, _READ_USERS),
    ("GET", rf"users/{_ID_OR_ADDRESS}", users.get_user, _READ_USERS),
    ("GET", rf"users/{_ID_OR_ADDRESS}/licenseDetails", users.list_licenses, _READ_USERS),
    ("GET", rf"users/{_ID_OR_ADDRESS}/mailboxSettings", users.get_mailbox_settings, _READ_SETTINGS),
    ("GET", rf"users/{_ID_OR_ADDRESS}/manager", relations.get_manager, _READ_USERS),
    ("POST", rf"users/{_ID_OR_ADDRESS}/checkMemberGroups", relations.check_member_groups, _CHECK_MEMBERS),
    ("GET", rf"users/{_ID_OR_ADDRESS}/{_LABELS}", tenant.list_labels, _READ_LABELS),
    ("GET", f"security/{_LABELS}", tenant.list_labels, _READ_LABELS),
    ("GET", "contacts", tenant.list_contacts, _READ_CONTACTS),
    ("GET", "domains", tenant.list_domains, _READ_DOMAINS),
    ("GET", "organization", tenant.list_organization, _READ_ORGANIZATION),
    ("POST", "directoryObjects/getByIds", relations.get_by_ids, _READ_OBJECTS),
    ("GET", rf"places/{_ROOM}", list_rooms, _READ_PLACES),
    ("GET", rf"places/{_ID_OR_ADDRESS}(?:/{_ROOM})?", get_place, _READ_PLACES),
    ("GET", rf"sites/{_ID_OR_ADDRESS}", get_site, _READ_SITES),
    ("GET", "schemaExtensions", list_schema_extensions, _READ_GROUPS),
    # Each part of a batch needs the permission of its own route.
    ("POST", r"\$batch", run_batch, frozenset()),
)
# Parts of patterns, with the words of placeholders.
_PLACEHOLDERS = (
    (ID, "{id}"),
    (_ID_OR_ADDRESS, "{id}"),
    (_UNIQUE_NAME, "{uniqueName}"),
    (r"((?:[^'/\x00]|'')*)", "{uniqueName}"),
    ("/?", ""),
    (f"(?:/{_ROOM})?", ""),
    (_DELTA, "delta"),
    (r"(?:microsoft\.)?graph\.", "microsoft.graph."),
    ("\\", ""),
)


def _path_format(pattern: str) -> str:
    for part, word in _PLACEHOLDERS:
        pattern = pattern.replace(part, word)
    return f"/v1.0/{pattern}"


def _route(
    method: str, path: str, handler: Handler, sufficient: frozenset[str] | None, *, is_write: bool = False
) -> Route:
    return Route(method, re.compile(rf"/v1\.0/{path}"), handler, sufficient, _path_format(path), is_write)


READS = tuple(_route(*row) for row in _PATHS)
ROUTES = READS + tuple(_route(*row, is_write=True) for row in WRITES)


def find_route(method: str, path: str, *, is_writable: bool) -> tuple[Route, tuple[str, ...]]:
    """Find the route of a path, and the ids and names.

    Raises NotThere and MethodNotAllowed.
    """
    wanted = "GET" if method == "HEAD" else method
    for route in _routes(is_writable):
        if route.method == wanted and (found := route.path.fullmatch(path)):
            return route, tuple(found.groups())
    has_others = any(route.path.fullmatch(path) for route in _routes(is_writable))
    # Without writes, all other methods are refused before the path is looked at.
    if has_others or not (is_writable or wanted == "GET"):
        is_write = any(route.method == method and route.path.fullmatch(path) for route in ROUTES)
        raise MethodNotAllowed(allowed_methods(path, is_writable=is_writable), needs_writable=is_write)
    raise NotThere("BadRequest", f"Resource not found for the segment '{path.rpartition('/')[2]}'.")


def allowed_methods(path: str, *, is_writable: bool) -> str:
    """List the methods of a path.

    An unknown path has those of reads.
    """
    methods = {route.method for route in _routes(is_writable) if route.path.fullmatch(path)} or {"GET"}
    reads = ["GET", "HEAD"] if "GET" in methods else []
    return ", ".join([*reads, *sorted(methods - {"GET"}), "OPTIONS"])


def _routes(is_writable: bool) -> tuple[Route, ...]:  # noqa: FBT001 - one of two tables.
    return ROUTES if is_writable else READS
