# SPDX-License-Identifier: Apache-2.0
"""The system user of the server, and programs run as this user.

PostgreSQL refuses to run as root. If root starts the service, the server runs as another user; otherwise it runs as the
user of the service.
"""

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from chamberlain.embedded.postgres.errors import NoUserForServer, UserWithoutName


@dataclass(frozen=True, slots=True)
class ServerUser:
    name: str
    user_id: int
    group_id: int
    is_other: bool
    """Whether it differs from the user who runs the service."""


def choose_server_user(run_as: str | None) -> ServerUser:
    """Choose the user of the server.

    `run_as` is the preferred one if root runs the service.
    """
    if os.geteuid() != 0:
        # The group of the process: a container may run it in another group than that of its user.
        own = _service_user()
        return ServerUser(own.pw_name, own.pw_uid, os.getegid(), is_other=False)
    names = [name for name in (run_as, "chamberlain", "postgres", "nobody") if name]
    for name in names:
        entry = _find(name)
        if entry is not None and entry.pw_uid != 0:
            return ServerUser(entry.pw_name, entry.pw_uid, entry.pw_gid, is_other=True)
    raise NoUserForServer(names)


def service_user_name() -> str:
    """Return the name of the user who runs the service.

    The server sees this name on the socket.
    """
    return _service_user().pw_name


def can_enter(user: ServerUser, folder: Path) -> bool:
    """Check whether the user can enter the folder and its parents."""
    return _can(user, os.X_OK, [folder])


def can_run(user: ServerUser, paths: Sequence[Path]) -> bool:
    """Check whether the user can read and execute (or list) all paths."""
    return _can(user, os.R_OK | os.X_OK, paths)


def _can(user: ServerUser, mode: int, paths: Sequence[Path]) -> bool:
    """Check the access as that user; the mode bits are not sufficient."""
    if not user.is_other:
        return all(os.access(path, mode) for path in paths)
    numbers = [user.user_id, user.group_id, mode]
    question = [sys.executable, "-I", "-S", "-c", _ASK, *map(str, numbers), *map(str, paths)]
    asked = subprocess.run(question, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - own text, operator's paths.
    return asked.returncode == 0


# Starts as root and then changes the user, because that user may not reach the interpreter.
_ASK = """
import os, sys
user_id, group_id, mode = map(int, sys.argv[1:4])
os.setgroups([])
os.setgid(group_id)
os.setuid(user_id)
sys.exit(not all(os.access(path, mode) for path in sys.argv[4:]))
"""


def _service_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(os.geteuid())
    except KeyError as error:
        raise UserWithoutName(os.geteuid()) from error


def _find(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


# The whole environment of the server: PGDATA or PGOPTIONS of a shell must not reach it.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}

# A separate program, because preexec_fn can deadlock in a process with threads. The order matters: the new user may not
# reach the interpreter's files, and the change of user clears the parent-death signal. The parent can end before the
# signal is set.
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
    """Start a command in its own process group.

    Linux sends the death signal when the calling *thread* ends.
    """
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
    """Run a command with the text as input.

    Returns its exit status and its output.
    """
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
