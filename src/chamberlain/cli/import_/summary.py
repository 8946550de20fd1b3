# SPDX-License-Identifier: Apache-2.0
"""The summary of an import: the result of each row."""

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

import typer

from chamberlain.cli.errors import ExitCode
from chamberlain.cli.formats import Format, Output
from chamberlain.cli.import_.checkpoint import Entry, Journal, result_on_record
from chamberlain.cli.import_.results import (
    RESULT_COLUMNS,
    ImportOptions,
    Outcome,
    RowResult,
    as_csv,
    as_lines,
    write_report,
)
from chamberlain.cli.import_.sender import KeyedRow, Row
from chamberlain.cli.output import say

if TYPE_CHECKING:
    import asyncio


# A terminal shows this many rows. The rest is in the report.
_MOST_TOLD = 100
_LINES = {".ndjson", ".jsonl", ".json"}

_WORDS = {
    Outcome.ACCEPTED: "accepted",
    Outcome.PRESENT: "there already",
    Outcome.CONFLICT: "in conflict with what is there",
    Outcome.REFUSED: "refused",
    Outcome.NOT_SENT: "not sent",
    Outcome.ACTIVE: "active",
    Outcome.NOT_FINISHED: "not finished",
    Outcome.FAILED: "failed",
}


@dataclass(slots=True)
class Account(Generic[Row]):
    """The results so far."""

    options: ImportOptions
    output: Output
    rows: Sequence[KeyedRow[Row]]
    journal: Journal
    results: dict[int, RowResult] = field(default_factory=dict)
    was_stopped: bool = False

    def take_over(self, done: Mapping[str, Entry]) -> None:
        """Skip rows that an earlier run has finished."""
        for each in self.rows:
            if (entry := done.get(each.key)) is not None:
                self.put(result_on_record(entry, each.row.line, each.row.name))

    def put(self, result: RowResult) -> None:
        """This has become of a row."""
        self.results[result.line] = result

    def note(self, key: str, result: RowResult) -> None:
        """Count a finished row and write it to the checkpoint file.

        It counts even if the write fails, since it was sent.
        """
        self.put(result)
        self.journal.note(key, result)

    @property
    def open_rows(self) -> Sequence[KeyedRow[Row]]:
        """Those of which nothing has become yet."""
        return [each for each in self.rows if each.row.line not in self.results]

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Report in the end, however the block ends."""
        try:
            yield
        finally:
            for each in self.open_rows:
                self.put(RowResult(each.row.line, each.row.name, Outcome.NOT_SENT))
            self._tell()

    def end(self) -> None:
        """End the command as the rows have ended."""
        outcomes = {result.outcome for result in self.results.values()}
        if self.was_stopped:
            raise typer.Exit(ExitCode.INTERRUPTED)
        if any(not each.is_well and each is not Outcome.NOT_FINISHED for each in outcomes):
            raise typer.Exit(ExitCode.FAILED)
        if Outcome.NOT_FINISHED in outcomes:
            raise typer.Exit(ExitCode.NOT_FINISHED)

    def _tell(self) -> None:
        results = [self.results[each.row.line] for each in self.rows]
        for result in [each for each in results if each.is_ill][:_MOST_TOLD]:
            say(f"line {result.line}, {result.name}: {result.outcome}. {result.detail or ''}".rstrip())
        counted = Counter(result.outcome for result in results)
        counts = ", ".join(f"{counted[outcome]} {_WORDS[outcome]}" for outcome in Outcome if counted[outcome])
        say(f"{len(results)} rows: {counts}.")
        self._report(results)
        if counted[Outcome.NOT_SENT]:
            say(f"The same command goes on where this one has ended; {self.journal.path} has what is done.")

    def _report(self, results: Sequence[RowResult]) -> None:
        if self.output.format is not Format.TABLE:
            self.output.show_records([result.record for result in results], RESULT_COLUMNS, "rows")
            if self.options.report is None:
                return
        path = self.options.report_path
        text = as_lines(results) if path.suffix in _LINES else as_csv(results)
        try:
            # With a mark, without which spreadsheets take UTF-8 for something else.
            write_report(path, text, encoding="utf-8" if path.suffix != ".csv" else "utf-8-sig")
        except OSError as error:
            say(f"The report {path} cannot be written ({error.strerror}). Name another place for the --report.")
            return
        say(f"The result of each row is in {path}.")


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on standard error.

    The yielded function counts one item.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def stopped_by_interrupt(loop: "asyncio.AbstractEventLoop", stop: "asyncio.Event") -> Iterator[None]:
    """Let the first Ctrl-C set the event; a second one interrupts."""

    def interrupt() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
