"""The tour of the README, word for word, as a newcomer takes it: a fresh clone, its own set-up, a browser."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chromium import open_browser_user
from tests.docs.commands import documents
from tests.docs.pages import ROOT, shell_blocks
from tests.docs.terminals import Terminal
from tests.folders import data_folder
from tests.services import ADA_MAIL, Service, free_port

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium"), pytest.mark.timeout(900)]

# The installation needs the network.
SET_UP_WITHIN = 600


def test_it_works(tmp_path: Path) -> None:
    clone = tmp_path / "chamberlain"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    # The last one, of measurements, is no part of the tour.
    start, login, ask, by_sdk, by_http, _ = shell_blocks(clone / "README.md")

    with data_folder() as folder, newcomer(start, clone, folder) as (service, environment):
        here = {"127.0.0.1:8365": f"127.0.0.1:{service.port}"}
        terminal = Terminal(clone, environment, here)
        with open_browser_user(password_folder(service)) as browser_user:
            signed_in = terminal.sign_in(login, browser_user)
        asked, by_program = terminal.type(ask), terminal.type(by_sdk)
        accepted, found = documents(terminal.type(by_http))

    assert f"{ADA_MAIL} is signed in at {service.url}.\n" in signed_in
    assert "orchard@estate.example" in asked
    assert "lucerne@rooms.estate.example" in asked
    assert [line.split("\t")[2] for line in asked.splitlines()[-2:]] == ["succeeded", "succeeded"]
    assert by_program == "meadow@estate.example\n"
    assert [group["chamberlain_group"]["requestId"] for group in found["value"]] == [accepted["requestId"]]


@contextmanager
def newcomer(start: str, clone: Path, folder: Path) -> Iterator[tuple[Service, Mapping[str, str]]]:
    """The service as the first line of the README starts it, and the environment of that shell.

    Only the port and the folders differ.
    """
    command = start.splitlines()[0].partition("#")[0].split()
    port, log = free_port(), folder / "log"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CHAMBERLAIN_", "VIRTUAL_ENV"))}
    own = {
        "CHAMBERLAIN_PORT": str(port),
        "CHAMBERLAIN_DATA_DIR": str(folder),
        "CHAMBERLAIN_CONFIG_DIR": str(folder / "c"),
    }
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command, cwd=clone, env=kept | own, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL
        )
    service = Service(process, log, port, folder, own)
    try:
        service.wait_until_ready(within=SET_UP_WITHIN)
        yield service, kept | own
    finally:
        service.stop()


def password_folder(service: Service) -> Path:
    """Where the passwords are, as the service has said at its start."""
    (line,) = [line for line in service.said().splitlines() if line.startswith("The passwords of the example users")]
    return Path(line.removesuffix(".").rpartition(" ")[2]).parent
