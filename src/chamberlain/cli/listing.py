"""Print lists and single records, as a table or as JSON lines."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.output import Column, Record, say, show_json, show_record, show_table
from chamberlain_client.calls import QueryValue
from chamberlain_client.operations import Operation


def show_list(
    call: Call,
    area: Area,
    operation: Operation,
    *,
    filters: Mapping[str, QueryValue],
    columns: Sequence[Column],
    most: int | None,
) -> None:
    """Print a list, and report when the limit cut it. `most` None means no limit."""
    with call.service(area) as service:
        items = service.items(operation, filters, None if most is None else most + 1)
        show_records(call, islice(items, most), columns)
        if next(items, None) is not None:
            say("There are more: --limit and --all show them.")


def show_records(call: Call, records: Iterable[Record], columns: Sequence[Column]) -> None:
    """Print records as a table or as JSON lines."""
    if call.as_json:
        for record in records:
            show_json(record)
    else:
        show_table(columns, records)


def show_one(call: Call, area: Area, operation: Operation, *ids: str) -> None:
    """Read one resource and print it."""
    with call.service(area) as service:
        show(call, service.read(operation, *ids))


def show(call: Call, record: Record) -> None:
    """Print an object as JSON, or one line per member."""
    (show_json if call.as_json else show_record)(record)
