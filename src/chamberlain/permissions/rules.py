# SPDX-License-Identifier: Apache-2.0
"""Features of templates and policies, and unused permissions of callers.

The adapter of a directory has the permissions of each feature (docs/how-to/reduce-permissions.md has a table). The
embedded directory needs none.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from chamberlain.directory.features import Feature
from chamberlain.guests.policies.models import PolicyAction, PolicyRules
from chamberlain.permissions.models import (
    CallerPermissions,
    DirectoryPermission,
    Needer,
    PermissionUse,
)
from chamberlain.templates.models import TemplateKind


def template_features(kind: TemplateKind) -> frozenset[Feature]:
    """Return the features of a template.

    No adapter with permissions manages mailboxes yet.
    """
    match kind:
        case TemplateKind.GROUP:
            return frozenset({Feature.GROUPS})
        case TemplateKind.TEAM:
            return frozenset({Feature.TEAMS})
        case TemplateKind.GUEST:
            return frozenset({Feature.GUEST_RULES})
        case TemplateKind.SHARED | TemplateKind.EQUIPMENT | TemplateKind.ROOM:
            return frozenset()


def policy_features(rules: PolicyRules) -> frozenset[Feature]:
    """Return the features of the rules of a policy."""
    actions = {part.action for part in (rules.expiry, rules.review, rules.inactivity) if part is not None}
    features = {Feature.POLICIES}
    if PolicyAction.REMOVE in actions:
        features.add(Feature.REMOVE_GUESTS)
    if PolicyAction.DISABLE in actions:
        features.add(Feature.DISABLE_GUESTS)
    if rules.inactivity is not None:
        features.add(Feature.INACTIVITY)
    return frozenset(features)


def directory_permissions(needs: Iterable[tuple[Needer, Iterable[str]]]) -> Sequence[DirectoryPermission]:
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
