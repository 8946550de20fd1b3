# SPDX-License-Identifier: Apache-2.0
"""The page about permissions has those of the features of Microsoft 365."""

import re

import pytest

from chamberlain.directory.features import Feature
from chamberlain.directory.microsoft365.permissions import required
from tests.docs.pages import ROOT, section

PAGE = ROOT / "docs" / "how-to" / "reduce-permissions.md"
pytestmark = pytest.mark.pure


def test_it_names_every_directory_permission_and_no_other() -> None:
    known = {name for feature in Feature for name in required([feature])}
    first_cells = re.findall(r"^\| (`[^|]+) \|", section(PAGE, "## Directory permissions"), re.MULTILINE)

    assert {name for cell in first_cells for name in re.findall(r"`([\w.]+)`", cell)} == known
