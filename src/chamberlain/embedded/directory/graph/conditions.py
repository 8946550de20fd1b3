"""Translates a filter into a SQL condition.

The rows are `g` of directory.groups and `u` of directory.users. The condition consists of the fixed pieces below, with
a parameter for each value of the filter; `$1` is the tenant. Texts are case-insensitive, and a missing value equals
only null.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from chamberlain.embedded.directory.expressions import Translator
from chamberlain.embedded.directory.graph.filters import Comparison, Equals, Filter, HasType, Path, StartsWith


@dataclass(frozen=True, slots=True)
class Subject:
    """The SQL of a resource: its id, columns and extension values.

    `addresses` are the properties with addresses. `lowered` are columns with a property in lower case, never null.
    """

    id: str
    columns: Mapping[str, str]
    addresses: frozenset[str]
    values: str
    lowered: Mapping[str, str]


# Each filter by an extension value can use the index. lower() is applied only to parameters: with lower() on a column,
# row-level security prevents the index.
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

_OWNERS_OF = "SELECT a.holder_id FROM directory.addresses a WHERE a.tenant_id = $1 AND a.address = ANY ({})"


class Parameters(list[object]):
    """The parameters of a statement, in order."""

    def add(self, value: object, kind: str) -> str:
        """Add a parameter and return its placeholder."""
        self.append(value)
        return f"${len(self)}::{kind}"


def condition_of(wanted: Filter, parameters: Parameters, subject: Subject) -> str:
    """Return the filter as SQL and add its values to the parameters."""
    return _FilterTranslator(parameters, subject).translate(wanted)


class _FilterTranslator(Translator[Comparison]):
    def __init__(self, parameters: Parameters, subject: Subject) -> None:
        self._parameters = parameters
        self._subject = subject

    def _comparison(self, leaf: Comparison) -> str:
        match leaf:
            case HasType(group_type):
                return f"(lower({self._parameters.add(group_type, 'text')}) = ANY (directory.lowered(g.group_types)))"
            case StartsWith(path, text):
                return self._starts_with(path, text)
            case Equals(path, values):
                texts = [value for value in values if value is not None]
                parts = [self._one_of(path, texts)] if texts else []
                if None in values:
                    parts.append(self._has_none(path))
                return "(" + " OR ".join(parts) + ")"

    def _starts_with(self, path: Path, text: str) -> str:
        if path.extension is None:
            column = self._subject.columns[path.member]
            return f"coalesce(starts_with(lower({column}), lower({self._parameters.add(text, 'text')})), false)"
        values = self._extension_values(path)
        prefix = self._parameters.add(text, "text")
        return f"({self._subject.id} IN ({values} AND starts_with(v.value, lower({prefix}))))"

    def _one_of(self, path: Path, texts: list[str]) -> str:
        subject, add = self._subject, self._parameters.add
        if path.extension is not None:
            values = self._extension_values(path)
            return f"{subject.id} IN ({values} AND v.value = ANY (directory.lowered({add(texts, 'text[]')})))"
        if path.member == "id":
            # Texts that are no id match nothing.
            ids = [UUID(text) for text in texts if _ID.fullmatch(text)]
            return f"{subject.id} = ANY ({add(ids, 'uuid[]')})"
        lowered = f"directory.lowered({add(texts, 'text[]')})"
        if path.member in subject.lowered:
            return f"{subject.lowered[path.member]} = ANY ({lowered})"
        same = f"coalesce(lower({subject.columns[path.member]}) = ANY ({lowered}), false)"
        if path.member in subject.addresses:
            # The index finds the owner by any of its addresses; the second condition compares this property.
            return f"({subject.id} IN ({_OWNERS_OF.format(lowered)}) AND {same})"
        return same

    def _has_none(self, path: Path) -> str:
        if path.extension is None:
            return f"{self._subject.columns[path.member]} IS NULL"
        return f"{self._subject.id} NOT IN ({self._extension_values(path)})"

    def _extension_values(self, path: Path) -> str:
        extension, member = (self._parameters.add(name, "text") for name in (path.extension, path.member))
        return self._subject.values.format(extension, member)


# UUID() accepts more formats than an id has.
_ID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
