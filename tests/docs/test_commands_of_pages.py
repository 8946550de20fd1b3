"""The commands of README and tutorial do what the pages say, word for word."""

import subprocess
import sys

from tests.docs.commands import run
from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service


def test_it_works_with_the_five_lines_of_the_readme(service: Service) -> None:
    (block,) = [block for block in shell_blocks(ROOT / "README.md") if "curl" in block]
    assert len(block.splitlines()) == 5

    accepted, found = run(service, block)

    assert accepted.keys() == {"requestId", "tenantId", "approvalRequired"}
    assert [group["displayName"] for group in found["value"]] == ["Orchard"]
    assert found["value"][0]["chamberlain_group"] == {"requestId": accepted["requestId"]}


def test_it_works_with_the_tutorial(service: Service) -> None:
    blocks = shell_blocks(ROOT / "docs" / "tutorial" / "first-group.md")

    # People read between the blocks; a second is enough for the service.
    token, ask, follow, find, refused = blocks
    accepted, request, found, problem = run(service, token, f"{ask}sleep 1", follow, find, refused)

    assert request["requestId"] == accepted["requestId"]
    assert request["state"] == "succeeded"
    assert [group["id"] for group in found["value"]] == [request["result"]["id"]]
    assert problem["code"] == "teamLicenseRequired"


def test_the_two_commands_of_the_readme_are_words_of_dev() -> None:
    first = shell_blocks(ROOT / "README.md")[0]
    words = [line.split()[2] for line in first.splitlines()]

    answer = subprocess.run([sys.executable, "dev.py"], cwd=ROOT, capture_output=True, text=True, check=True)

    assert words == ["run", "test"]
    assert all(f"  {word}" in answer.stdout for word in words)
