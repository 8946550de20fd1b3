# SPDX-License-Identifier: Apache-2.0
"""The tutorial about the first room, word for word, from signing in to the rooms of a spreadsheet."""

from collections.abc import Iterator

import pytest

from tests.chromium import open_browser_user
from tests.docs.commands import documents
from tests.docs.homes import new_project, service_of_user
from tests.docs.pages import ROOT, shell_blocks
from tests.docs.terminals import Terminal
from tests.services import ADA_MAIL, Service

PAGE = ROOT / "docs" / "tutorial" / "first-room.md"


@pytest.fixture
def service() -> Iterator[Service]:
    """A service of a user who has not signed in."""
    with service_of_user() as running:
        yield running


@pytest.mark.heavy
@pytest.mark.needs("chromium")
def test_it_works(service: Service) -> None:
    terminal = Terminal(new_project(service), service)
    login, whoami, create, see, requests, write, look, carry_out, all_of_them, by_http, directory, logout = (
        shell_blocks(PAGE)
    )

    with open_browser_user(service.data_dir) as browser_user:
        assert f"{ADA_MAIL} is signed in at {service.url}.\n" in terminal.sign_in(login, browser_user)
    assert ADA_MAIL in terminal.type(whoami)
    created = terminal.type(create)
    terminal.type(write)
    planned = terminal.type(look)
    before = terminal.type(see)
    imported = terminal.type(carry_out)
    (locarno,) = documents(terminal.type(by_http))
    (places,) = documents(terminal.type(directory))

    assert shown_steps() in created
    assert "zurich@rooms.estate.example" in created
    assert "zurich@rooms.estate.example" in before
    assert "Zurich, 5th floor" in terminal.type(requests)
    assert (locarno["type"], locarno["provisioningState"]) == ("room", "active")
    assert {"Zurich, 5th floor", "Locarno, 6th floor"} <= {room["displayName"] for room in places["value"]}
    for name in ("basel", "geneva", "lugano"):
        assert f"{name}@rooms.estate.example" in planned
        assert f"{name}@rooms.estate.example" not in before
        assert f"{name}@rooms.estate.example" in terminal.type(all_of_them), imported
    assert f"{ADA_MAIL} is not signed in at {service.url} any more.\n" in terminal.type(logout)


def shown_steps() -> str:
    """The steps that the page shows."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("```\nZurich, 5th floor: queued\n")
    return "Zurich, 5th floor: queued\n" + rest.partition("```")[0]
