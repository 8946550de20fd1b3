"""The tutorial about the first room, word for word, from signing in to the rooms of a spreadsheet."""

import os
from pathlib import Path

import pytest

from tests.chromium import open_browser_user
from tests.docs.commands import PROGRAMS, documents
from tests.docs.pages import ROOT, shell_blocks
from tests.docs.terminals import Terminal
from tests.services import ADA_MAIL, Service

PAGE = ROOT / "docs" / "tutorial" / "first-room.md"


@pytest.mark.heavy
@pytest.mark.needs("chromium")
def test_it_works(service: Service, tmp_path: Path) -> None:
    terminal = Terminal(
        tmp_path,
        {
            **os.environ,
            "CHAMBERLAIN_PORT": str(service.port),
            "CHAMBERLAIN_DATA_DIR": str(service.data_dir),
            "CHAMBERLAIN_CONFIG_DIR": str(tmp_path / "config"),
        },
        {"127.0.0.1:8365": f"127.0.0.1:{service.port}", ".venv/bin/": f"{PROGRAMS}/"},
    )
    login, whoami, create, see, requests, directory, write, look, carry_out, all_of_them, logout = shell_blocks(PAGE)

    with open_browser_user(service.data_dir) as browser_user:
        assert f"{ADA_MAIL} is signed in at {service.url}.\n" in terminal.sign_in(login, browser_user)
    assert ADA_MAIL in terminal.type(whoami)
    created = terminal.type(create)
    (places,) = documents(terminal.type(directory))
    terminal.type(write)
    planned = terminal.type(look)
    before = terminal.type(see)
    imported = terminal.type(carry_out)

    assert shown_steps() in created
    assert "zurich@rooms.estate.example" in created
    assert "zurich@rooms.estate.example" in before
    assert "Zurich, 5th floor" in terminal.type(requests)
    assert "Zurich, 5th floor" in {room["displayName"] for room in places["value"]}
    for name in ("basel", "geneva", "lugano"):
        assert f"{name}@rooms.estate.example" in planned
        assert f"{name}@rooms.estate.example" not in before
        assert f"{name}@rooms.estate.example" in terminal.type(all_of_them), imported
    assert f"{ADA_MAIL} is not signed in at {service.url} any more.\n" in terminal.type(logout)


def shown_steps() -> str:
    """The steps that the page shows."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("```\nZurich, 5th floor: queued\n")
    return "Zurich, 5th floor: queued\n" + rest.partition("```")[0]
