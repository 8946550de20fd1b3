# SPDX-License-Identifier: Apache-2.0
"""The commands of README and tutorial do what the pages say, word for word."""

import subprocess
import sys

import pytest

from tests.docs.commands import documents, outputs
from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    blocks = shell_blocks(ROOT / "docs" / "tutorial" / "first-group.md")
    *commands, token, ask, follow, find, refuse = blocks

    # People read between the blocks; a second is enough for the service.
    _, templates, created, shown, found, refused, *http = outputs(
        service, *commands, token, f"{ask}sleep 1", follow, find, refuse
    )
    accepted, request, listed, problem = documents("".join(http))

    assert "Project group" in templates
    assert "greenhouse@estate.example" in created
    assert "greenhouse@estate.example" in shown
    assert "greenhouse@estate.example" in found
    assert "Exit code 3" in refused
    assert request["requestId"] == accepted["requestId"]
    assert request["state"] == "succeeded"
    assert [group["id"] for group in listed["value"]] == [request["result"]["id"]]
    assert problem["code"] == "teamLicenseRequired"


def test_the_two_commands_of_the_readme_are_words_of_dev() -> None:
    first = shell_blocks(ROOT / "README.md")[0]
    words = [line.split()[2] for line in first.splitlines()]

    answer = subprocess.run([sys.executable, "dev.py"], cwd=ROOT, capture_output=True, text=True, check=True)

    assert words == ["run", "test"]
    assert all(f"  {word}" in answer.stdout for word in words)
