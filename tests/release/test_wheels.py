# SPDX-License-Identifier: Apache-2.0
"""The files of a release, and an installation from them by an ordinary user with an empty home."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import chamberlain
from tests.docs.pages import ROOT
from tests.folders import data_folder
from tests.services import ADA_MAIL, API, COLLAB, Service, free_port

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

USER = "daemon"
# How pip reaches packages on this machine.
PIP = ("PIP_", "SSL_CERT_", "REQUESTS_CA_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class Newcomer:
    """An ordinary user with an empty home, who has no repository."""

    home: Path
    environment: Mapping[str, str]

    def run(self, *command: str, **variables: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.home,
            env={**self.environment, **variables},
            user=USER,
            group=USER,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[Service]:
        """`chamberlain serve` with defaults: its port comes from the environment."""
        log = self.home / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                ["chamberlain", "serve"],
                cwd=self.home,
                env=dict(self.environment),
                user=USER,
                group=USER,
                extra_groups=[],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        data = self.home / ".local" / "share" / "chamberlain"
        service = Service(process, log, int(self.environment["CHAMBERLAIN_PORT"]), data, {})
        try:
            service.wait_until_ready()
            yield service
        finally:
            service.stop()


def build(folder: Path, umask: int = -1) -> None:
    command = [sys.executable, str(ROOT / "dev.py"), "build", str(folder)]
    subprocess.run(command, check=True, capture_output=True, umask=umask)


@pytest.fixture(scope="module")
def dist() -> Iterator[Path]:
    """The files of a release, which other users may read."""
    with data_folder() as folder:
        build(folder / "dist", umask=0o022)
        yield folder / "dist"


@pytest.fixture
def newcomer() -> Iterator[Newcomer]:
    with data_folder() as folder:
        home = folder / "home"
        home.mkdir()
        os.chown(home, *(int(part) for part in id_of(USER)))
        kept = {name: value for name, value in os.environ.items() if name.upper().startswith(PIP)}
        own = {"HOME": str(home), "PATH": f"{home}/.local/bin:/usr/bin:/bin", "CHAMBERLAIN_PORT": str(free_port())}
        yield Newcomer(home, kept | own)


def id_of(user: str) -> tuple[str, str]:
    asked = (
        subprocess.run(["id", option, user], capture_output=True, text=True, check=True) for option in ("-u", "-g")
    )
    first, second = (done.stdout.strip() for done in asked)
    return first, second


def test_two_builds_have_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    build(tmp_path / "dist", umask=0o077)

    first, second = ({file.name: file.read_bytes() for file in each.iterdir()} for each in (dist, tmp_path / "dist"))
    version = chamberlain.__version__
    assert first == second
    assert sorted(first) == [
        "SHA256SUMS",
        f"chamberlain-{version}-py3-none-any.whl",
        f"chamberlain-{version}.cdx.json",
        f"chamberlain_client-{version}-py3-none-any.whl",
        "requirements.lock",
    ]


def test_the_wheels_have_the_files_of_the_packages_and_no_others(dist: Path) -> None:
    packed = {name for wheel in dist.glob("*.whl") for name in zipfile.ZipFile(wheel).namelist()}

    files = subprocess.run(
        ["git", "-C", ROOT / "src", "ls-files", "chamberlain", "chamberlain_client"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {name for name in packed if ".dist-info/" not in name} == set(files)


@pytest.mark.needs("pipx")
@pytest.mark.needs("root")
def test_an_ordinary_user_installs_it_and_requests_a_group_and_a_room(dist: Path, newcomer: Newcomer) -> None:
    def token(scope: str) -> str:
        return newcomer.run("chamberlain", "token", "--user", ADA_MAIL, "--scope", scope).strip()

    newcomer.run("pipx", "install", f"--pip-args=--find-links {dist}", "chamberlain")
    with newcomer.serving() as service:
        group = newcomer.run(
            *("chamberlain", "group", "create", "--template", "Project group", "--display-name", "Orchard", "--wait"),
            CHAMBERLAIN_TOKEN=token(COLLAB),
        )
        room = newcomer.run(
            *("chamberlain", "mailbox", "create", "--name", "lucerne", "--display-name", "Lucerne", "--wait"),
            *("--capacity", "8", "--whiteboard"),
            CHAMBERLAIN_TOKEN=token(f"{API}/mail/App.ReadWrite.All"),
        )
        doctor = newcomer.run("chamberlain", "doctor")
        status = {path: service.answers(path) for path in ("/docs", "/openapi.json")}

    assert "orchard@estate.example" in group
    assert "lucerne@rooms.estate.example" in room
    assert doctor
    assert status == {"/docs": 200, "/openapi.json": 200}
