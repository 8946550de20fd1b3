"""Ends what an earlier server left behind: a server whose service was killed, or processes whose server was killed.

As long as one of them runs, a new server on the same data refuses to start, or would wait for a statement to end.
"""

import logging
import os
import select
import signal
import sys
import time
from pathlib import Path

from chamberlain.embedded.postgres.addresses import SOCKET_NAME
from chamberlain.embedded.postgres.errors import StillRunning

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
