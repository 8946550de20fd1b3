# SPDX-License-Identifier: Apache-2.0
"""The job of examples/ci: its page runs the same command, and each of its files exists."""

import pytest
import yaml

from tests.docs.pages import ROOT, shell_blocks

FOLDER = ROOT / "examples" / "ci"

pytestmark = pytest.mark.pure


def test_it_works() -> None:
    job = yaml.safe_load((FOLDER / "workflow.yaml").read_text(encoding="utf-8"))["jobs"]["test"]

    install, run = (step["run"] for step in job["steps"] if "run" in step)

    (block,) = shell_blocks(FOLDER / "README.md")
    assert block.splitlines()[-1] == run
    assert install.endswith("--find-links dist chamberlain")
