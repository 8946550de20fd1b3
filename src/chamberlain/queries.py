# SPDX-License-Identifier: Apache-2.0
"""Load the named SQL statements of a package from its `queries.sql`.

A line `-- name: NAME` begins a statement. The comment below it states the purpose. `{NAME}` includes another statement
or a fragment of the same file.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

FILE: Final = "queries.sql"
_STATEMENT = re.compile(r"^-- name: (?P<name>\w+)\n(?:--.*\n)*(?P<text>(?:(?!-- name: ).*\n)*)", re.MULTILINE)
_INCLUDE = re.compile(r"\{([a-z_]+)\}")


def load_queries(module: str) -> Mapping[str, str]:
    """Return the statements of the package of a module, by name.

    Raises KeyError for an unknown included name, and ValueError for a name that occurs twice.
    """
    return _load(module.rpartition(".")[0])


@cache
def _load(package: str) -> Mapping[str, str]:
    return parse_queries(files(package).joinpath(FILE).read_text(encoding="utf-8"))


def parse_queries(text: str) -> Mapping[str, str]:
    """Split a file into its statements, with includes replaced."""
    found = [(each["name"], each["text"].strip()) for each in _STATEMENT.finditer(text)]
    statements = dict(found)
    if len(statements) < len(found):
        raise ValueError("A statement name occurs twice.")

    def complete(statement: str) -> str:
        return _INCLUDE.sub(lambda include: complete(statements[include[1]]), statement)

    return MappingProxyType({name: complete(statement) for name, statement in statements.items()})
