"""Importing mailboxes from a CSV file: planned, sent, kept account of, reported."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from chamberlain.cli.arguments import is_id
from chamberlain.cli.calls import Area, Call
from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.mailboxes.import_ import columns
from chamberlain.mailboxes.import_.checkpoint import Journal, JournalUnusable
from chamberlain.mailboxes.import_.dry_run import rehearse
from chamberlain.mailboxes.import_.results import ImportOptions, RowResult
from chamberlain.mailboxes.import_.sender import Dispatch, KeyedRow, RowSender, connected, place_of, row_key
from chamberlain.mailboxes.import_.summary import Account, bar, stopped_by_interrupt
from chamberlain_client.operations import LIST_OFFERED_MAILBOX_TEMPLATES

# A terminal shows this many rows.
_MOST_SHOWN = 100


def import_file(call: Call, options: ImportOptions) -> None:
    """Request a mailbox for each row that no earlier run has finished."""
    _require_three_files(options)
    rows = _with_templates(call, options, _read(options.file))
    keyed = _keyed(call, rows)
    if options.dry_run:
        asyncio.run(rehearse(call, options, keyed))
        return
    try:
        with Journal(options.journal_path) as journal:
            account = Account(options, call.as_json, keyed, journal)
            account.take_over(journal.read())
            with account.reported():
                asyncio.run(_import(call, account))
    except JournalUnusable as error:
        raise ended(ExitCode.FAILED, str(error)) from error
    account.end()


async def _import(call: Call, account: Account) -> None:
    async with connected(call) as transport:
        sender = RowSender(transport, account.note)
        stop = asyncio.Event()
        with stopped_by_interrupt(asyncio.get_running_loop(), stop):
            await _send(account, sender, stop)
            if account.options.wait and not stop.is_set():
                await _wait(account, sender, stop)
        account.was_stopped = stop.is_set()


async def _send(account: Account, sender: RowSender, stop: asyncio.Event) -> None:
    rows = account.open_rows
    with bar("Mailboxes asked for", len(rows)) as advance:

        def done(result: RowResult) -> None:
            account.put(result)
            advance()

        await Dispatch(sender.send, done).run(rows, stop)


async def _wait(account: Account, sender: RowSender, stop: asyncio.Event) -> None:
    """Poll accepted mailboxes until they are active, or until the timeout."""
    waited = [each for each in account.results.values() if each.outcome.is_well and each.mailbox_id is not None]
    for result in waited:
        account.put(result.not_finished())
    over = asyncio.Event()
    with bar("Mailboxes active", len(waited)) as advance:

        def done(result: RowResult) -> None:
            account.put(result)
            advance()

        looking = asyncio.ensure_future(Dispatch(sender.look, done).run(waited, over))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait({looking, stopped}, timeout=account.options.timeout, return_when=asyncio.FIRST_COMPLETED)
        over.set()
        stopped.cancel()
        await looking


def _require_three_files(options: ImportOptions) -> None:
    named = [path.resolve() for path in (options.file, options.journal_path, options.report_path)]
    if len(set(named)) < len(named):
        raise Misused("The file, its --journal and its --report are three files: name another one.")


def _read(path: Path) -> Sequence[columns.MailboxRow]:
    try:
        with path.open("rb") as file:
            # One byte more than may be read tells that there are too many.
            data = file.read(columns.MOST_BYTES + 1)
    except OSError as error:
        raise Misused(f"{path} cannot be read ({error.strerror}).") from error
    rows, faults = columns.read_rows(columns.read_table(data))
    _require_none(path, faults)
    return rows


def _with_templates(
    call: Call, options: ImportOptions, rows: Sequence[columns.MailboxRow]
) -> Sequence[columns.MailboxRow]:
    named = any(row.template is not None for row in rows) or (options.template and not is_id(options.template))
    templates: dict[str, list[str]] = {}
    if named:
        with call.service(Area.MAIL) as service:
            for offered in service.items(LIST_OFFERED_MAILBOX_TEMPLATES, {}, None):
                templates.setdefault(str(offered["name"]).casefold(), []).append(str(offered["id"]))
    default = options.template
    if default is not None and not is_id(default):
        ids = templates.get(default.casefold(), [])
        if len(ids) != 1:
            raise Misused(
                f"--template {default} is no name of exactly one template. `chamberlain template list` shows them."
            )
        (default,) = ids
    found, faults = columns.with_templates(rows, templates, default)
    _require_none(options.file, faults)
    return found


def _require_none(path: Path, faults: Sequence[columns.FileFault]) -> None:
    if not faults:
        return
    more = [f"There are {len(faults) - _MOST_SHOWN} faults more."] if len(faults) > _MOST_SHOWN else []
    lines = [f"{path}, {fault}" for fault in faults[:_MOST_SHOWN]]
    raise ended(ExitCode.FAILED, *lines, *more, "Nothing was sent.")


def _keyed(call: Call, rows: Sequence[columns.MailboxRow]) -> Sequence[KeyedRow]:
    place = place_of(call.server, call.token(Area.MAIL))
    return [KeyedRow(row, row_key(place, row.body)) for row in rows]
