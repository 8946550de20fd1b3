# SPDX-License-Identifier: Apache-2.0
"""Programs on a pseudo-terminal of 80 columns, as a user sees them."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.services import wait_until

COLUMNS = 80
_ROWS = 24


@dataclass(slots=True)
class ShownProcess:
    """A process, and all that it has printed on its terminal."""

    process: subprocess.Popen[bytes]
    terminal: int
    shown: str = ""

    def wait_for(self, text: str, within: float = 60.0) -> None:
        """Wait until the terminal has shown a text."""
        wait_until(lambda: text in self.read(), within, lambda: self.shown)

    def read(self) -> str:
        """Return the output up to now."""
        while True:
            try:
                part = os.read(self.terminal, 65536)
            except BlockingIOError:
                break
            except OSError:  # Linux reports EIO when the last program has closed the terminal.
                break
            if not part:
                break
            self.shown += part.decode()
        return self.shown

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self.terminal, text.encode())

    def press_ctrl_c(self) -> None:
        """Send the character that the terminal turns into SIGINT for its foreground processes."""
        self.type("\x03")

    def end(self, within: float = 30.0) -> int:
        """Return the exit code of the process, when all of its output is read."""
        wait_until(lambda: (self.read(), self.process.poll() is not None)[1], within, lambda: self.shown)
        self.read()
        return self.process.returncode


@contextmanager
def on_terminal(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Iterator[ShownProcess]:
    """Run a program on a terminal of its own. It is killed at the end of the block if it still runs."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, COLUMNS, 0, 0))
    os.set_blocking(ours, False)
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", **(environment or {})},
        preexec_fn=_own_terminal,  # noqa: PLW1509  No other thread of a test holds a lock meanwhile.
    )
    os.close(theirs)
    try:
        yield ShownProcess(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


def _own_terminal() -> None:
    """Make standard input the controlling terminal, so that Ctrl-C becomes a signal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
