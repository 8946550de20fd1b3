"""Makes a filter into a condition on a row `g` of directory.groups or `u` of directory.users. `$1` is the tenant.

The condition consists of the fixed pieces below; everything that the filter says becomes a parameter. Texts are
compared without regard to case, and what has no value equals nothing but null.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from chamberlain.embedded.directory.graph.filters import AllOf, AnyOf, Equals, Filter, HasType, Not, StartsWith


@dataclass(frozen=True, slots=True)
class Subject:
    """What a filter is about: its id, the column of each property, which of them are addresses, and where the values of
    its extension attributes are found. `lowered` are columns that hold a property in lower case; it is never absent.
    """

    id: str
    columns: Mapping[str, str]
    addresses: frozenset[str]
    values: str
    lowered: Mapping[str, str]


# A value is found by the index of its table, whatever else the filter says. Only lower() on a parameter is allowed:
# beside a column it would keep row-level security from using the index.
GROUPS = Subject(
    id="g.id",
    columns={"displayName": "g.display_name", "mailNickname": "g.mail_nickname", "mail": "g.mail", "id": "g.id::text"},
    addresses=frozenset({"mail"}),
    values="SELECT v.group_id FROM directory.extension_values v "
    "WHERE v.tenant_id = $1 AND v.name = {} AND v.member = {}",
    lowered={"displayName": "g.sorted_name"},
)
USERS = Subject(
    id="u.id",
    columns={
        "displayName": "u.display_name",
        "mailNickname": "split_part(u.user_principal_name, '@', 1)",
        "mail": "u.mail",
        "userPrincipalName": "u.user_principal_name",
        "userType": "u.user_type",
        "id": "u.id::text",
    },
    addresses=frozenset({"mail", "userPrincipalName"}),
    values="SELECT v.user_id FROM directory.user_extension_values v "
    "WHERE v.tenant_id = $1 AND v.name = {} AND v.member = {}",
    lowered={},
)
ROOMS = Subject(
    id="m.user_id",
    columns={"displayName": "u.display_name", "emailAddress": "u.mail", "id": "u.id::text"},
    addresses=frozenset({"emailAddress"}),
    values=USERS.values,
    lowered={},
)

_HOLDERS_OF = "SELECT a.holder_id FROM directory.addresses a WHERE a.tenant_id = $1 AND a.address = ANY ({})"


class Parameters(list[object]):
    """The values of a statement, in order."""

    def add(self, value: object, kind: str) -> str:
        """Add one; the answer is what stands for it in the statement."""
        self.append(value)
        return f"${len(self)}::{kind}"


def condition_of(wanted: Filter, parameters: Parameters, subject: Subject) -> str:
    """The filter as SQL, with its values added to the parameters."""
    match wanted:
        case AllOf(parts):
            return "(" + " AND ".join(condition_of(part, parameters, subject) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(condition_of(part, parameters, subject) for part in parts) + ")"
        case Not(part):
            return f"NOT {condition_of(part, parameters, subject)}"
        case HasType(group_type):
            return f"(lower({parameters.add(group_type, 'text')}) = ANY (directory.lowered(g.group_types)))"
        case StartsWith():
            return _starts_with(wanted, parameters, subject)
        case Equals():
            return _equals(wanted, parameters, subject)


def _starts_with(wanted: StartsWith, parameters: Parameters, subject: Subject) -> str:
    if wanted.path.extension is None:
        column, text = subject.columns[wanted.path.member], parameters.add(wanted.text, "text")
        return f"coalesce(starts_with(lower({column}), lower({text})), false)"
    values = subject.values.format(
        parameters.add(wanted.path.extension, "text"), parameters.add(wanted.path.member, "text")
    )
    return f"({subject.id} IN ({values} AND starts_with(v.value, lower({parameters.add(wanted.text, 'text')}))))"


def _equals(wanted: Equals, parameters: Parameters, subject: Subject) -> str:
    texts = [value for value in wanted.values if value is not None]
    parts = [_one_of(wanted, texts, parameters, subject)] if texts else []
    if None in wanted.values:
        parts.append(_has_none(wanted, parameters, subject))
    return "(" + " OR ".join(parts) + ")"


def _one_of(wanted: Equals, texts: list[str], parameters: Parameters, subject: Subject) -> str:
    path = wanted.path
    if path.extension is not None:
        values = subject.values.format(parameters.add(path.extension, "text"), parameters.add(path.member, "text"))
        return f"{subject.id} IN ({values} AND v.value = ANY (directory.lowered({parameters.add(texts, 'text[]')})))"
    if path.member == "id":
        return f"{subject.id} = ANY ({parameters.add(_ids(texts), 'uuid[]')})"
    lowered = f"directory.lowered({parameters.add(texts, 'text[]')})"
    if path.member in subject.lowered:
        return f"{subject.lowered[path.member]} = ANY ({lowered})"
    same = f"coalesce(lower({subject.columns[path.member]}) = ANY ({lowered}), false)"
    if path.member in subject.addresses:
        # The address finds the holder by an index; whether it is this one of the holder's addresses is seen there.
        return f"({subject.id} IN ({_HOLDERS_OF.format(lowered)}) AND {same})"
    return same


def _has_none(wanted: Equals, parameters: Parameters, subject: Subject) -> str:
    path = wanted.path
    if path.extension is None:
        return f"{subject.columns[path.member]} IS NULL"
    values = subject.values.format(parameters.add(path.extension, "text"), parameters.add(path.member, "text"))
    return f"{subject.id} NOT IN ({values})"


def _ids(texts: list[str]) -> list[UUID]:
    # What is no id is the id of nothing.
    return [UUID(text) for text in texts if _ID.fullmatch(text)]


# UUID takes more spellings than an id has.
_ID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
