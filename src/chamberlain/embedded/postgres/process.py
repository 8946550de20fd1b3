# SPDX-License-Identifier: Apache-2.0
"""Starts, stops and supervises the server's process.

It first stops the processes of an earlier server. A new server refuses to start on the same data, or waits for a
statement, while a process of an earlier server runs.
"""

import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

from chamberlain.embedded.postgres.errors import DidNotStart, EmbeddedPostgresError, StillRunning
from chamberlain.embedded.postgres.folder import Folder
from chamberlain.embedded.postgres.roles import SOCKET_NAME
from chamberlain.embedded.postgres.server_log import log_sizes, written_since
from chamberlain.embedded.postgres.server_user import ServerUser, start_child

logger = logging.getLogger(__name__)

# Timeout for the recovery after a crash: it replays at most 2 GB of log.
_SECONDS_TO_BE_READY = 300.0
_POLL_SECONDS = 0.005


class ServerProcess:
    """The process of the server; a restart replaces it."""

    def __init__(self, folder: Folder, *, programs: Path, configuration: Path, user: ServerUser) -> None:
        self._folder = folder
        self._command: list[str | Path] = [
            programs / "postgres",
            "-D",
            folder.data,
            "-c",
            f"config_file={configuration}",
        ]
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self._log_sizes: dict[str, int] = {}
        self._starting = threading.Lock()
        self.stopping = threading.Event()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the server and wait until it is ready.

        It stops when the calling thread ends.
        """
        end_left_over(self._folder.data)
        with self._starting:
            if self.stopping.is_set():
                return
            process = self._process = self._spawn()
        deadline = time.monotonic() + _SECONDS_TO_BE_READY
        while not self._is_ready(process.pid):
            if process.poll() is not None:
                if self.stopping.is_set():
                    return
                raise self._did_not_start(f"ended with status {process.returncode} before it was ready")
            if time.monotonic() > deadline:
                self.send(signal.SIGQUIT)
                raise self._did_not_start(f"was not ready within {_SECONDS_TO_BE_READY:.0f} seconds")
            time.sleep(_POLL_SECONDS)

    def wait(self) -> int:
        """Wait until the process ends.

        Returns its exit status, or the negative number of a signal.
        """
        return self._process.wait() if self._process else 0

    def stop_soon(self) -> None:
        """Request a fast shutdown, without a restart.

        The server closes its connections and writes a checkpoint.
        """
        with self._starting:
            self.stopping.set()
        self.send(signal.SIGINT)

    def send(self, number: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(number)

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._folder.start_log.unlink(missing_ok=True)
        self._log_sizes = log_sizes(self._folder.data)
        with self._folder.start_log.open("xb") as output:
            return start_child(
                self._command,
                user=self._user,
                folder=self._folder.path,
                output=output,
                # A fast shutdown, as in stop_soon.
                death_signal=signal.SIGINT,
            )

    def _is_ready(self, pid: int) -> bool:
        """Read the process id and state from the server's status file."""
        try:
            lines = (self._folder.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        return lines[0] == str(pid) and any(line.strip() == "ready" for line in lines)

    def _did_not_start(self, reason: str) -> DidNotStart:
        """Quote the server's log, or the start log without one."""
        data = self._folder.data
        wait_for_left_over(data)
        output = written_since(data, self._log_sizes) or self._folder.start_log.read_text(errors="replace")
        return DidNotStart(data, reason, "\n".join(output.splitlines()[-20:]))


# Exponential backoff: the first restart is immediate, then the delay doubles until the server was stable.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0
_STABLE_SECONDS = 30.0


def keep_running(process: ServerProcess, lock: int, started: Future[None]) -> None:
    """Start the server, and restart it until it is stopped.

    The result of the first start is set in `started`. This needs a thread and not a task: it needs no event loop, and
    Linux sends the parent-death signal when the thread ends that started the server.
    """
    try:
        _run(process, lock, started)
    except (EmbeddedPostgresError, OSError) as error:
        started.set_exception(error)
    finally:
        # After an unexpected error, so that the waiting thread continues.
        started.cancel()


def _run(process: ServerProcess, lock: int, started: Future[None]) -> None:
    try:
        process.start()
        started.set_result(None)
        _watch(process)
    finally:
        # Before a failure is reported, because the caller may start again at once.
        os.close(lock)


def _watch(process: ServerProcess) -> None:
    delay = 0.0
    while True:
        begun = time.monotonic()
        status = process.wait()
        if process.stopping.is_set():
            return
        logger.warning("PostgreSQL ended with status %s and is restarted.", status)
        was_stable = time.monotonic() - begun > _STABLE_SECONDS
        delay = _start_again(process, 0.0 if was_stable else delay)


def _start_again(process: ServerProcess, delay: float) -> float:
    """Retry with backoff until the server runs or is stopped.

    Returns the delay before another restart.
    """
    while not process.stopping.wait(delay):
        delay = min(max(2 * delay, _FIRST_DELAY), _LONGEST_DELAY)
        try:
            process.start()
        except (EmbeddedPostgresError, OSError) as error:
            logger.warning("PostgreSQL could not be restarted; retrying: %s", error)
        else:
            logger.info("PostgreSQL runs again, as process %s.", process.pid)
            break
    return delay


# Timeouts. An earlier server stops when its service dies, but may still write its last checkpoint.
_SECONDS_TO_END = 5.0
_SECONDS_AFTER_SIGNAL = 2.0


def end_left_over(data: Path) -> None:
    """Stop all server processes on this data.

    The caller has locked the folder, so no service uses them.
    """
    pids = _pids_on(data)
    if pids:
        logger.warning("Stopping processes of an earlier PostgreSQL on %s: %s", data, pids)
    server = _server_pid(data)
    if server in pids:
        _signal([server], signal.SIGINT)
        _wait_for_end(pids, _SECONDS_TO_END)
    for number in (signal.SIGQUIT, signal.SIGKILL):
        pids = _pids_on(data)
        _signal(pids, number)
        _wait_for_end(pids, _SECONDS_AFTER_SIGNAL)
    pids = _pids_on(data)
    if pids:
        raise StillRunning(data, pids)
    if sys.platform == "linux":
        _remove_locks(data)


def wait_for_left_over(data: Path) -> None:
    """Wait until the child processes of a stopped server stop.

    The log writer is the last one.
    """
    _wait_for_end(_pids_on(data), _SECONDS_AFTER_SIGNAL)


def _remove_locks(data: Path) -> None:
    """Remove the lock files and the socket of the stopped server.

    Another process can have the same id, especially after a restart of a container, or the process can be a zombie. The
    new server would think that the old one is running.
    """
    for name in ("postmaster.pid", SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (data / name).unlink(missing_ok=True)


def _pids_on(data: Path) -> list[int]:
    """Find the server processes with the data folder as working directory.

    Without /proc, the result is empty, and a new server refuses to start until the old one has stopped.
    """
    try:
        wanted = data.stat()
        processes = [entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    except FileNotFoundError:
        return []
    return [int(process.name) for process in processes if _is_server_process(process, wanted)]


def _is_server_process(process: Path, wanted: os.stat_result) -> bool:
    try:
        program = (process / "exe").readlink()
        return program.name.startswith("postgres") and os.path.samestat((process / "cwd").stat(), wanted)
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        # It has just stopped, or belongs to another user.
        return False


def _server_pid(data: Path) -> int | None:
    try:
        return int((data / "postmaster.pid").read_text().split("\n")[0])
    except (FileNotFoundError, ValueError):
        return None


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _wait_for_end(pids: list[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for pid in pids:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = select.poll()
        ended.register(process, select.POLLIN)
        ended.poll(max(0.0, deadline - time.monotonic()) * 1000)
        os.close(process)
