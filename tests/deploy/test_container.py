# SPDX-License-Identifier: Apache-2.0
"""The Containerfile: what it copies, runs and asks is there, and works in an environment that is made the same way."""

import json
import os
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.deploy.documented_names import (
    DEFAULT_PORT,
    DEPLOY,
    SETTINGS,
    is_endpoint,
    lines_of,
    require_command,
    settings_in,
)
from tests.docs.pages import ROOT
from tests.folders import data_folder
from tests.postgres import MEMORY
from tests.services import COMMAND, GROUP_TEMPLATE, Service, free_port, wait_until

FILE = DEPLOY / "container" / "Containerfile"
INSTRUCTIONS = [tuple(line.split(maxsplit=1)) for line in lines_of(FILE)]


def said(instruction: str) -> list[str]:
    """The arguments of an instruction, for each occurrence."""
    return [rest for name, rest in INSTRUCTIONS if name == instruction]


def copied() -> list[tuple[list[str], str]]:
    """The copied paths of the tree, and their targets."""
    words = [rest.split() for rest in said("COPY") if not rest.startswith("--from")]
    return [(each[:-1], each[-1]) for each in words]


def health_check() -> list[str]:
    """The command that asks whether the service is well."""
    (check,) = said("HEALTHCHECK")
    return list(json.loads(check.partition("CMD ")[2]))


def test_it_works() -> None:
    (port,) = said("EXPOSE")
    (entry,), (command,) = map(json.loads, said("ENTRYPOINT")), map(json.loads, said("CMD"))
    (own_port,) = re.findall(r"'CHAMBERLAIN_PORT', '(\d+)'", health_check()[-1])
    (path,) = re.findall(r"'(/[^']+)'", health_check()[-1])

    assert settings_in(FILE.read_text(encoding="utf-8")) <= SETTINGS
    assert [name for names, _ in copied() for name in names if not (ROOT / name).exists()] == []
    assert entry == ["chamberlain"]
    require_command(command)
    assert int(port) == int(own_port) == DEFAULT_PORT
    assert is_endpoint(f"{path}/") or is_endpoint(path)


def test_a_build_is_handed_what_it_copies_and_nothing_that_is_made_here() -> None:
    left_out = [line.removeprefix("**/") for line in lines_of(ROOT / ".dockerignore")]
    made = [line.strip("/").partition("/")[0] for line in lines_of(ROOT / ".gitignore")]

    def is_left_out(name: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in left_out)

    assert [name for names, _ in copied() for name in names if is_left_out(name)] == []
    # The secrets of the compose file are made below the last one.
    assert [name for name in (*made, ".git", "deploy") if not is_left_out(name)] == []


def test_nobody_in_it_is_root() -> None:
    (user,) = said("USER")

    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert f"--uid {user.partition(':')[0]} " in FILE.read_text(encoding="utf-8")


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_its_commands_work_in_an_environment_that_is_made_the_same_way(tmp_path: Path) -> None:
    for names, target in copied():
        for name in names:
            place = tmp_path / target / ("" if (ROOT / name).is_dir() else name)
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, place)
    (setup,) = [rest for rest in said("RUN") if "dev.py" in rest]
    subprocess.run(["bash", "-c", setup], cwd=tmp_path, check=True, capture_output=True)
    programs, port = tmp_path / ".venv" / "bin", free_port()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": ""}

    with data_folder() as folder:
        log = folder / "log"
        with log.open("wb") as stream:
            service = subprocess.Popen(
                [programs / "chamberlain", "serve", "--port", str(port), "--data-dir", folder],
                stdout=stream,
                stderr=stream,
                env={
                    **environment,
                    "CHAMBERLAIN_EMBEDDED_IDENTITY": "false",
                    "CHAMBERLAIN_BASE_URL": "https://chamberlain.example.org",
                },
            )

        def is_well() -> bool:
            check = [part.replace(str(DEFAULT_PORT), str(port)) for part in health_check()]
            return subprocess.run(check, env=environment, check=False, capture_output=True).returncode == 0

        try:
            before = is_well()
            wait_until(lambda: is_well() or service.poll() is not None, 60, log.read_text)
        finally:
            service.terminate()
            ended = service.wait(timeout=20)

    assert not before
    assert ended == 0


@pytest.mark.heavy
@pytest.mark.needs("root")
def test_its_root_file_system_may_be_read_only() -> None:
    closed = 'mount --make-rprivate / && mount -o remount,bind,ro / && ! touch /etc/trial && exec "$@"'
    with data_folder() as folder:
        if not folder.is_relative_to(MEMORY):
            pytest.skip(f"{MEMORY} has no room for the data, which must not be on the file system that is closed")
        port, log = free_port(), folder / "log"
        where = ("--port", str(port), "--data-dir", str(folder / "data"))
        with log.open("wb") as stream:
            process = subprocess.Popen(
                ["unshare", "--mount", "bash", "-c", closed, "bash", *COMMAND, "serve", *where],
                stdout=stream,
                stderr=stream,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            )
        service = Service(process, log, port, folder / "data", {})
        try:
            service.wait_until_ready()
            made = service.post_group({"displayName": "Closed", "templateId": GROUP_TEMPLATE}).json()["requestId"]
            service.wait_for_group(made)
        finally:
            ended = service.stop()

        assert ended == 0
        assert "Read-only file system" in service.said()
