# SPDX-License-Identifier: Apache-2.0
"""The tour of the README, word for word, as a newcomer takes it: a fresh clone, its own set-up, a browser."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.chromium import BrowserUser, open_browser_user
from tests.docs.homes import DATA, as_user, give, home
from tests.docs.pages import ROOT, labels, shell_blocks
from tests.docs.terminals import Terminal
from tests.services import ADA_MAIL, CLEO_MAIL, Service, free_port

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium"), pytest.mark.timeout(900)]

# The installation needs the network.
SET_UP_WITHIN = 600


def test_it_works() -> None:
    start, login, ask = shell_blocks(ROOT / "README.md")

    with home() as folder, newcomer(start, folder) as service:
        with open_browser_user(password_folder(service), CLEO_MAIL) as browser_user:
            room = request_room(browser_user, service)
        terminal = Terminal(folder / "chamberlain", service)
        with open_browser_user(password_folder(service)) as browser_user:
            signed_in = terminal.sign_in(login, browser_user)
        asked = terminal.type(ask)

    assert "@rooms.estate.example" in room
    assert f"{ADA_MAIL} is signed in at {service.url}.\n" in signed_in
    assert "orchard@estate.example" in asked
    assert "lucerne@rooms.estate.example" in asked


def request_room(user: BrowserUser, service: Service) -> str:
    """Request a room in the console, as the README says; the text of its page."""
    page, (room, send) = user.page, labels(ROOT / "README.md")[:2]
    page.goto(f"{service.url}/console/")
    page.get_by_label("Work address").fill(user.address)
    page.get_by_role("button", name="Continue").click()
    user.sign_in()
    page.get_by_role("link", name=room).first.click()
    page.get_by_label("Name").first.fill("Geneva")
    page.get_by_role("button", name=send).click()
    expect(page.locator("main[data-page=request] .state.good").first).to_be_visible()
    return page.locator("main").inner_text()


@contextmanager
def newcomer(start: str, folder: Path) -> Iterator[Service]:
    """The service as the first line of the README starts it in a fresh clone. Only the port differs."""
    clone = folder / "chamberlain"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    give(clone)
    command = start.splitlines()[0].partition("#")[0].split()
    port, log = free_port(), folder / "log"
    own = {"HOME": str(folder), "CHAMBERLAIN_PORT": str(port)}
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [*as_user(), *command],
            cwd=clone,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **own},
            stdout=stream,
            stderr=stream,
            stdin=subprocess.DEVNULL,
        )
    service = Service(process, log, port, folder / DATA, own)
    try:
        service.wait_until_ready(within=SET_UP_WITHIN)
        yield service
    finally:
        service.stop()


def password_folder(service: Service) -> Path:
    """Where the passwords are, as the service has said at its start."""
    (line,) = [line for line in service.said().splitlines() if line.startswith("The passwords of the example users")]
    return Path(line.removesuffix(".").rpartition(" ")[2]).parent
