"""Starts a program as the server's user, in a process group of its own, so that it does not outlive the service."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from chamberlain.embedded.postgres.users import ServerUser

# The server gets only this of the environment: a PGDATA or PGOPTIONS of somebody's shell must not reach it.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}

# A small program of its own instead of preexec_fn, which can dead-lock in a process with threads. The order matters:
# the interpreter's files may be out of reach after the change of user, and that change clears the parent-death signal.
# The parent may be gone before the signal was asked for.
_WRAPPER = """
import ctypes, os, sys
program = ctypes.CDLL(None)
parent, user_id, group_id, death_signal = map(int, sys.argv[1:5])
if user_id != os.geteuid():
    os.setgroups([])
    os.setgid(group_id)
    os.setuid(user_id)
if sys.platform == "linux":
    PR_SET_PDEATHSIG = 1
    program.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("The service has ended meanwhile.")
os.execv(sys.argv[5], sys.argv[5:])
"""


def start_child(
    command: Sequence[str | Path],
    *,
    user: ServerUser,
    folder: Path,
    output: IO[bytes] | int,
    death_signal: signal.Signals,
    accepts_input: bool = False,
) -> subprocess.Popen[bytes]:
    """Start the command. Linux sends the death signal when the *thread* ends that called this, not only the process."""
    numbers = [os.getpid(), user.user_id, user.group_id, int(death_signal)]
    return subprocess.Popen(  # noqa: S603 - the command is the callers' own text and the operator's folder.
        [sys.executable, "-I", "-S", "-c", _WRAPPER, *map(str, numbers), *map(str, command)],
        stdin=subprocess.PIPE if accepts_input else subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=_ENVIRONMENT,
        process_group=0,
    )


def run_child(command: Sequence[str | Path], *, user: ServerUser, folder: Path, text: str = "") -> tuple[int, str]:
    """Run the command to its end with the text as input; the answer is its exit status and what it said."""
    child = start_child(
        command,
        user=user,
        folder=folder,
        output=subprocess.PIPE,
        death_signal=signal.SIGKILL,
        accepts_input=True,
    )
    output, _ = child.communicate(text.encode())
    return child.returncode, output.decode(errors="replace").strip()
