# SPDX-License-Identifier: Apache-2.0
"""Suites of a run of tests or of a proof, each in a folder of its own.

A killed run cannot end its servers. So the name of a folder has the process that made it, and the next run ends them.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.suite.folder import Suite, created, opened
from deploy.suite.processes import end
from deploy.suite.servers import PARTS, Starter

ROOT = Path(__file__).parents[2]
SYNAPSE = ROOT / ".venv-synapse" / "bin" / "python"
# Other system users read and write in it, so it cannot be below a home folder.
FOLDERS = Path("/var/tmp")
NAME = re.compile(r"suite-(\d+)-(\w+)")


@contextmanager
def suite_folder() -> Iterator[Path]:
    """A new folder for a suite. The servers in it end with the block."""
    end_suites_of_killed_runs()
    # Short, because sockets are in it.
    folder = Path(tempfile.mkdtemp(prefix=f"suite-{os.getpid()}-", dir=FOLDERS))
    try:
        yield folder
    finally:
        remove(folder)


@contextmanager
def started_suite(parts: tuple[str, ...] = PARTS) -> Iterator[Suite]:
    """A new suite with these servers, which end with the block."""
    with suite_folder() as folder:
        suite = created(folder)
        Starter(suite, SYNAPSE).start(parts)
        yield suite


def end_suites_of_killed_runs() -> None:
    """End the servers of runs that do not exist any more, and remove their folders."""
    for folder in FOLDERS.glob("suite-*-*"):
        found = NAME.fullmatch(folder.name)
        if found is None or Path("/proc", found[1]).exists():
            continue
        ours = folder.with_name(f"suite-{os.getpid()}-{found[2]}")
        try:
            folder.rename(ours)
        except (FileNotFoundError, PermissionError):
            # Another run ends it, or it belongs to another user.
            continue
        remove(ours)


def remove(folder: Path) -> None:
    """End the servers of a suite, and remove its folder."""
    if (folder / "suite.env").exists():
        end(opened(folder), PARTS)
    shutil.rmtree(folder, ignore_errors=True)
