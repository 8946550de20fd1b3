"""Who follows a membership rule: the rule is made into a condition with parameters and asked of the database.

It is not evaluated here, because the users of a large tenant need not travel for that, and because the database matches
patterns without back-tracking.
"""

from uuid import UUID

from chamberlain.embedded.directory.database import Queryable
from chamberlain.embedded.directory.membership import AllOf, AnyOf, Comparison, Not, Operator, Rule, read_rule


async def users_by_rule(database: Queryable, tenant_id: UUID, rule: str) -> list[UUID]:
    """The users of the tenant that the rule names. Raises BadRule."""
    parameters: list[object] = [tenant_id]
    condition = condition_of(read_rule(rule), parameters)
    # The condition is put together from fixed pieces; whatever the rule says is a parameter.
    statement = f"SELECT u.id FROM directory.users u WHERE u.tenant_id = $1 AND {condition} ORDER BY u.id"  # noqa: S608
    return [row[0] for row in await database.fetch(statement, *parameters)]


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
