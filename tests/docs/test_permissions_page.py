# SPDX-License-Identifier: Apache-2.0
"""The page about permissions has the permissions that the rules know."""

import re

import pytest

from chamberlain.permissions import rules
from tests.docs.pages import ROOT, section

PAGE = ROOT / "docs" / "how-to" / "reduce-permissions.md"
pytestmark = pytest.mark.pure


def test_it_names_every_directory_permission_and_no_other() -> None:
    known = {name for value in vars(rules).values() if isinstance(value, frozenset) for name in value if "." in name}
    first_cells = re.findall(r"^\| (`[^|]+) \|", section(PAGE, "## Directory permissions"), re.MULTILINE)

    assert {name for cell in first_cells for name in re.findall(r"`([\w.]+)`", cell)} == known
