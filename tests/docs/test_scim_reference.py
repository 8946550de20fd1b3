# SPDX-License-Identifier: Apache-2.0
"""The page of SCIM and the server say the same."""

import re

import pytest

from chamberlain.embedded.directory.scim.documents import MOST_MEMBERS, MOST_VALUES
from chamberlain.embedded.directory.scim.filters import MOST_CHARACTERS as LONGEST_FILTER
from chamberlain.embedded.directory.scim.filters import read_filter
from chamberlain.embedded.directory.scim.parameters import MOST_NAMES
from chamberlain.embedded.directory.scim.patch import MOST_OPERATIONS, MOST_STEPS
from chamberlain.embedded.directory.scim.paths import find_place
from chamberlain.embedded.directory.scim.schemas import DEFAULT_COUNT, ENTERPRISE, MOST_COUNT, USERS
from chamberlain.embedded.directory.scim.search import MOST_COMPARISONS
from chamberlain.embedded.directory.scim.server import MOST_BYTES
from tests.docs.pages import REFERENCE, rows, section

pytestmark = pytest.mark.pure
PAGE = REFERENCE / "scim.md"


def test_it_names_attributes_that_exist() -> None:
    for first, _ in rows(section(PAGE, "## Users")):
        prefix = f"{ENTERPRISE}:" if "extension" in first else ""
        for name in re.findall(r"`([\w.]+)`", first):
            assert find_place(USERS, f"{prefix}{name}") is not None, name


def test_it_names_the_operators_and_limits() -> None:
    table = {row[0]: row[1] for row in rows(section(PAGE, "## Filters, order and pages"))}
    operators = re.findall(r"`([a-z]{2})`", table["`filter`"])

    for operator in (one for one in operators if one not in ("pr", "or")):
        read_filter(f'userName {operator} "x"', USERS)
    assert len(operators) == 11
    text = PAGE.read_text(encoding="utf-8")
    large = [f"{figure:,}" for figure in (MOST_OPERATIONS, MOST_NAMES, MOST_MEMBERS, MOST_STEPS, MOST_COMPARISONS)]
    for figure in (*large, LONGEST_FILTER, DEFAULT_COUNT, MOST_COUNT, MOST_VALUES, f"{MOST_BYTES // 2**20} MiB"):
        assert str(figure) in text
