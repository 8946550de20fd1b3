# SPDX-License-Identifier: Apache-2.0
"""open-suite.md, followed to the letter on four servers."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chamberlain.directory.opensuite.check import Item
from tests.docs.pages import ROOT, named, rows, section
from tests.suite.conftest import SYNAPSE

PAGE = ROOT / "docs" / "how-to" / "open-suite.md"


@pytest.fixture
def servers_folder() -> Iterator[Path]:
    """A folder for what four servers write."""
    folder = Path(tempfile.mkdtemp(prefix="suite-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


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
