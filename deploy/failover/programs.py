# SPDX-License-Identifier: Apache-2.0
"""The programs that a trial starts, and how they are started and ended: by process id, with whatever they started."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

POSTGRES = Path("/usr/lib/postgresql/15/bin")
PACKAGES = "apt-get install --no-install-recommends postgresql-15 patroni etcd-server"

Met = TypeVar("Met")


class CannotTry(Exception):
    """The trial cannot be made; the sentence says what to do."""


def require_programs() -> None:
    """Raises CannotTry when the machine lacks a part."""
    missing = [name for name in ("patroni", "etcd") if shutil.which(name) is None]
    missing += [] if (POSTGRES / "postgres").exists() else ["postgresql-15"]
    if missing:
        raise CannotTry(f"This machine lacks {', '.join(missing)}. To have it: {PACKAGES}")


def servers_user() -> str | None:
    """Return the user that runs PostgreSQL, which refuses root; None for the current user."""
    return "postgres" if os.geteuid() == 0 else None


def give_to_servers(path: Path) -> None:
    """Let the servers' user have a folder or file."""
    if (user := servers_user()) is not None:
        owner = pwd.getpwnam(user)
        os.chown(path, owner.pw_uid, owner.pw_gid)


def start(
    command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None, user: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in the background; what it says goes to the log."""
    with log.open("ab") as stream:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **(environment or {})},
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and kill it when it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def family(pid: int) -> list[int]:
    """A process and those that it has started, the eldest first."""
    found = [pid]
    for each in found:
        found.extend(_children(each))
    return found


def send(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to each that is still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def wait_until(met: Callable[[], Met], within: float, what: str) -> Met:
    """The first answer that is not nothing. Raises CannotTry after so many seconds without one."""
    stop = time.monotonic() + within
    while not (answer := met()):
        if time.monotonic() > stop:
            raise CannotTry(f"{what}: not within {within:.0f} s.")
        time.sleep(0.05)
    return answer


def _children(pid: int) -> Iterator[int]:
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            yield from map(int, tasks.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
