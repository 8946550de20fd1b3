"""Who follows a membership rule: the rule is made into a condition with parameters and asked of the database.

It is not evaluated here, because the users of a large tenant need not travel for that, and because the database matches
patterns without back-tracking.
"""

from collections.abc import Sequence
from uuid import UUID

from chamberlain.embedded.directory.database import Queryable
from chamberlain.embedded.directory.membership import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    Operator,
    Rule,
    kind_of,
    read_rule,
)
from chamberlain.embedded.directory.properties import Kind

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
