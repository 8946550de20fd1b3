# SPDX-License-Identifier: Apache-2.0
"""An ordinary user with an empty home, who has the project and its service there."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT
from tests.folders import copy_folder, data_folder
from tests.services import Service, start_service, started_once

# The user and group of processes that may own nothing; they are named in every distribution.
NOBODY = 65534
DATA = Path(".local/share/chamberlain")


@contextmanager
def home() -> Iterator[Path]:
    """An empty home, which belongs to the ordinary user."""
    with data_folder() as folder:
        give(folder)
        yield folder


@contextmanager
def service_of_user(environment: Mapping[str, str] | None = None) -> Iterator[Service]:
    """The service of `python3 dev.py run`, started by an ordinary user. Its data is where that user finds it."""
    with home() as folder:
        data = folder / DATA
        data.mkdir(parents=True)
        copy_folder(started_once(), data)
        give(folder)
        service = start_service(data, before=as_user(), environment={"HOME": str(folder), **(environment or {})})
        try:
            service.wait_until_ready()
            yield service
        finally:
            service.stop()


def home_of(service: Service) -> Path:
    """The home of the user who has started a service."""
    return Path(service.environment["HOME"])


def new_project(service: Service) -> Path:
    """A new folder in the user's home, like a clone in which `python3 dev.py setup` has run."""
    folder = home_of(service)
    number = sum(each.name.startswith("chamberlain") for each in folder.iterdir())
    project = folder / f"chamberlain-{number}"
    project.mkdir()
    for path in ROOT.iterdir():
        if not path.name.startswith("."):
            (project / path.name).symlink_to(path)
    (project / ".venv").symlink_to(sys.prefix)
    give(project)
    return project


def variables(service: Service) -> dict[str, str]:
    """The environment of the user's shell. Only the port differs from the pages."""
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(home_of(service)),
        "CHAMBERLAIN_PORT": str(service.port),
    }


def with_port(text: str, service: Service) -> str:
    """A text of a page with the ports of this service in place of the usual ones."""
    for name in ("127.0.0.1", "localhost"):
        text = text.replace(f"{name}:8365", f"{name}:{service.port}")
        text = text.replace(f"{name}:8366", f"{name}:{service.port + 1}")
    return text


def give(folder: Path) -> None:
    """Let all of a folder belong to the ordinary user."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "--recursive", "--no-dereference", f"{NOBODY}:{NOBODY}", folder], check=True)


@cache
def as_user() -> tuple[str, ...]:
    """The words in front of a command that let an ordinary user run it. No words if the tests run as one."""
    if os.geteuid() != 0:
        return ()
    user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    needed = (Path(sys.base_prefix), ROOT)
    closed = [path for each in needed for path in reversed(each.parents) if not path.stat().st_mode & stat.S_IXOTH]
    if not closed:
        return user
    return ("unshare", "--mount", "sh", "-euc", _OPEN_FOLDER, "sh", str(closed[0]), *map(str, needed), *user)


# The Python or the project is in a folder of root, such as root's home. In a mount namespace of its own, a command sees
# an empty folder there, with nothing but these two in it.
_OPEN_FOLDER = """
closed=$1 python=$2 project=$3
shift 3
exec 8<"$python" 9<"$project"
mount -t tmpfs -o mode=755 none "$closed"
mkdir -p "$python" "$project"
mount --no-canonicalize --bind /proc/$$/fd/8 "$python"
mount --no-canonicalize --bind /proc/$$/fd/9 "$project"
exec "$@" 8<&- 9<&-
"""
