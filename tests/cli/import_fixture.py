# SPDX-License-Identifier: Apache-2.0
"""A folder with a file to import, and the service that it is for."""

import csv
import os
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from tests.commands import run_here
from tests.services import ADA_MAIL, API, COMMAND, Service, wait_until


@dataclass(frozen=True, slots=True)
class ImportFixture:
    """A file of one noun. Names begin with the word of the file, so that tests do not meet."""

    service: Service
    folder: Path
    noun: str
    word: str = field(default_factory=lambda: f"i{uuid4().hex[:8]}")

    @property
    def file(self) -> Path:
        return self.folder / "rows.csv"

    @property
    def journal(self) -> Path:
        return self.folder / "rows.csv.journal"

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "CHAMBERLAIN_TOKEN": self.service.token(ADA_MAIL, f"{API}/.default"),
            "CHAMBERLAIN_CONFIG_DIR": str(self.folder),
            "CHAMBERLAIN_PORT": str(self.service.port),
            "CHAMBERLAIN_DATA_DIR": str(self.service.data_dir),
        }

    def write(self, *lines: str) -> None:
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """An import to its end, in this process."""
        return run_here(self.noun, "import", str(self.file), *options, environment=self.environment)

    def killed_after(self, count: int) -> None:
        """An import in a process of its own, killed when so many rows are on record."""
        process = subprocess.Popen(
            [*COMMAND, self.noun, "import", str(self.file)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self.environment},
        )
        wait_until(lambda: self.on_record() >= count or process.poll() is not None, 60)
        process.kill()
        process.wait(timeout=10)

    def on_record(self) -> int:
        return self.journal.read_bytes().count(b"\n") if self.journal.exists() else 0

    def report(self) -> list[dict[str, str]]:
        with (self.folder / "rows.csv.report.csv").open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))

    def outcomes(self) -> Counter[str]:
        return Counter(row["outcome"] for row in self.report())
