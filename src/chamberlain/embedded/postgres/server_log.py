"""Reads what the server has written in its own log since it was started.

The folder of the log belongs to the server's user, and root may be the one who reads: only true files of that user are
read, never through a link.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

# Twenty lines are quoted; these are many more.
_MOST_BYTES = 65_536


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
