# SPDX-License-Identifier: Apache-2.0
"""Size, formatting, clock and display of the terminal."""

import getpass
import os
import shutil
import socket
import sys
from datetime import UTC, datetime


def is_terminal() -> bool:
    """Return whether a user reads standard output."""
    return sys.stdout.isatty()


def columns() -> int:
    """Return the width of the terminal, or 80."""
    return shutil.get_terminal_size().columns


def is_plain() -> bool:
    """Return whether the output has no formatting (no-color.org)."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def has_display() -> bool:
    """Return whether a browser can open a window for the user.

    It cannot over SSH, unless `BROWSER` names one, as an editor does that works remotely.
    """
    if os.environ.get("BROWSER"):
        return True
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return False
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def ssh_name() -> str:
    """Return the user and the machine, as `ssh` takes them."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)
