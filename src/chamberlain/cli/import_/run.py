# SPDX-License-Identifier: Apache-2.0
"""Run an import: plan, send, keep account and report."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.import_.checkpoint import Journal, JournalUnusable
from chamberlain.cli.import_.dispatch import Dispatch
from chamberlain.cli.import_.dry_run import preview
from chamberlain.cli.import_.results import ImportOptions, RowResult
from chamberlain.cli.import_.sender import KeyedRow, Row, RowSender, connected, place_of, row_key
from chamberlain.cli.import_.summary import Account, bar, stopped_by_interrupt
from chamberlain.cli.import_.table import MOST_BYTES, FileFault, Table, read_table
from chamberlain.cli.output import Column
from chamberlain_client.asynchronous.transport import AsyncTransport

# A terminal shows this many rows.
_MOST_SHOWN = 100

# Notes that a row is done, by its key.
Note = Callable[[str, RowResult], None]


@dataclass(frozen=True, slots=True)
class Import(Generic[Row]):
    """The import of one noun.

    `content` is what makes a row different from others, for its key. `columns` are those of a dry run.
    """

    noun: str
    plural: str
    area: Area
    content: Callable[[Row], object]
    sender: Callable[[AsyncTransport, Note], RowSender[Row]]
    columns: Sequence[Column]


def read_file(path: Path) -> Table:
    """Read the rows of a file. Raises Misused."""
    try:
        with path.open("rb") as file:
            # One byte more than may be read tells that there are too many.
            return read_table(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise Misused(f"{path} cannot be read ({error.strerror}).") from error


def require_three_files(options: ImportOptions) -> None:
    """Raise Misused if file, journal and report are not three files."""
    named = [path.resolve() for path in (options.file, options.journal_path, options.report_path)]
    if len(set(named)) < len(named):
        raise Misused("The file, its --journal and its --report are three files: name another one.")


def require_none(path: Path, faults: Sequence[FileFault]) -> None:
    """End the command if the file has faults."""
    if not faults:
        return
    more = [f"There are {len(faults) - _MOST_SHOWN} faults more."] if len(faults) > _MOST_SHOWN else []
    lines = [f"{path}, {fault}" for fault in faults[:_MOST_SHOWN]]
    raise ended(ExitCode.FAILED, *lines, *more, "Nothing was sent.")


def import_rows(call: Call, options: ImportOptions, rows: Sequence[Row], import_: Import[Row]) -> None:
    """Send the rows that no earlier run has finished.

    With `dry_run` it runs them as a dry run.
    """
    place = place_of(call.server, call.token(import_.area))
    keyed = [KeyedRow(row, row_key(import_.noun, place, import_.content(row))) for row in rows]
    if options.dry_run:
        asyncio.run(_preview(call, options, keyed, import_))
        return
    try:
        with Journal(options.journal_path) as journal:
            account = Account(options, call.output, keyed, journal)
            account.take_over(journal.read())
            with account.reported():
                asyncio.run(_import(call, account, import_))
    except JournalUnusable as error:
        raise ended(ExitCode.FAILED, str(error)) from error
    account.end()


async def _preview(call: Call, options: ImportOptions, keyed: Sequence[KeyedRow[Row]], import_: Import[Row]) -> None:
    async with connected(call, import_.area) as transport:
        sender = import_.sender(transport, lambda _key, _result: None)
        await preview(call, options, keyed, sender, import_.columns)


async def _import(call: Call, account: Account[Row], import_: Import[Row]) -> None:
    async with connected(call, import_.area) as transport:
        sender = import_.sender(transport, account.note)
        stop = asyncio.Event()
        with stopped_by_interrupt(asyncio.get_running_loop(), stop):
            await _send(account, sender, stop, import_.plural)
            if account.options.wait and not stop.is_set():
                await _wait(account, sender, stop, import_.plural)
        account.was_stopped = stop.is_set()


async def _send(account: Account[Row], sender: RowSender[Row], stop: asyncio.Event, plural: str) -> None:
    rows = account.open_rows
    with bar(f"{plural} asked for", len(rows)) as advance:

        def done(result: RowResult) -> None:
            account.put(result)
            advance()

        await Dispatch(sender.send, done).run(rows, stop)


async def _wait(account: Account[Row], sender: RowSender[Row], stop: asyncio.Event, plural: str) -> None:
    """Poll accepted rows until they are finished, or until the timeout."""
    waited = [each for each in account.results.values() if each.outcome.is_well and each.can_be_waited_for]
    for result in waited:
        account.put(result.not_finished())
    over = asyncio.Event()
    with bar(f"{plural} active", len(waited)) as advance:

        def done(result: RowResult) -> None:
            account.put(result)
            advance()

        looking = asyncio.ensure_future(Dispatch(sender.look, done).run(waited, over))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait({looking, stopped}, timeout=account.options.timeout, return_when=asyncio.FIRST_COMPLETED)
        over.set()
        stopped.cancel()
        await looking
