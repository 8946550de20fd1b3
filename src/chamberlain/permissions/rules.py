# SPDX-License-Identifier: Apache-2.0
"""Directory permissions of templates and policies, and unused permissions of callers.

The names are the least-privileged application permissions of Microsoft Graph, Exchange Online and SharePoint that the
calls of each feature accept (docs/how-to/reduce-permissions.md has the table). The embedded directory needs none.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from chamberlain.guests.policies.models import PolicyAction, PolicyRules
from chamberlain.permissions.models import (
    CallerPermissions,
    DirectoryPermission,
    Needer,
    PermissionUse,
)
from chamberlain.templates.models import GROUP_KINDS, MAILBOX_KINDS, TemplateKind

# Users, groups and memberships are read for every template and policy.
_READ: Final = frozenset({"User.Read.All", "GroupMember.Read.All"})
# Creates and changes groups, teams, members and marks, and removes guests.
_GROUPS: Final = frozenset({"Group.ReadWrite.All"})
_TEAM_MEMBERS: Final = frozenset({"TeamMember.ReadWrite.All"})
_CHANNELS: Final = frozenset({"Channel.Create"})
_LABELS: Final = frozenset({"SensitivityLabel.Read"})
# Guest rules are settings of a group, and the sharing of a site.
_GUEST_RULES: Final = frozenset({"GroupSettings.ReadWrite.All", "Sites.FullControl.All"})
_MAILBOXES: Final = frozenset({"Exchange.ManageAsApp"})
_DISABLE: Final = frozenset({"User.EnableDisableAccount.All", "User.RevokeSessions.All"})
_ACTIVITY: Final = frozenset({"AuditLog.Read.All"})


def template_needs(kind: TemplateKind, *, label_id: str | None = None, channels: Sequence[str] = ()) -> frozenset[str]:
    """Return the directory permissions that a template needs."""
    if kind in MAILBOX_KINDS:
        return _READ | _MAILBOXES
    if kind not in GROUP_KINDS:
        return _READ | _GROUPS | _GUEST_RULES
    needs = _READ | _GROUPS
    if kind is TemplateKind.TEAM:
        needs |= _TEAM_MEMBERS
    if channels:
        needs |= _CHANNELS
    return needs if label_id is None else needs | _LABELS


def policy_needs(rules: PolicyRules) -> frozenset[str]:
    """Return the directory permissions that a policy needs."""
    actions = {each.action for each in (rules.expiry, rules.review, rules.inactivity) if each is not None}
    needs = _READ
    if PolicyAction.REMOVE in actions:
        needs |= _GROUPS
    if PolicyAction.DISABLE in actions:
        needs |= _DISABLE
    return needs if rules.inactivity is None else needs | _ACTIVITY


def directory_permissions(needs: Iterable[tuple[Needer, frozenset[str]]]) -> Sequence[DirectoryPermission]:
    """Return each needed permission with its templates and policies, by name."""
    needers: dict[str, list[Needer]] = {}
    for needer, permissions in needs:
        for permission in permissions:
            needers.setdefault(permission, []).append(needer)
    return [DirectoryPermission(name, needers[name]) for name in sorted(needers)]


def caller_permissions(uses: Iterable[PermissionUse], names: Mapping[UUID, str]) -> Sequence[CallerPermissions]:
    """Return the permissions of each caller, by type, name and id."""
    callers: dict[tuple[str, UUID], list[PermissionUse]] = {}
    for use in sorted(uses, key=lambda use: use.permission):
        callers.setdefault((use.caller_type, use.caller_id), []).append(use)
    found = [
        CallerPermissions(
            type=held[0].caller_type,
            id=held[0].caller_id,
            display_name=names.get(held[0].caller_id, ""),
            held=[use.permission for use in held],
            used=[use for use in held if use.count],
            unused=[use.permission for use in held if not use.count],
        )
        for held in callers.values()
    ]
    return sorted(found, key=lambda caller: (caller.type, caller.display_name.casefold(), caller.id))
