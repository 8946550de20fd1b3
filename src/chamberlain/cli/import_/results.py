# SPDX-License-Identifier: Apache-2.0
"""The results of an import, as a file for people or programs."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from chamberlain.cli.output import Column, safe_cell


class Outcome(StrEnum):
    """Outcome of a row. `accepted` and `present` are finished."""

    ACCEPTED = "accepted"
    PRESENT = "present"
    CONFLICT = "conflict"
    REFUSED = "refused"
    NOT_SENT = "notSent"
    ACTIVE = "active"
    NOT_FINISHED = "notFinished"
    FAILED = "failed"

    @property
    def is_well(self) -> bool:
        """Whether nothing is to be done about it."""
        return self in {Outcome.ACCEPTED, Outcome.PRESENT, Outcome.ACTIVE}


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of one row.

    Its other fields are set as soon as the service reports them.
    """

    line: int
    name: str
    outcome: Outcome
    address: str | None = None
    object_id: str | None = None
    request_id: str | None = None
    code: str | None = None
    detail: str | None = None

    @property
    def is_ill(self) -> bool:
        """Return whether the row needs attention."""
        return self.outcome in {Outcome.CONFLICT, Outcome.REFUSED, Outcome.FAILED}

    @property
    def can_be_waited_for(self) -> bool:
        """Return whether the row has an object or a request."""
        return self.object_id is not None or self.request_id is not None

    def not_finished(self) -> "RowResult":
        """Return this result with the outcome not finished."""
        return replace(self, outcome=Outcome.NOT_FINISHED)

    @property
    def record(self) -> Mapping[str, object]:
        """The members as the report names them."""
        return {
            "line": self.line,
            "name": self.name,
            "outcome": str(self.outcome),
            "address": self.address,
            "id": self.object_id,
            "requestId": self.request_id,
            "code": self.code,
            "detail": self.detail,
        }


RESULT_COLUMNS = tuple(Column(name.upper(), name) for name in RowResult(0, "", Outcome.NOT_SENT).record)


def as_csv(results: Iterable[RowResult]) -> str:
    """Write the results as CSV in which no cell is a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([each.path for each in RESULT_COLUMNS])
    for result in results:
        writer.writerow(["" if value is None else safe_cell(str(value)) for value in result.record.values()])
    return text.getvalue()


def as_lines(results: Iterable[RowResult]) -> str:
    """A line of JSON for each."""
    return "".join(f"{json.dumps(dict(result.record), ensure_ascii=False)}\n" for result in results)


def write_report(path: Path, text: str, *, encoding: str) -> None:
    """Write the file atomically. Raises OSError.

    A special file such as /dev/null is written to and not replaced.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, encoding=encoding, newline="")
        return
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding=encoding, newline="")
    unfinished.replace(path)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import.

    With `wait`, all objects may take `timeout` seconds to be finished.
    """

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
