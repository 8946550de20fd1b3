# SPDX-License-Identifier: Apache-2.0
"""The processes of a suite, started in the background and ended by id."""

import contextlib
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.suite.folder import HOST, CannotStart, Suite

# Longer than a first start of Synapse on a busy machine, which creates its tables.
READY_WITHIN = 90.0
# SOGo's workers wait for their clients, and would take ten seconds and more.
ENDED_WITHIN = 6.0
# Init collects at once, but that of a container may look every few seconds.
COLLECTED_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Running:
    """A process by its id and start time; the system gives an id to another process later."""

    pid: int
    began: str


def is_root() -> bool:
    """Return whether other system users can run the servers."""
    return os.geteuid() == 0


def ids_of(user: str) -> tuple[int, int]:
    """Return the user id and group id of a system user; our own unless we are root."""
    if not is_root():
        return os.geteuid(), os.getegid()
    try:
        found = pwd.getpwnam(user)
    except KeyError as error:
        raise CannotStart(
            f"The machine has no user {user}. Install the packages: see deploy/suite/README.md"
        ) from error
    return found.pw_uid, found.pw_gid


def run(*command: str | Path, user: str | None = None, input_: str | None = None) -> str:
    """Run a program to its end, and return its output. Raises CannotStart with its errors."""
    uid, gid = (None, None) if user is None or not is_root() else ids_of(user)
    done = subprocess.run(
        [str(part) for part in command],
        input=input_,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd="/",
        user=uid,
        group=gid,
        extra_groups=None if uid is None else [],
        timeout=READY_WITHIN,
    )
    if done.returncode:
        raise CannotStart(f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def spawn(suite: Suite, part: str, *command: str | Path, user: str | None = None, cwd: Path | None = None) -> None:
    """Start a server that stays in the foreground, and note its id. Its output goes to its log."""
    uid, gid = (None, None) if user is None or not is_root() else ids_of(user)
    with suite.log(part).open("ab") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=cwd or suite.folder,
            # GNUstep looks for settings in the home folder.
            env={**os.environ, "HOME": str(cwd or suite.folder)},
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
        )
    note(suite, part, process.pid)
    # It outlives this program, and its id is noted.
    process.returncode = 0


def launch(suite: Suite, name: str, *command: str | Path) -> None:
    """Run a program that leaves a server behind. Its output goes to a log, because the server inherits it."""
    with suite.log(name).open("ab") as log:
        words = [str(word) for word in command]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False, timeout=READY_WITHIN
        )
    if done.returncode:
        said = suite.log(name).read_text(errors="replace")[-2000:]
        raise CannotStart(f"{words[0]} ended with {done.returncode}: {said}")


def note(suite: Suite, part: str, pid: int) -> None:
    """Note the id of a server's first process."""
    (suite.folder / "run" / part).write_text(f"{pid} {_began(pid)}")


def wait_for_port(suite: Suite, part: str, port: int) -> None:
    """Wait until a server listens. Raises CannotStart if it ends, or after READY_WITHIN seconds."""
    wait_until(lambda: listens(port), lambda: is_running(suite, part), f"{part} does not listen", suite.log(part))


def wait_until(met: Callable[[], bool], may_go_on: Callable[[], bool], otherwise: str, log: Path) -> None:
    """Wait for a condition. Raises CannotStart with the end of the log."""
    until = time.monotonic() + READY_WITHIN
    while not met():
        if time.monotonic() > until or not may_go_on():
            said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            raise CannotStart(f"{otherwise}. {log} ends with:\n{said}")
        time.sleep(0.02)


def is_running(suite: Suite, part: str) -> bool:
    """Return whether the first process of a server runs."""
    return _noted(suite, part) is not None


def tree(suite: Suite, part: str) -> tuple[Running, ...]:
    """Return the processes of a server, its first one first."""
    first = _noted(suite, part)
    if first is None:
        return ()
    found = [first.pid]
    for pid in found:
        found.extend(_children(pid))
    return tuple(Running(pid, began) for pid in found if (began := _began(pid)))


def signal_to(processes: Iterable[Running], number: signal.Signals) -> None:
    """Send a signal to those that still run."""
    for each in processes:
        if _began(each.pid) == each.began:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, number)


def end(suite: Suite, parts: Sequence[str]) -> None:
    """Ask servers to end, and kill after ENDED_WITHIN seconds what is left of them."""
    trees = {part: tree(suite, part) for part in parts}
    for part, processes in trees.items():
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for its clients.
        signal_to(processes[:1], signal.SIGINT if part == "postgresql" else signal.SIGTERM)
    everything = [process for processes in trees.values() for process in processes]
    until = time.monotonic() + ENDED_WITHIN
    while time.monotonic() < until and any(_is_there(process) for process in everything):
        time.sleep(0.05)
    signal_to(everything, signal.SIGKILL)
    while any(_is_there(process) for process in everything) and time.monotonic() < until + ENDED_WITHIN:
        time.sleep(0.02)
    _wait_for_ids([process for processes in trees.values() for process in processes[:1]])
    for part in parts:
        (suite.folder / "run" / part).unlink(missing_ok=True)


def kill(suite: Suite, part: str) -> None:
    """End a server as a power cut does."""
    first = tree(suite, part)[:1]
    # A process that it starts meanwhile would keep its ports.
    signal_to(first, signal.SIGSTOP)
    while any(_is_there(process) and _state(process.pid)[0] != "T" for process in first):
        time.sleep(0.001)
    processes = tree(suite, part)
    signal_to(processes, signal.SIGKILL)
    while any(_is_there(process) for process in processes):
        time.sleep(0.005)
    _wait_for_ids(processes[:1])


def _wait_for_ids(processes: Sequence[Running]) -> None:
    """Wait until init has collected ended processes.

    Dovecot and PostgreSQL take a zombie for one that runs, and do not start beside it.
    """
    until = time.monotonic() + COLLECTED_WITHIN
    while time.monotonic() < until and any(_has_id(process) for process in processes):
        time.sleep(0.005)


def _noted(suite: Suite, part: str) -> Running | None:
    try:
        pid, began = (suite.folder / "run" / part).read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    return Running(int(pid), began) if _is_there(Running(int(pid), began)) else None


def _is_there(process: Running) -> bool:
    return _began(process.pid) == process.began


def _has_id(process: Running) -> bool:
    """Return whether a process still has its id, perhaps as a zombie."""
    return _state(process.pid)[1] == process.began


def _began(pid: int) -> str:
    """Return the start time of a process in ticks, empty for one that has ended or is a zombie."""
    state, began = _state(pid)
    if state != "Z":
        return began
    # It is ours if this program started it.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return ""


def _state(pid: int) -> tuple[str, str]:
    """Return the state and start time of a process, empty for one without an entry."""
    try:
        # The name, in parentheses, may have spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    # Fields 3 and 22 of proc(5).
    return fields[0], fields[19]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.extend(map(int, tasks.read_text().split()))
    return found


def listens(port: int) -> bool:
    """Return whether a program listens at a port."""
    with socket.socket() as tried:
        tried.settimeout(1)
        return tried.connect_ex((HOST, port)) == 0
