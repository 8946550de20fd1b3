# SPDX-License-Identifier: Apache-2.0
"""Finds and updates the members of dynamic groups.

The database evaluates the rules, so that the users of a large tenant are not transferred, and because it matches
patterns without backtracking.
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from chamberlain.core.membership_rules import (
    FURTHER,
    Comparison,
    Kind,
    Operator,
    Rule,
    RuleInvalid,
    kind_of,
    read_rule,
)
from chamberlain.embedded.directory.database import Connection, Queryable
from chamberlain.embedded.directory.expressions import Translator
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# The database plans this many rules in one statement without delay; each has some of the 32,767 parameters.
_RULES_PER_STATEMENT = 50

# A group and a member.
_Pair: TypeAlias = tuple[UUID, UUID]


async def follow_all(connection: Connection, tenants: Sequence[UUID]) -> None:
    """Update the members of all dynamic groups of the tenants."""
    for tenant_id in tenants:
        for group_id, rule in await connection.fetch(SQL["rules"], tenant_id):
            try:
                selected = {(group_id, user) for user in await users_by_rule(connection, tenant_id, rule)}
            except RuleInvalid:
                # The group keeps its members if its rule is no longer valid.
                continue
            before = {(row[0], row[1]) for row in await connection.fetch(SQL["members"], tenant_id, group_id)}
            await _change(connection, tenant_id, before, selected)


async def follow_changed(connection: Connection, users: Sequence[tuple[UUID, UUID]]) -> None:
    """Update the dynamic groups for changed users, given by tenant and id.

    Other members stay.
    """
    by_tenant: dict[UUID, list[UUID]] = {}
    for tenant_id, user_id in sorted(users):
        by_tenant.setdefault(tenant_id, []).append(user_id)
    for tenant_id, changed in by_tenant.items():
        rules: dict[UUID, Rule] = {}
        for row in await connection.fetch(SQL["rules"], tenant_id):
            try:
                rules[row["id"]] = read_rule(row["membership_rule"])
            except RuleInvalid:
                continue
        if rules:
            groups = list(rules)
            found = await rules_by_user(connection, tenant_id, changed, list(rules.values()))
            rows = await connection.fetch(SQL["memberships"], tenant_id, groups, changed)
            before = {(row[0], row[1]) for row in rows}
            await _change(connection, tenant_id, before, {(groups[at], user) for at, user in found})


async def _change(connection: Connection, tenant_id: UUID, before: set[_Pair], after: set[_Pair]) -> None:
    # Sorted by key, to avoid deadlocks.
    joining, leaving = sorted(after - before), sorted(before - after)
    if leaving:
        groups, members = [pair[0] for pair in leaving], [pair[1] for pair in leaving]
        await connection.execute(SQL["leave"], tenant_id, groups, members)
        await connection.execute(SQL["go"], tenant_id, groups, members)
    if joining:
        await connection.execute(SQL["join"], tenant_id, [pair[0] for pair in joining], [pair[1] for pair in joining])


async def users_by_rule(database: Queryable, tenant_id: UUID, rule: str) -> list[UUID]:
    """Find the users of the tenant that the rule selects. Raises RuleInvalid."""
    parameters: list[object] = [tenant_id]
    condition = _user_condition(read_rule(rule), parameters)
    # The condition has only fixed pieces; all values of the rule are parameters.
    statement = f"SELECT u.id FROM directory.users u WHERE u.tenant_id = $1 AND {condition} ORDER BY u.id"  # noqa: S608
    return [row[0] for row in await database.fetch(statement, *parameters)]


async def rules_by_user(
    database: Queryable, tenant_id: UUID, users: Sequence[UUID], rules: Sequence[Rule]
) -> list[tuple[int, UUID]]:
    """Find the rules that select these users.

    Returns pairs of a rule's index and a user.
    """
    found: list[tuple[int, UUID]] = []
    for start in range(0, len(rules), _RULES_PER_STATEMENT):
        parameters: list[object] = [tenant_id, users]
        batch = rules[start : start + _RULES_PER_STATEMENT]
        conditions = ", ".join(_user_condition(rule, parameters) for rule in batch)
        statement = (
            f"SELECT u.id, ARRAY[{conditions}] FROM directory.users u "  # noqa: S608 - fixed pieces, as above.
            "WHERE u.tenant_id = $1 AND u.id = ANY ($2)"
        )
        for user, matches in await database.fetch(statement, *parameters):
            found += [(start + at, user) for at, is_selected in enumerate(matches) if is_selected]
    return found


def _user_condition(rule: Rule, parameters: list[object]) -> str:
    # No user is a device, even if the rule is negated.
    return "false" if kind_of(rule) is Kind.DEVICE else condition_of(rule, parameters)


def condition_of(rule: Rule, parameters: list[object]) -> str:
    """Return the rule as SQL and append its values to the parameters.

    A missing value equals only null.
    """
    return _RuleTranslator(parameters).translate(rule)


# Each property of users as SQL, from a row `u` of directory.users.
_EXPRESSIONS = {
    "objectId": "u.id::text",
    "displayName": "u.display_name",
    "userPrincipalName": "u.user_principal_name",
    "mail": "u.mail",
    "userType": "u.user_type",
    "accountEnabled": "u.account_enabled",
    **{name: f"u.properties ->> '{name}'" for name in FURTHER},
}


class _RuleTranslator(Translator[Comparison]):
    def __init__(self, parameters: list[object]) -> None:
        self._parameters = parameters

    def _comparison(self, leaf: Comparison) -> str:
        # No statement has a condition about devices, because the directory has none.
        expression = _EXPRESSIONS[leaf.property.name] if leaf.property.kind is Kind.USER else "NULL"
        value = leaf.value
        if value is None:
            return f"({expression}) IS NULL"
        self._parameters.append(list(value) if isinstance(value, tuple) else value)
        return f"coalesce({self._condition(expression, leaf.operator, value)}, false)"

    def _condition(self, expression: str, operator: Operator, value: object) -> str:
        parameter = f"${len(self._parameters)}"
        match operator:
            case Operator.EQUAL if isinstance(value, bool):
                return f"({expression}) = {parameter}::boolean"
            case Operator.EQUAL:
                return f"lower({expression}) = lower({parameter}::text)"
            case Operator.STARTS_WITH:
                return f"starts_with(lower({expression}), lower({parameter}::text))"
            case Operator.CONTAINS:
                return f"position(lower({parameter}::text) IN lower({expression})) > 0"
            case Operator.IN:
                return f"lower({expression}) = ANY (directory.lowered({parameter}::text[]))"
            case Operator.MATCH:
                return f"({expression}) ~* {parameter}::text"
