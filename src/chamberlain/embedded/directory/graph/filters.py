# SPDX-License-Identifier: Apache-2.0
"""Parses `$filter`, and translates it into a SQL condition.

    filter      := all ("or" all)*
    all         := one ("and" one)*
    one         := "not" one | "(" filter ")" | "startswith(" path "," text ")"
                 | collection "/any(" name ":" name "eq" text ")" | path ("eq" | "ne") value | path "in" "(" values ")"
    collection  := "groupTypes" | "proxyAddresses"
    path        := property | extension "/" member

A text is in single quotes, and a quote in it is doubled.

The rows of the condition are `g` of directory.groups and `u` of directory.users. It consists of fixed pieces, with a
parameter for each value of the filter; `$1` is the tenant. Texts are case-insensitive, and a missing value equals only
null.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from chamberlain.core.directory_filters import Comparison, Equals, Filter, HasAddress, HasType, Path, StartsWith
from chamberlain.core.expressions import MOST_LEVELS, Not, Parser, Token
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.expressions import Translator

MOST_CHARACTERS = 2048
MOST_VALUES = 100

_NAME = "[A-Za-z_][A-Za-z0-9_]*"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The text properties and text collections that a filter can use."""

    properties: frozenset[str]
    collections: frozenset[str] = frozenset()


GROUP_VOCABULARY = Vocabulary(
    frozenset({"id", "displayName", "mailNickname", "mail"}), frozenset({"groupTypes", "proxyAddresses"})
)


# The filter of nearly all callers who wait for a group. The parser would take ten times as long.
_COMMON = re.compile(rf"({_NAME})/({_NAME}) eq '([^']*)'")


def read_filter(text: str, vocabulary: Vocabulary = GROUP_VOCABULARY) -> Filter:
    """Validate a filter and return its tree. Raises BadQuery with the position."""
    if len(text) > MOST_CHARACTERS:
        message = f"A filter ends at position {MOST_CHARACTERS} at the latest; this one has {len(text)} characters."
        raise BadQuery("Request_UnsupportedQuery", message)
    common = _COMMON.fullmatch(text)
    if common is not None and common[1] not in vocabulary.collections:
        return Equals(Path(common[1], common[2]), (common[3],))
    return _FilterParser(text, vocabulary).parse()


class _FilterParser(Parser[Comparison]):
    tokens = re.compile(
        rf"""\s*(?:
          (?P<text>'(?:[^']|'')*')
        | (?P<word>{_NAME}(?:/{_NAME})?)
        | (?P<sign>[(),:])
        | (?P<end>\Z)
        )""",
        re.VERBOSE,
    )
    words = ("or", "and", "not")
    end = "'and', 'or' or the end of the filter"

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        super().__init__(text)

    def _comparison(self) -> Filter:
        if self._took("startswith"):
            return self._starts_with()
        if "groupTypes" in self._vocabulary.collections and self._took("groupTypes/any"):
            return HasType(self._any_value())
        if "proxyAddresses" in self._vocabulary.collections and self._took("proxyAddresses/any"):
            return HasAddress(self._any_value())
        path = self._path()
        if self._took("eq"):
            return Equals(path, (self._value(),))
        if self._took("ne"):
            return Not(Equals(path, (self._value(),)))
        if self._took("in"):
            return Equals(path, self._values())
        raise self._expected("One of the operators eq, ne and in")

    def _starts_with(self) -> Filter:
        self._must("startswith", "(")
        path = self._path()
        self._must("the property", ",")
        text = self._string()
        self._must("the text", ")")
        return StartsWith(path, text)

    def _any_value(self) -> str:
        self._must("any", "(")
        name = self._word("A name such as c")
        self._must("the name", ":")
        if not self._took(name) or not self._took("eq"):
            raise self._expected("A comparison such as c:c eq 'Unified'")
        value = self._string()
        self._must("the text", ")")
        return value

    def _path(self) -> Path:
        start = self._token
        name = self._word("A property")
        extension, slash, member = name.partition("/")
        if slash:
            return Path(extension, member)
        if name not in self._vocabulary.properties:
            where = self._where(start.position)
            raise BadQuery("Request_UnsupportedQuery", f"'{name}' {where} is no property that a filter can use.")
        return Path(None, name)

    def _values(self) -> tuple[str | None, ...]:
        start = self._token
        self._must("in", "(")
        values = [self._value()]
        while self._took(","):
            values.append(self._value())
        self._must("the values", ")")
        if len(values) > MOST_VALUES:
            raise self._too_complex(f"is a list of more than {MOST_VALUES} values", start)
        return tuple(values)

    def _value(self) -> str | None:
        return None if self._took("null") else self._string()

    def _string(self) -> str:
        if self._token.kind != "text":
            raise self._expected("A text in single quotes")
        return self._take().text[1:-1].replace("''", "'")

    def _word(self, what: str) -> str:
        if self._token.kind != "word":
            raise self._expected(what)
        return self._take().text

    def _must(self, after: str, sign: str) -> None:
        if not self._took(sign):
            raise self._expected(f"'{sign}' after {after}" if sign != ")" else "A closing bracket")

    def _expected(self, what: str) -> BadQuery:
        where = self._where(self._token.position)
        return BadQuery("BadRequest", f"Invalid filter clause: {what} was expected {where}.")

    def _too_deep(self) -> BadQuery:
        return self._too_complex(f"is nested more than {MOST_LEVELS} levels deep", self._token)

    def _too_complex(self, why: str, token: Token) -> BadQuery:
        return BadQuery("Request_UnsupportedQuery", f"The clause at position {token.position} {why}.")

    def _no_token(self, position: int) -> BadQuery:
        return BadQuery("BadRequest", f"Invalid filter clause: no word, text or bracket {self._where(position)}.")

    def _where(self, position: int) -> str:
        return f"at position {position} in '{self._text}'"


@dataclass(frozen=True, slots=True)
class Subject:
    """The SQL of a resource: its id, columns and extension values.

    `addresses` are the properties with addresses. `lowered` are columns with a property
    in lower case, never null. `proxies` is the condition on a parameter with a proxy address in lower case.
    """

    id: str
    columns: Mapping[str, str]
    addresses: frozenset[str]
    values: str
    lowered: Mapping[str, str]
    proxies: str = "false"


# Each filter by an extension value can use the index. lower() is applied only to parameters: with lower() on a column,
# row-level security prevents the index.
GROUPS = Subject(
    id="g.id",
    columns={"displayName": "g.display_name", "mailNickname": "g.mail_nickname", "mail": "g.mail", "id": "g.id::text"},
    addresses=frozenset({"mail"}),
    values="SELECT v.group_id FROM directory.extension_values v "
    "WHERE v.tenant_id = $1 AND v.name = {} AND v.member = {}",
    lowered={"displayName": "g.sorted_name"},
    proxies="lower(g.mail) = {}",
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
    proxies="(lower(u.mail) = {0} OR EXISTS (SELECT FROM directory.mailboxes x "
    "WHERE x.tenant_id = $1 AND x.user_id = u.id AND {0} = ANY (directory.lowered(x.aliases))))",
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
            case HasAddress(address):
                return self._has_address(address)
            case StartsWith(path, text):
                return self._starts_with(path, text)
            case Equals(path, values):
                texts = [value for value in values if value is not None]
                parts = [self._one_of(path, texts)] if texts else []
                if None in values:
                    parts.append(self._has_none(path))
                return "(" + " OR ".join(parts) + ")"

    def _has_address(self, address: str) -> str:
        kind, _, plain = address.rpartition(":")
        if kind.lower() != "smtp":
            return "false"
        # The index finds the owner by any of its addresses; a user principal name is not a proxy address.
        parameter = f"lower({self._parameters.add(plain, 'text')})"
        owner = _OWNERS_OF.format(f"ARRAY[{parameter}]")
        return f"({self._subject.id} IN ({owner}) AND coalesce({self._subject.proxies.format(parameter)}, false))"

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
