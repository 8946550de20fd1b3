# SPDX-License-Identifier: Apache-2.0
"""Reads the server's own log.

The server's user owns the folder of the log, and the reader may be root. So only regular files of that user are read,
without following links.
"""

import os
import stat
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

# Much more than the twenty lines that are quoted.
_MOST_BYTES = 65_536
# A failed call reads only the end of the log, after waiting five seconds for a connection.
_MOST_RECENT_BYTES = 4_096
_RECENT_SECONDS = 15.0


def log_sizes(data: Path) -> dict[str, int]:
    """Return the size of each log file; later output starts there."""
    return {name: os.fstat(file).st_size for name, file in _files(data)}


def written_since(data: Path, sizes: Mapping[str, int]) -> str:
    """Read the log since these sizes; only its end if long."""
    parts = []
    for name, file in _files(data):
        state = os.fstat(file)
        begin = sizes.get(name, 0)
        if state.st_size < begin:
            # The file was overwritten, as each is after a week.
            begin = 0
        begin = max(begin, state.st_size - _MOST_BYTES)
        parts.append((state.st_mtime_ns, os.pread(file, _MOST_BYTES, begin).decode(errors="replace")))
    return "".join(text for _, text in sorted(parts))


def said_lately(data: Path, text: str) -> bool:
    """Check whether a recent line contains the text."""
    begin = time.time() - _RECENT_SECONDS
    for _, file in _files(data):
        state = os.fstat(file)
        # The file name is no date: each file is overwritten after a week.
        if state.st_mtime < begin:
            continue
        end = os.pread(file, _MOST_RECENT_BYTES, max(0, state.st_size - _MOST_RECENT_BYTES)).decode(errors="replace")
        if any(text in line and _is_since(line, begin) for line in end.splitlines()):
            return True
    return False


def _is_since(line: str, begin: float) -> bool:
    """Compare the time at the start of the line (`%m`, in UTC)."""
    try:
        at = datetime.strptime(line[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return False
    return at.timestamp() >= begin - 1


def _files(data: Path) -> Iterator[tuple[str, int]]:
    """Open one file after another; each is closed before the next one."""
    try:
        folder = os.open(data / "log", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        # There is no log yet, or it is no folder.
        return
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - a path cannot name a folder that is open already.
            file = _open(name, folder)
            if file is not None:
                try:
                    if _is_of_server(file, data):
                        yield name, file
                finally:
                    os.close(file)
    finally:
        os.close(folder)


def _open(name: str, folder: int) -> int | None:
    try:
        # Non-blocking, because opening a pipe would block.
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        # A link, or already removed.
        return None


def _is_of_server(file: int, data: Path) -> bool:
    state = os.fstat(file)
    return stat.S_ISREG(state.st_mode) and state.st_uid == data.stat().st_uid
