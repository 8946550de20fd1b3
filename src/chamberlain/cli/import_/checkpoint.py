# SPDX-License-Identifier: Apache-2.0
"""The checkpoint file of an import: one line for each finished row.

Each line is synced to the disk before it counts. A line that was cut off by a power cut or a kill is ignored: its row
is sent again with the same key, which does no harm. The file outlives idempotency keys, which the service forgets after
seven days.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from chamberlain.cli.import_.results import Outcome, RowResult

# A line of it: the key of the row, and the members of its result.
Entry = Mapping[str, object]
# How every line begins, as it is written below.
_BEGIN = b'{"key":'


class JournalUnusable(Exception):
    """The checkpoint file is unusable. The message explains the fix."""


class Journal:
    """The file, open for one import at a time."""

    def __init__(self, path: Path) -> None:
        """Raises JournalUnusable."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            sentence = f"{path} cannot be written ({error.strerror}). Name another place for the --journal."
            raise JournalUnusable(sentence) from error
        self.path = path
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise JournalUnusable(f"Another import of this file is at work: it holds {path}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    def read(self) -> Mapping[str, Entry]:
        """Read the entries by row key, and remove an incomplete last line.

        Raises JournalUnusable for any other file, and leaves it unchanged.
        """
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            content = file.read()
        if not _BEGIN.startswith(content[: len(_BEGIN)]):
            raise JournalUnusable(f"{self.path} is no journal of an import. Name another place for the --journal.")
        os.ftruncate(self._file, content.rfind(b"\n") + 1)
        return entries_of(content)

    def note(self, key: str, result: RowResult) -> None:
        """Keep that a row is done. Raises JournalUnusable."""
        entry = {"key": key, **result.record}
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            raise JournalUnusable(f"{self.path} cannot be written ({error.strerror}). Make room, and go on.") from error


def entries_of(content: bytes) -> Mapping[str, Entry]:
    """Return the entries of a checkpoint file by row key.

    An incomplete line is ignored.
    """
    entries = [_entry(line) for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
    return {str(entry["key"]): entry for entry in entries if entry is not None}


def result_on_record(entry: Entry, line: int, name: str) -> RowResult:
    """The result of a row that an earlier run has finished."""
    return RowResult(
        line=line,
        name=name,
        outcome=Outcome.PRESENT,
        address=_text(entry.get("address")),
        object_id=_text(entry.get("id")),
        request_id=_text(entry.get("requestId")),
        detail="An earlier run has asked for it.",
    )


def _entry(line: bytes) -> Entry | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("key"), str) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
