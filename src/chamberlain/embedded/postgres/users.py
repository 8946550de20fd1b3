"""Who runs the server, and who may come in.

PostgreSQL refuses to run as root. So for root it runs as somebody else; for everybody else it runs as themselves.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
