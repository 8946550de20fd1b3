# SPDX-License-Identifier: Apache-2.0
"""Parses `$search` of users, and translates it into a SQL condition.

    search := clause (("AND" | "OR") clause)*
    clause := '"' property ":" text '"'

AND binds stronger than OR. All words of a text are searched: words of the display name match by their beginning, other
properties as a whole by theirs. As in Graph, this needs the consistency header.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.filters import MOST_CHARACTERS, Parameters

MOST_CLAUSES: Final = 15

_CLAUSE = re.compile(r'"(\w+):([^"\\]+)"')
_COLUMNS: Final = {"displayName": "u.display_name", "mail": "u.mail", "userPrincipalName": "u.user_principal_name"}
_WORD = "EXISTS (SELECT FROM regexp_split_to_table(lower(normalize({}, NFC)), '[^[:alnum:]]+') AS w (word) WHERE {})"


@dataclass(frozen=True, slots=True)
class Clause:
    """A property, and the words in it."""

    name: str
    words: tuple[str, ...]


# Clauses that all apply, for each alternative.
Search = Sequence[Sequence[Clause]]


def read_search(text: str) -> Search:
    """Parse a search. Raises BadQuery."""
    clauses = [_clause(*found.groups()) for found in _CLAUSE.finditer(text)]
    between = _CLAUSE.sub("", text).split()
    if not clauses or len(between) != len(clauses) - 1 or not {"AND", "OR"} >= {*between}:
        raise BadQuery("BadRequest", 'A search is like "displayName:ada" OR "mail:ada", with AND or OR in between.')
    if len(clauses) > MOST_CLAUSES or len(text) > MOST_CHARACTERS:
        raise BadQuery("Request_UnsupportedQuery", f"A search has at most {MOST_CLAUSES} clauses.")
    alternatives = [[clauses[0]]]
    for word, clause in zip(between, clauses[1:], strict=True):
        if word == "OR":
            alternatives.append([])
        alternatives[-1].append(clause)
    return alternatives


def search_condition(search: Search, parameters: Parameters) -> str:
    """Return the search as SQL, and add its words to the parameters."""
    alternatives = [" AND ".join(_condition(each, parameters) for each in clauses) for clauses in search]
    return f"({' OR '.join(f'({each})' for each in alternatives)})"


def _clause(name: str, text: str) -> Clause:
    if name not in _COLUMNS:
        message = f"Unsupported property '{name}' in $search. These can be used: {', '.join(_COLUMNS)}."
        raise BadQuery("Request_UnsupportedQuery", message)
    split = re.split(r"[\W_]+", text) if name == "displayName" else text.split()
    return Clause(name, tuple(normalize("NFC", word) for word in split if word))


def _condition(clause: Clause, parameters: Parameters) -> str:
    if not clause.words:
        return "false"
    column = _COLUMNS[clause.name]
    begins = [f"starts_with({{}}, lower({parameters.add(word, 'text')}))" for word in clause.words]
    if clause.name == "displayName":
        return " AND ".join(_WORD.format(column, each.format("w.word")) for each in begins)
    return " AND ".join(f"coalesce({each.format(f'lower({column})')}, false)" for each in begins)
