"""The commands of README and tutorial do what the pages say, word for word."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service, running_service

# JSON documents, whose types are what is tested here.
Json = Any

PROGRAMS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as running:
        yield running


def run(service: Service, *blocks: str) -> list[Json]:
    """Run blocks in one shell, as somebody does who copies them, against this service in place of the usual address.

    Answers the JSON documents that they print.
    """
    script = "set -eu\n" + "\n".join(f"{block}\necho" for block in blocks)
    script = script.replace("127.0.0.1:8365", f"127.0.0.1:{service.port}").replace(".venv/bin/", f"{PROGRAMS}/")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env={**os.environ, "CHAMBERLAIN_PORT": str(service.port), "CHAMBERLAIN_DATA_DIR": str(service.data_dir)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return list(documents(done.stdout))


def documents(text: str) -> Iterator[Json]:
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        yield document
        text = text[end:]


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
