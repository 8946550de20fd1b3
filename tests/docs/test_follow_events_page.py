# SPDX-License-Identifier: Apache-2.0
"""The page about following events does what it says, word for word."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chamberlain.settings import Settings
from tests.docs.commands import printed, run
from tests.docs.pages import ROOT, shell_blocks
from tests.services import ADA_MAIL, API, GROUP_TEMPLATE, Service

PAGE = ROOT / "docs" / "how-to" / "follow-events.md"


@pytest.fixture
def program(service: Service, tmp_path: Path) -> Path:
    """The program of the page, in a folder of its own."""
    (text,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    found = tmp_path / "follow.py"
    found.write_text(text.replace("127.0.0.1:8365", f"127.0.0.1:{service.port}"), encoding="utf-8")
    return found


def follow(service: Service, program: Path) -> list[str]:
    """The output of the program."""
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=program.parent,
        env={**os.environ, "TOKEN": service.token(ADA_MAIL, f"{API}/admin/Config.ReadWrite.All")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def ask(service: Service, name: str) -> str:
    """Let a group be made; gives the id of the request."""
    answer = service.post_group({"displayName": name, "templateId": GROUP_TEMPLATE})
    assert answer.status_code == 202, answer.text
    request_id = str(answer.json()["requestId"])
    assert service.wait_for_end(request_id)["state"] == "succeeded"
    return request_id


@pytest.mark.heavy
def test_it_works(service: Service, program: Path) -> None:
    first = ask(service, "Follow one")
    begin = follow(service, program)
    second = ask(service, "Follow two")
    behind = follow(service, program)
    again = follow(service, program)

    assert [line.split()[1:] for line in begin if first in line][-1] == ["group.created", first]
    # The first run is a read of the feed.
    assert [line.split()[1:] for line in behind] == [["request.accepted", second], ["group.created", second]]
    assert again == []


@pytest.mark.heavy
def test_it_shows_the_first_ones(service: Service) -> None:
    ask(service, "Follow three")
    at_the_command_line, over_http = shell_blocks(PAGE)

    printed_lines = printed(service, at_the_command_line).strip().splitlines()
    (page,) = run(service, over_http)

    assert [item["type"] in line for item, line in zip(page["items"], printed_lines, strict=False)] == [True] * 2
    assert 1 <= len(page["items"]) <= 2
    assert page["nextCursor"]


def test_it_names_how_long_events_are_kept() -> None:
    assert f"{Settings.model_fields['retention_events'].default} days" in PAGE.read_text(encoding="utf-8")
