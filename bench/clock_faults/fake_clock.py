# SPDX-License-Identifier: Apache-2.0
"""A clock that one process sees and a round sets, by libfaketime. Monotonic clocks stay as they are."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Where Debian has it.
LIBRARY = "*/faketime/libfaketimeMT.so.1"


def find_library() -> Path | None:
    """Find libfaketime, None where it is not installed."""
    return next(Path("/usr/lib").glob(LIBRARY), None)


@dataclass(frozen=True, slots=True)
class FakeClock:
    """The clock of each process that is started with `environment`. It is right until it is set."""

    file: Path

    @classmethod
    def make(cls, file: Path) -> "FakeClock":
        """Make a clock that is right."""
        clock = cls(file)
        clock.set(0)
        return clock

    def set(self, seconds: int) -> None:
        """Make it wrong by so many seconds, or right again by zero."""
        written = self.file.with_suffix(".new")
        written.write_text(f"{seconds:+d}\n")
        # A server that runs as another user reads it.
        written.chmod(0o644)
        written.replace(self.file)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a process that sees this clock."""
        return {
            "LD_PRELOAD": str(find_library()),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            # Each reading of the clock looks into the file.
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
            "NO_FAKE_STAT": "1",
        }

    def wrap(self, programs: Path, folder: Path) -> Path:
        """Make a folder of PostgreSQL's programs whose server sees this clock."""
        folder.mkdir()
        folder.chmod(0o755)
        for program in programs.iterdir():
            (folder / program.name).symlink_to(program)
        (folder / "postgres").unlink()
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        wrapper = folder / "postgres"
        wrapper.write_text(f'#!/bin/sh\nexec env {variables} {shlex.quote(str(programs / "postgres"))} "$@"\n')
        wrapper.chmod(0o755)
        return folder
