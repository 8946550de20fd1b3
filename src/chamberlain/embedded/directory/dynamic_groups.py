"""Brings the members of dynamic groups up to date with their rules, when users have come or changed."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.embedded.directory.database import Connection, Queryable
from chamberlain.embedded.directory.errors import BadRule
from chamberlain.embedded.directory.membership_rules import (
    AllOf,
    AnyOf,
    Comparison,
    Kind,
    Not,
    Operator,
    Rule,
    kind_of,
    read_rule,
)

# As many rules are asked together as the database plans without noticing; each has some parameters of the 32,767.
_TOGETHER = 50


async def users_by_rule(database: Queryable, tenant_id: UUID, rule: str) -> list[UUID]:
    """The users of the tenant that the rule names. Raises BadRule."""
    parameters: list[object] = [tenant_id]
    condition = _whole(read_rule(rule), parameters)
    # The condition is put together from fixed pieces; whatever the rule says is a parameter.
    statement = f"SELECT u.id FROM directory.users u WHERE u.tenant_id = $1 AND {condition} ORDER BY u.id"  # noqa: S608
    return [row[0] for row in await database.fetch(statement, *parameters)]


async def rules_by_user(
    database: Queryable, tenant_id: UUID, users: Sequence[UUID], rules: Sequence[Rule]
) -> list[tuple[int, UUID]]:
    """Which of these rules name which of these users: the place of the rule among them, and the user."""
    found: list[tuple[int, UUID]] = []
    for start in range(0, len(rules), _TOGETHER):
        parameters: list[object] = [tenant_id, users]
        conditions = ", ".join(_whole(rule, parameters) for rule in rules[start : start + _TOGETHER])
        statement = (
            f"SELECT u.id, ARRAY[{conditions}] FROM directory.users u "  # noqa: S608 - fixed pieces, as above.
            "WHERE u.tenant_id = $1 AND u.id = ANY ($2)"
        )
        for user, answers in await database.fetch(statement, *parameters):
            found += [(start + at, user) for at, is_named in enumerate(answers) if is_named]
    return found


def _whole(rule: Rule, parameters: list[object]) -> str:
    # Nobody here is a device, whatever is said of devices.
    return "false" if kind_of(rule) is Kind.DEVICE else condition_of(rule, parameters)


def condition_of(rule: Rule, parameters: list[object]) -> str:
    """The rule as SQL, with its values added to the parameters. A property without a value equals nothing but null."""
    match rule:
        case AllOf(parts):
            return "(" + " AND ".join(condition_of(part, parameters) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(condition_of(part, parameters) for part in parts) + ")"
        case Not(part):
            return f"NOT {condition_of(part, parameters)}"
        case Comparison(known, _, None):
            return f"({known.expression}) IS NULL"
        case Comparison(known, operator, value):
            parameters.append(list(value) if isinstance(value, tuple) else value)
            return f"coalesce({_comparison(known.expression, operator, value, len(parameters))}, false)"


def _comparison(expression: str, operator: Operator, value: object, number: int) -> str:
    match operator:
        case Operator.EQUAL if isinstance(value, bool):
            return f"({expression}) = ${number}::boolean"
        case Operator.EQUAL:
            return f"lower({expression}) = lower(${number}::text)"
        case Operator.STARTS_WITH:
            return f"starts_with(lower({expression}), lower(${number}::text))"
        case Operator.CONTAINS:
            return f"position(lower(${number}::text) IN lower({expression})) > 0"
        case Operator.IN:
            return f"lower({expression}) = ANY (directory.lowered(${number}::text[]))"
        case Operator.MATCH:
            return f"({expression}) ~* ${number}::text"


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
