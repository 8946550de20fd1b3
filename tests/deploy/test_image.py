# SPDX-License-Identifier: Apache-2.0
"""The image of the Containerfile, built by buildah and run by podman; it serves a group.

A registry has the base image for users. The tests have none, so they make one from packages of Debian.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.docs.pages import ROOT
from tests.services import ADA_MAIL, COLLAB, GRAPH, GROUP_TEMPLATE, free_port, wait_until

pytestmark = [
    pytest.mark.heavy,
    # A build writes a gigabyte, which delays the disks of other tests.
    pytest.mark.alone,
    pytest.mark.needs("root"),
    pytest.mark.needs("containers"),
    pytest.mark.timeout(900),
]

BASE, IMAGE = "localhost/python:bookworm", "localhost/chamberlain"
SOURCES = [*Path("/etc/apt").glob("sources.list"), *Path("/etc/apt/sources.list.d").glob("debian.sources")]
# The packages of the lock are downloaded once, beside the build, which then needs no network.
PIP = "[global]\\nno-index = true\\nfind-links = /wheels\\n"
# Works without systemd, and where the limits of the machine cannot be raised.
RUN = (
    *("--network", "host", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"),
    *("--no-healthcheck", "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"),
)


@dataclass(frozen=True, slots=True)
class Container:
    """A running container; `folder` has its storage."""

    folder: Path
    name: str
    port: int

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return podman(self.folder, "exec", self.name, *command)

    def token(self, scope: str) -> str:
        return self.run("chamberlain", "token", "--user", ADA_MAIL, "--scope", scope).stdout.strip()

    def said(self) -> str:
        done = podman(self.folder, "logs", self.name)
        return done.stdout + done.stderr


def call(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; the test fails with its output."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done


def buildah(folder: Path, *arguments: str | Path) -> None:
    """Build an image. The machine's own images are not touched."""
    options = ("bud", "--isolation", "chroot", "--network", "host")
    call(folder, "buildah", *storage(folder), *options, *arguments)


def podman(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return call(folder, *podman_command(folder), *arguments)


def podman_command(folder: Path) -> tuple[str, ...]:
    """Name the storage, and a runtime that knows cgroups of both versions."""
    return ("podman", *storage(folder), "--runtime", "runc", "--cgroup-manager", "cgroupfs")


def storage(folder: Path) -> tuple[str, ...]:
    return ("--root", f"{folder}/storage", "--runroot", f"{folder}/run")


def build_base(folder: Path) -> None:
    """Make an image of Debian with Python, in place of the one that a registry has."""
    packages = "--include=python3,python3-venv,passwd"
    call(folder, "mmdebstrap", "--quiet", "--variant=essential", packages, "bookworm", "base.tar", *SOURCES)
    file = folder / "Base"
    file.write_text(f"FROM scratch\nADD base.tar /\nRUN printf '{PIP}' >/etc/pip.conf\n", encoding="utf-8")
    buildah(folder, "-t", BASE, "-f", "Base", ".")


def build_image(folder: Path) -> None:
    """Build the image as the page says, from another base."""
    lock = ("--no-deps", "--only-binary=:all:", "--require-hashes", "-r", ROOT / "requirements.lock")
    call(folder, sys.executable, "-m", "pip", "download", "--quiet", *lock, "--dest", "wheels")
    options = ("--pull-never", "--format", "docker", "--build-arg", f"PYTHON={BASE}")
    wheels = ("--volume", f"{folder / 'wheels'}:/wheels:ro")
    file = ("-f", ROOT / "deploy" / "container" / "Containerfile")
    buildah(folder, *options, *wheels, *file, "-t", IMAGE, ROOT)


@contextmanager
def running(folder: Path) -> Iterator[Container]:
    """Run the image for evaluation, with the embedded identity platform."""
    container = Container(folder, f"chamberlain-{free_port()}", free_port())
    settings = {
        "CHAMBERLAIN_HOST": "127.0.0.1",
        "CHAMBERLAIN_PORT": str(container.port),
        "CHAMBERLAIN_EMBEDDED_IDENTITY": "true",
    }
    variables = [word for name, value in settings.items() for word in ("--env", f"{name}={value}")]
    podman(folder, "run", "--detach", "--name", container.name, *RUN, *variables, IMAGE)
    try:
        yield container
    finally:
        podman(folder, "stop", "--time", "20", container.name)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with the image in its storage."""
    # Podman refuses a long path. The folder is on a disk, because the images need a gigabyte.
    folder = Path(tempfile.mkdtemp(prefix="image-", dir="/var/tmp"))
    build_base(folder)
    build_image(folder)
    yield folder
    # Where the kernel has overlays, this folder is a mount of itself.
    subprocess.run(["umount", "--quiet", folder / "storage" / "overlay"], check=False)
    shutil.rmtree(folder)


def test_it_serves_a_group(folder: Path) -> None:
    with running(folder) as container:
        url = f"http://127.0.0.1:{container.port}"
        (config,) = json.loads(podman(folder, "image", "inspect", IMAGE).stdout)
        check = config["Healthcheck"]["Test"][1:]

        def is_healthy() -> bool:
            command = [*podman_command(folder), "exec", container.name, *check]
            return subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode == 0

        wait_until(is_healthy, 90, container.said)
        body = {"displayName": "Contained", "templateId": GROUP_TEMPLATE}
        collab = {"authorization": f"Bearer {container.token(COLLAB)}", "prefer": "wait=20"}
        asked = httpx2.post(f"{url}/collab/v1/groups/", json=body, headers=collab, timeout=30)
        graph = {"authorization": f"Bearer {container.token(f'{GRAPH}/Group.Read.All')}"}
        query = f"$filter=chamberlain_group/requestId eq '{asked.json()['requestId']}'"
        found = httpx2.get(f"{url}/graph/v1.0/groups?{query}", headers=graph, timeout=30)
        user = container.run("id", "--user").stdout

    assert [group["displayName"] for group in found.json()["value"]] == ["Contained"]
    assert user == "8365\n"


def test_it_ends_by_sigterm(folder: Path) -> None:
    with running(folder) as container:
        wait_until(lambda: f":{container.port}" in container.said(), 90, container.said)

    state = json.loads(podman(folder, "inspect", container.name).stdout)[0]["State"]
    assert (state["Status"], state["ExitCode"]) == ("exited", 0)
