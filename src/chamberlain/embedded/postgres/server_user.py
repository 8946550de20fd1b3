"""Who runs the server, and who may come in.

PostgreSQL refuses to run as root. So for root it runs as somebody else; for everybody else it runs as themselves.
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
    """Is it another user than the one who runs the service?"""


def choose_server_user(run_as: str | None) -> ServerUser:
    if os.geteuid() != 0:
        return _as_server_user(_service_user(), is_other=False)
    names = [name for name in (run_as, "chamberlain", "postgres", "nobody") if name]
    for name in names:
        entry = _find(name)
        if entry is not None and entry.pw_uid != 0:
            return _as_server_user(entry, is_other=True)
    raise NoUserForServer(names)


def service_user_name() -> str:
    """Name the user who runs the service, as the server will see it on the other end of the socket."""
    return _service_user().pw_name


def can_enter(user: ServerUser, folder: Path) -> bool:
    """Can that user pass through the folder, and through all above it?"""
    return _can(user, os.X_OK, [folder])


def can_run(user: ServerUser, paths: Sequence[Path]) -> bool:
    """Can that user read and run (or list) all of the paths?"""
    return _can(user, os.R_OK | os.X_OK, paths)


def _can(user: ServerUser, mode: int, paths: Sequence[Path]) -> bool:
    """Ask the system as that user: the bits of the mode alone do not tell."""
    if not user.is_other:
        return all(os.access(path, mode) for path in paths)
    numbers = [user.user_id, user.group_id, mode]
    question = [sys.executable, "-I", "-S", "-c", _ASK, *map(str, numbers), *map(str, paths)]
    asked = subprocess.run(question, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - own text, operator's paths.
    return asked.returncode == 0


# The interpreter starts as root and changes its user then, because that user may not be able to reach it.
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


def _as_server_user(entry: pwd.struct_passwd, *, is_other: bool) -> ServerUser:
    return ServerUser(entry.pw_name, entry.pw_uid, entry.pw_gid, is_other)


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
