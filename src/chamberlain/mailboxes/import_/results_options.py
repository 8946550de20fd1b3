"""How an import is done, and which files belong to it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How it is done. `timeout` is how many seconds are waited for mailboxes to be active, where `wait` says so."""

    file: Path
    template: str | None
    dry_run: bool
    wait: bool
    timeout: float
    report: Path | None
    journal: Path | None

    @property
    def journal_path(self) -> Path:
        """Where the journal is: beside the file, unless another place is named."""
        return self.journal or self.file.with_name(f"{self.file.name}.journal")

    @property
    def report_path(self) -> Path:
        """Where the report goes when it is not printed."""
        return self.report or self.file.with_name(f"{self.file.name}.report.csv")
