"""Brings the members of dynamic groups up to date with their rules, when users have come or changed."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.errors import BadRule
from chamberlain.embedded.directory.followers import rules_by_user, users_by_rule
from chamberlain.embedded.directory.membership import Rule, read_rule

# A group and somebody who is in it.
_Pair: TypeAlias = tuple[UUID, UUID]

_RULES = """
SELECT g.id, g.membership_rule FROM directory.groups g
WHERE g.tenant_id = $1 AND g.membership_rule IS NOT NULL ORDER BY g.id
"""
_MEMBERS = """
SELECT m.group_id, m.member_id FROM directory.memberships m
WHERE m.tenant_id = $1 AND m.group_id = $2 AND m.is_member
"""
_MEMBERSHIPS = """
SELECT m.group_id, m.member_id FROM directory.memberships m
WHERE m.tenant_id = $1 AND m.group_id = ANY ($2) AND m.member_id = ANY ($3) AND m.is_member
"""

_JOIN = """
INSERT INTO directory.memberships AS m (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT $1, p.group_id, p.member_id, false, true, false FROM unnest($2::uuid[], $3::uuid[]) AS p (group_id, member_id)
ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE SET is_member = true WHERE NOT m.is_member
"""
# Whoever owns a group stays as an owner.
_LEAVE = """
UPDATE directory.memberships m SET is_member = false
FROM unnest($2::uuid[], $3::uuid[]) AS p (group_id, member_id)
WHERE m.tenant_id = $1 AND m.group_id = p.group_id AND m.member_id = p.member_id AND m.is_owner
"""
_GO = """
DELETE FROM directory.memberships m USING unnest($2::uuid[], $3::uuid[]) AS p (group_id, member_id)
WHERE m.tenant_id = $1 AND m.group_id = p.group_id AND m.member_id = p.member_id AND NOT m.is_owner
"""


async def follow_all(connection: Connection, tenants: Sequence[UUID]) -> None:
    """All users of the tenants follow the rules."""
    for tenant_id in tenants:
        for group_id, rule in await connection.fetch(_RULES, tenant_id):
            try:
                named = {(group_id, user) for user in await users_by_rule(connection, tenant_id, rule)}
            except BadRule:
                # A rule that was taken once, and is not any more: its members stay.
                continue
            before = {(row[0], row[1]) for row in await connection.fetch(_MEMBERS, tenant_id, group_id)}
            await _change(connection, tenant_id, before, named)


async def follow_changed(connection: Connection, users: Mapping[UUID, Sequence[UUID]]) -> None:
    """These users of each tenant follow the rules; the others stay where they are."""
    for tenant_id in sorted(users):
        rules = _understood(await connection.fetch(_RULES, tenant_id))
        if not rules:
            continue
        changed, groups = users[tenant_id], list(rules)
        found = await rules_by_user(connection, tenant_id, changed, list(rules.values()))
        rows = await connection.fetch(_MEMBERSHIPS, tenant_id, groups, changed)
        before = {(row[0], row[1]) for row in rows}
        await _change(connection, tenant_id, before, {(groups[at], user) for at, user in found})


def _understood(rows: Sequence[asyncpg.Record]) -> dict[UUID, Rule]:
    rules: dict[UUID, Rule] = {}
    for row in rows:
        try:
            rules[row["id"]] = read_rule(row["membership_rule"])
        except BadRule:
            continue
    return rules


async def _change(connection: Connection, tenant_id: UUID, before: set[_Pair], after: set[_Pair]) -> None:
    # In the order of the key, so that two who do this at once do not wait for each other in a circle.
    joining, leaving = sorted(after - before), sorted(before - after)
    if leaving:
        groups, members = [pair[0] for pair in leaving], [pair[1] for pair in leaving]
        await connection.execute(_LEAVE, tenant_id, groups, members)
        await connection.execute(_GO, tenant_id, groups, members)
    if joining:
        await connection.execute(_JOIN, tenant_id, [pair[0] for pair in joining], [pair[1] for pair in joining])
