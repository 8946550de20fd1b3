# SPDX-License-Identifier: Apache-2.0
"""open-suite.md, followed to the letter on four servers."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chamberlain.directory.opensuite.check import Item
from tests.docs.pages import ROOT, named, rows, section
from tests.suite.suite_folders import SYNAPSE, suite_folder

PAGE = ROOT / "docs" / "how-to" / "open-suite.md"


@pytest.fixture
def servers_folder() -> Iterator[Path]:
    """A folder for what four servers write."""
    with suite_folder() as folder:
        folder.chmod(0o755)
        yield folder


@pytest.mark.needs("namespaces")
@pytest.mark.timeout(600)
def test_it_works(servers_folder: Path) -> None:
    namespaces = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    done = subprocess.run(
        [*namespaces, sys.executable, "-m", "tests.suite.follow_open_suite", servers_folder, SYNAPSE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_it_names_every_item_of_the_check() -> None:
    table = section(PAGE, "## 6. Connect the tenant")

    assert [row[0] for row in rows(table)] == list(Item)
    assert named(table) == []
