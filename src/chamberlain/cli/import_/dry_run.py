# SPDX-License-Identifier: Apache-2.0
"""Dry run of an import, row by row."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from chamberlain.cli.calls import Call
from chamberlain.cli.errors import ExitCode, ended
from chamberlain.cli.import_.checkpoint import Entry, entries_of
from chamberlain.cli.import_.dispatch import Dispatch
from chamberlain.cli.import_.results import ImportOptions
from chamberlain.cli.import_.sender import KeyedRow, Previewed, Row, RowSender
from chamberlain.cli.import_.summary import bar, stopped_by_interrupt
from chamberlain.cli.output import Column, say

# Rows that are shown in full. The others are counted.
MOST_PREVIEWED = 200


async def preview(
    call: Call,
    options: ImportOptions,
    keyed: Sequence[KeyedRow[Row]],
    sender: RowSender[Row],
    columns: Sequence[Column],
) -> None:
    """Run the unfinished rows as a dry run.

    Exits 1 if one would be refused.
    """
    done = _on_record(options.journal_path)
    rows = [each.row for each in keyed if each.key not in done]
    found: list[Previewed] = []
    stop = asyncio.Event()
    with stopped_by_interrupt(asyncio.get_running_loop(), stop), bar("Rows looked at", len(rows)) as advance:

        def take(previewed: Previewed) -> None:
            found.append(previewed)
            advance()

        await Dispatch(sender.preview, take).run(rows[:MOST_PREVIEWED], stop)
    records = [each.record for each in sorted(found, key=lambda each: each.line)]
    call.output.show_records(records, columns, "rows left to send")
    _sum_up(len(keyed), len(rows), records)
    if stop.is_set():
        raise typer.Exit(ExitCode.INTERRUPTED)
    if any(record["refused"] for record in records):
        raise typer.Exit(ExitCode.FAILED)


def _sum_up(total: int, open_count: int, records: Sequence[Mapping[str, object]]) -> None:
    refused = sum(bool(record["refused"]) for record in records)
    approvals = sum(bool(record["approvalRequired"]) for record in records)
    if open_count > len(records):
        say(f"These are the first {len(records)} of {open_count} rows that are to be sent.")
    say(
        f"{total} rows: {total - open_count} requested by an earlier run. {len(records)} rows checked: "
        f"{refused} would be refused, {approvals} need approval. Nothing was sent."
    )


def _on_record(path: Path) -> Mapping[str, Entry]:
    try:
        return entries_of(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ended(ExitCode.FAILED, f"{path} cannot be read ({error.strerror}).") from error
