"""The server's process: started, waited for until it is ready, waited for until it ends, told to stop."""

import signal
import subprocess
import threading
import time
from pathlib import Path

from chamberlain.embedded.postgres.child import start_child
from chamberlain.embedded.postgres.errors import DidNotStart
from chamberlain.embedded.postgres.folder import Folder
from chamberlain.embedded.postgres.left_over import end_left_over, wait_for_left_over
from chamberlain.embedded.postgres.server_log import log_sizes, written_since
from chamberlain.embedded.postgres.users import ServerUser

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
