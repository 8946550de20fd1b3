"""Makes a filter into a condition on a row `g` of directory.groups. `$1` is the tenant.

The condition consists of the fixed pieces below; everything that the filter says becomes a parameter. Texts are
compared without regard to case, and what has no value equals nothing but null.
"""

from typing import Final
from uuid import UUID

from chamberlain.embedded.directory.graph.filters import AllOf, AnyOf, Equals, Filter, HasType, Not, StartsWith

_COLUMNS: Final = {
    "displayName": "g.display_name",
    "mailNickname": "g.mail_nickname",
    "mail": "g.mail",
    "id": "g.id::text",
}

# A value is found by the index of its table, whatever else the filter says. Only lower() on a parameter is allowed:
# beside a column it would keep row-level security from using the index.
_VALUES_OF = (
    "SELECT v.group_id FROM directory.extension_values v WHERE v.tenant_id = $1 AND v.name = {} AND v.member = {}"
)
_HOLDERS_OF = "SELECT a.holder_id FROM directory.addresses a WHERE a.tenant_id = $1 AND a.address = ANY ({})"


class Parameters(list[object]):
    """The values of a statement, in order."""

    def add(self, value: object, kind: str) -> str:
        """Add one; the answer is what stands for it in the statement."""
        self.append(value)
        return f"${len(self)}::{kind}"


def condition_of(wanted: Filter, parameters: Parameters) -> str:
    """The filter as SQL, with its values added to the parameters."""
    match wanted:
        case AllOf(parts):
            return "(" + " AND ".join(condition_of(part, parameters) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(condition_of(part, parameters) for part in parts) + ")"
        case Not(part):
            return f"NOT {condition_of(part, parameters)}"
        case HasType(group_type):
            return f"(lower({parameters.add(group_type, 'text')}) = ANY (directory.lowered(g.group_types)))"
        case StartsWith():
            return _starts_with(wanted, parameters)
        case Equals():
            return _equals(wanted, parameters)


def _starts_with(wanted: StartsWith, parameters: Parameters) -> str:
    if wanted.path.extension is None:
        column, text = _COLUMNS[wanted.path.member], parameters.add(wanted.text, "text")
        return f"coalesce(starts_with(lower({column}), lower({text})), false)"
    values = _VALUES_OF.format(
        parameters.add(wanted.path.extension, "text"), parameters.add(wanted.path.member, "text")
    )
    return f"(g.id IN ({values} AND starts_with(v.value, lower({parameters.add(wanted.text, 'text')}))))"


def _equals(wanted: Equals, parameters: Parameters) -> str:
    texts = [value for value in wanted.values if value is not None]
    parts = [_one_of(wanted, texts, parameters)] if texts else []
    if None in wanted.values:
        parts.append(_has_none(wanted, parameters))
    return "(" + " OR ".join(parts) + ")"


def _one_of(wanted: Equals, texts: list[str], parameters: Parameters) -> str:
    path = wanted.path
    if path.extension is not None:
        values = _VALUES_OF.format(parameters.add(path.extension, "text"), parameters.add(path.member, "text"))
        return f"g.id IN ({values} AND v.value = ANY (directory.lowered({parameters.add(texts, 'text[]')})))"
    if path.member == "id":
        return f"g.id = ANY ({parameters.add(_ids(texts), 'uuid[]')})"
    lowered = f"directory.lowered({parameters.add(texts, 'text[]')})"
    if path.member == "mail":
        return f"g.id IN ({_HOLDERS_OF.format(lowered)})"
    return f"coalesce(lower({_COLUMNS[path.member]}) = ANY ({lowered}), false)"


def _has_none(wanted: Equals, parameters: Parameters) -> str:
    path = wanted.path
    if path.extension is None:
        return f"{_COLUMNS[path.member]} IS NULL"
    values = _VALUES_OF.format(parameters.add(path.extension, "text"), parameters.add(path.member, "text"))
    return f"g.id NOT IN ({values})"


def _ids(texts: list[str]) -> list[UUID]:
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            # What is no id is the id of no group.
            continue
    return found
