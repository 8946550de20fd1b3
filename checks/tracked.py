# SPDX-License-Identifier: Apache-2.0
"""The files that git knows, so that checks do not read a reader's own files."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def tracked_files(root: Path) -> list[Path] | None:
    """List the tracked files; None without git or a repository."""
    try:
        command = ["git", "-C", str(root), "ls-files", "-z"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    if done.returncode:
        return None
    files = (root / name for name in done.stdout.split("\0") if name)
    # A deleted file is known until the deletion is committed.
    return [file for file in files if file.is_file()]
