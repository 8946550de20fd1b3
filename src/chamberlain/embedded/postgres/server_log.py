"""Reads what the server has written in its own log since it was started.

The folder of the log belongs to the server's user, and root may be the one who reads: only true files of that user are
read, never through a link.
"""

import os
import stat
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

# Twenty lines are quoted; these are many more.
_MOST_BYTES = 65_536
# A call that fails looks at the end of the log alone, and waits for a connection for five seconds before.
_MOST_BYTES_LATELY = 4_096
_SECONDS_OF_LATELY = 15.0


def log_sizes(data: Path) -> dict[str, int]:
    """Answer the size of each file of the log: what is written from now on begins there."""
    return {name: os.fstat(file).st_size for name, file in _files(data)}


def written_since(data: Path, sizes: Mapping[str, int]) -> str:
    """Answer what the log has got since the sizes were asked for, or the end of it when that is much."""
    parts = []
    for name, file in _files(data):
        state = os.fstat(file)
        begin = sizes.get(name, 0)
        if state.st_size < begin:
            # Written over from its beginning, as each file is after a week.
            begin = 0
        begin = max(begin, state.st_size - _MOST_BYTES)
        parts.append((state.st_mtime_ns, os.pread(file, _MOST_BYTES, begin).decode(errors="replace")))
    return "".join(text for _, text in sorted(parts))


def said_lately(data: Path, text: str) -> bool:
    """Whether a line of the last seconds contains the text, such as the system's name of an error."""
    begin = time.time() - _SECONDS_OF_LATELY
    for _, file in _files(data):
        state = os.fstat(file)
        # The name of the file says nothing of its age: each is written over after a week.
        if state.st_mtime < begin:
            continue
        end = os.pread(file, _MOST_BYTES_LATELY, max(0, state.st_size - _MOST_BYTES_LATELY)).decode(errors="replace")
        if any(text in line and _is_since(line, begin) for line in end.splitlines()):
            return True
    return False


def _is_since(line: str, begin: float) -> bool:
    """Read the time that each line begins with (`%m`, in UTC)."""
    try:
        at = datetime.strptime(line[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return False
    return at.timestamp() >= begin - 1


def _files(data: Path) -> Iterator[tuple[str, int]]:
    """Open one file after another; each is closed when the next one is asked for."""
    try:
        folder = os.open(data / "log", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        # There is no log yet, or what lies there is no folder.
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
        # Without waiting: a pipe would hold whoever opens it.
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        # A link, or gone by now.
        return None


def _is_of_server(file: int, data: Path) -> bool:
    state = os.fstat(file)
    return stat.S_ISREG(state.st_mode) and state.st_uid == data.stat().st_uid
