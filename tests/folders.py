# SPDX-License-Identifier: Apache-2.0
"""Folders for data of services: short-lived ones, and those that are filled once and copied."""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import place_of_folders


@contextmanager
def data_folder() -> Iterator[Path]:
    """A folder with a short path, since a socket will be in it."""
    folder = _new_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lasting_folder() -> Path:
    """The same, for as long as this process of the test session runs."""
    folder = _new_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def copy_folder(folder: Path, to: Path) -> None:
    """Put what is in the first folder into the second one. Of what root copies a part stays the database user's."""
    subprocess.run(["cp", "-a", f"{folder}/.", str(to)], check=True)


def _new_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ch-", dir=place_of_folders()))
    if os.geteuid() == 0:
        folder.chmod(0o711)
    return folder
