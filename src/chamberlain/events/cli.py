# SPDX-License-Identifier: Apache-2.0
"""Commands of events: list and follow."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec
import typer

from chamberlain.changes.models import EventType
from chamberlain.cli.arguments import one_of
from chamberlain.cli.calls import Area, Call, Service
from chamberlain.cli.errors import ExitCode, ended
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import request_id_of
from chamberlain.cli.options import All, Limit, calls, most
from chamberlain.cli.output import Column, Record, say
from chamberlain_client import operations
from chamberlain_client.asynchronous.administration import AsyncEventStream
from chamberlain_client.calls import QueryValue

events = CommandTable()

Type = Annotated[str | None, typer.Option("--type", help="Type, such as request.failed or template.changed.")]
OfRequest = Annotated[str | None, typer.Option("--request", metavar="REQUEST", help="Only events of this request.")]
After = Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue after this cursor, with the same filters.")]

COLUMNS = (
    Column("AGE", "timestamp"),
    Column("TYPE", "type"),
    Column("ABOUT", "about"),
    Column("BY", "by"),
    Column("REQUEST", "requestId", wide=True),
)
# Members of the data that have its object, its actor, and their names.
_OBJECTS = ("request", "mailbox", "group", "site", "subject", "template", "policy", "tenant", "adoption", "connection")
_ACTORS = ("changedBy", "createdBy")
_NAMES = ("displayName", "name", "adapter", "id")
# Maximum page size of the API.
_PAGE = 200


@events.command("list")
@calls
def list_events(
    call: Call,
    *,
    type_: Type = None,
    request: OfRequest = None,
    after: After = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List events, oldest first. The cursor that continues is printed last."""
    request_id = request and request_id_of(call, request, option="--request")
    position = _Position({"type": type_ and one_of(type_, EventType, "--type"), "requestId": request_id}, after)
    with call.service(Area.ADMIN) as service:
        found = _events(service, position, most(limit, everything=everything))
        rows = found if call.output.is_document else map(_row, found)
        call.output.show_records(rows, COLUMNS, "events")
    _show_continuation(position.cursor)


@events.command("follow")
@calls
def follow_events(
    call: Call,
    *,
    type_: Type = None,
    request: OfRequest = None,
    after: After = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="Start with the oldest event, not with the next.")] = False,
) -> None:
    """Follow events as they happen, until you interrupt it."""
    request_id = request and request_id_of(call, request, option="--request")
    try:
        event_type = type_ and one_of(type_, EventType, "--type")
        asyncio.run(_follow(call, event_type, request_id, after, start="oldest" if oldest else "now"))
    except KeyboardInterrupt as error:
        raise ended(ExitCode.INTERRUPTED) from error


class _Position:
    """A position in the filtered feed."""

    def __init__(self, filters: Mapping[str, QueryValue], cursor: str | None) -> None:
        self.filters = filters
        self.cursor = cursor


def _events(service: Service, position: _Position, most: int | None) -> Iterator[Record]:
    """Read events to the end of the feed, at most so many.

    Moves the position.
    """
    left = most
    while left is None or left > 0:
        size = _PAGE if left is None else min(left, _PAGE)
        query = {**position.filters, "limit": size, "cursor": position.cursor}
        page = msgspec.convert(service.read(operations.LIST_EVENTS, query=query), _Page)
        yield from page.items
        position.cursor = page.next_cursor
        left = None if left is None else left - len(page.items)
        if len(page.items) < size:
            return


class _Page(msgspec.Struct, rename="camel", frozen=True):
    items: tuple[dict[str, object], ...]
    next_cursor: str


async def _follow(call: Call, type_: str | None, request: str | None, after: str | None, *, start: str) -> None:
    say("Following events. Press Ctrl-C to stop.")
    async with call.events() as service:
        stream = service.stream(after, type=type_, request_id=request, start=start)
        try:
            await _show_all(call, stream)
        finally:
            _show_continuation(stream.cursor)


async def _show_all(call: Call, stream: AsyncEventStream) -> None:
    async for content in stream.documents():
        document = msgspec.json.decode(content, type=dict[str, object])
        call.output.show_next(document if call.output.is_document else _row(document), COLUMNS)


def _show_continuation(cursor: str | None) -> None:
    if cursor is not None:
        say(f"To continue: --after {cursor}")


def _row(event: Record) -> Record:
    """Add the names of the object and the actor."""
    return {**event, "about": _name(event, _OBJECTS), "by": _name(event, _ACTORS)}


def _name(event: Record, members: tuple[str, ...]) -> object:
    data = event["data"]
    if not isinstance(data, Mapping):
        return None
    for member in members:
        if isinstance(found := data.get(member), Mapping):
            return next((found[each] for each in _NAMES if found.get(each)), None)
    return None
