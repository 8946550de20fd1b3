"""Dry run of an import, row by row."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from chamberlain.cli.calls import Call
from chamberlain.cli.errors import ExitCode, ended
from chamberlain.cli.output import Column, say, show_json, show_table
from chamberlain.mailboxes.import_.checkpoint import Entry, entries_of
from chamberlain.mailboxes.import_.results import ImportOptions
from chamberlain.mailboxes.import_.sender import Dispatch, KeyedRow, Rehearsed, RowSender, connected
from chamberlain.mailboxes.import_.summary import bar, stopped_by_interrupt

# Rows that are shown in full. The others are counted.
MOST_REHEARSED = 200

_PLAN = (
    Column("LINE", "line"),
    Column("NAME", "name"),
    Column("ADDRESS", "address"),
    Column("TEMPLATE", "template"),
    Column("APPROVAL", "approvalRequired"),
    Column("STEPS", "steps"),
    Column("REFUSED", "refused"),
)


async def rehearse(call: Call, options: ImportOptions, keyed: Sequence[KeyedRow]) -> None:
    """Run the unfinished rows as a dry run.

    Exits 1 if one would be refused.
    """
    done = _on_record(options.journal_path)
    rows = [each.row for each in keyed if each.key not in done]
    found: list[Rehearsed] = []
    async with connected(call) as transport:
        stop = asyncio.Event()
        sender = RowSender(transport, lambda _key, _result: None)
        with stopped_by_interrupt(asyncio.get_running_loop(), stop), bar("Rows looked at", len(rows)) as advance:

            def take(rehearsed: Rehearsed) -> None:
                found.append(rehearsed)
                advance()

            await Dispatch(sender.rehearse, take).run(rows[:MOST_REHEARSED], stop)
    records = [each.record for each in sorted(found, key=lambda each: each.row.line)]
    if call.as_json:
        for record in records:
            show_json(record)
    else:
        show_table(_PLAN, records)
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
        f"{total} rows: {total - open_count} done by an earlier run; of {len(records)} looked at, {refused} would be "
        f"refused and {approvals} need approval. Nothing was done."
    )


def _on_record(path: Path) -> Mapping[str, Entry]:
    try:
        return entries_of(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ended(ExitCode.FAILED, f"{path} cannot be read ({error.strerror}).") from error
