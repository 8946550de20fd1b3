"""The server's process: started, waited for until it is ready, waited for until it ends, told to stop."""

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

# A server ends by itself when its service dies; this is what its last checkpoint may take, then it is made to end.
_SECONDS_TO_END = 5.0
_SECONDS_AFTER_SIGNAL = 2.0


def end_left_over(data: Path) -> None:
    """End all server processes on this data. The caller holds the folder, so none of them belongs to anybody."""
    pids = _pids_on(data)
    if pids:
        logger.warning("Processes of an earlier PostgreSQL still use %s and are ended: %s", data, pids)
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
    """Let the processes of a server that has ended end as well; the one that writes the log does so last."""
    _wait_for_end(_pids_on(data), _SECONDS_AFTER_SIGNAL)


def _remove_locks(data: Path) -> None:
    """Remove the two files that hold the number of the server that has ended, and its socket.

    The number may belong to somebody else by now (after a restart of a container nearly always), or to a dead process
    that nobody has buried yet. The new server would take either for a running one.
    """
    for name in ("postmaster.pid", SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (data / name).unlink(missing_ok=True)


def _pids_on(data: Path) -> list[int]:
    """Find the processes that work in the data folder: each process of a server changes into it.

    Where there is no /proc the answer is empty; a new server then refuses to start until the old one has ended.
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
        # It has just ended, or it belongs to another user and so is none of ours.
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


# Time to repeat, after a crash, what the last checkpoint does not have yet: 2 GB of log at the most.
_SECONDS_TO_BE_READY = 300.0
_SECONDS_BETWEEN_LOOKS = 0.005


class ServerProcess:
    """One process after another on the same data; never two at once."""

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
        """Come back when the server can be used. The thread that calls this must live as long as the server may."""
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
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def wait(self) -> int:
        """Sleep until the process ends; answer its exit status, or the number of the signal that ended it, negative."""
        return self._process.wait() if self._process else 0

    def stop_soon(self) -> None:
        """Ask the server to end its connections, write everything and end; it is not started again."""
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
                # When the service dies: the same as in stop_soon.
                death_signal=signal.SIGINT,
            )

    def _is_ready(self, pid: int) -> bool:
        """Look into the file where the server itself says so: its number in the first line, its state in the last."""
        try:
            lines = (self._folder.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        return lines[0] == str(pid) and any(line.strip() == "ready" for line in lines)

    def _did_not_start(self, reason: str) -> DidNotStart:
        """Quote the server's own log; before it has opened that, it says everything in the start's log."""
        data = self._folder.data
        wait_for_left_over(data)
        said = written_since(data, self._log_sizes) or self._folder.start_log.read_text(errors="replace")
        return DidNotStart(data, reason, "\n".join(said.splitlines()[-20:]))


# The first restart follows at once; then the time between two doubles, until the server has run for a while.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0
_SECONDS_OF_A_WHILE = 30.0


def keep_running(process: ServerProcess, lock: int, started: Future[None]) -> None:
    """Start the server, say how that went, and keep it running until it shall stop."""
    try:
        _run(process, lock, started)
    except (EmbeddedPostgresError, OSError) as error:
        started.set_exception(error)
    finally:
        # After an error that nobody foresaw: whoever waits must not wait for ever.
        started.cancel()


def _run(process: ServerProcess, lock: int, started: Future[None]) -> None:
    try:
        process.start()
        started.set_result(None)
        _watch(process)
    finally:
        # Before a failure is told: whoever hears of it may start again at once.
        os.close(lock)


def _watch(process: ServerProcess) -> None:
    delay = 0.0
    while True:
        begun = time.monotonic()
        status = process.wait()
        if process.stopping.is_set():
            return
        logger.warning("PostgreSQL ended with status %s and is started again.", status)
        has_run_for_a_while = time.monotonic() - begun > _SECONDS_OF_A_WHILE
        delay = _start_again(process, 0.0 if has_run_for_a_while else delay)


def _start_again(process: ServerProcess, delay: float) -> float:
    """Try until the server runs or shall stop; answer how long to wait if it ends again at once."""
    while not process.stopping.wait(delay):
        delay = min(max(2 * delay, _FIRST_DELAY), _LONGEST_DELAY)
        try:
            process.start()
        except (EmbeddedPostgresError, OSError) as error:
            logger.warning("PostgreSQL could not be started again, the next attempt follows: %s", error)
        else:
            logger.info("PostgreSQL runs again, as process %s.", process.pid)
            break
    return delay
