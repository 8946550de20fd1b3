# SPDX-License-Identifier: Apache-2.0
"""Every package reads its SQL statements from one file, and each statement has a purpose and a use."""

import re
from pathlib import Path

import pytest

from chamberlain.queries import FILE, load_queries, parse_queries

SOURCES = Path(__file__).resolve().parents[2] / "src"
PACKAGES = sorted(path.parent for path in SOURCES.rglob(FILE))
pytestmark = pytest.mark.pure


def test_it_includes_other_statements() -> None:
    text = "-- name: columns\n-- Columns.\na, b\n\n-- name: find\n-- Find a row.\nSELECT {columns}\nFROM c -- all\n"

    assert parse_queries(text) == {"columns": "a, b", "find": "SELECT a, b\nFROM c -- all"}


def test_it_refuses_a_name_that_occurs_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        parse_queries("-- name: find\nSELECT 1\n-- name: find\nSELECT 2\n")


def test_it_refuses_an_unknown_include() -> None:
    with pytest.raises(KeyError, match="columns"):
        parse_queries("-- name: find\nSELECT {columns}\n")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_every_statement_has_a_purpose_and_a_use(package: Path) -> None:
    text = (package / FILE).read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in package.glob("*.py"))
    statements = load_queries(".".join((*package.relative_to(SOURCES).parts, "store")))

    used = set(re.findall(r'\bSQL\["(\w+)"\]', code)) | set(re.findall(r"\{([a-z_]+)\}", text)) - {"name"}
    assert used == set(statements)
    assert text.count("-- name: ") == len(re.findall(r"^-- name: \w+\n-- \S", text, re.MULTILINE)) == len(statements)
    assert all(statements.values())
    # A purpose that fits two statements describes neither.
    purposes = re.findall(r"^-- name: \w+\n((?:-- .*\n)+)", text, re.MULTILINE)
    assert len(set(purposes)) == len(purposes)
