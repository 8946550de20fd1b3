# SPDX-License-Identifier: Apache-2.0
"""Paginate lists: page size, cursor and next cursor.

A cursor is encrypted for its tenant, caller, path and filters.
"""

from urllib.parse import urlencode

from chamberlain.core.paging import FeedPosition, FeedWanted, NamedPageWanted, NamePosition, PageWanted, Position
from chamberlain.http.request import Call, Parameter

LIMIT = Parameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
    "The maximum number of items of a page.",
)
CURSOR = Parameter(
    "cursor",
    {"type": "string"},
    "`nextCursor` of the previous page. It belongs to this caller, list and filters; only `limit` may change.",
)
# Where a stream of a feed starts without a position.
START = Parameter(
    "start",
    {"type": "string", "enum": ["oldest", "now"], "default": "oldest"},
    "The first event without `Last-Event-ID`: the oldest one that is kept, or the next one that happens.",
)
PARAMETERS = (LIMIT, CURSOR)
_NO_FILTERS = frozenset({LIMIT.name, CURSOR.name, START.name})


def page_wanted(call: Call[None]) -> PageWanted:
    """Read the requested page. Raises Malformed for a cursor of another list."""
    limit = int(call.query.get(LIMIT.name, "50"))
    cursor = call.query.get(CURSOR.name)
    return PageWanted(limit, None if cursor is None else call.http.cursors.open(cursor, _place(call)))


def named_page_wanted(call: Call[None]) -> NamedPageWanted:
    """Read the requested page of a list that is sorted by name."""
    limit = int(call.query.get(LIMIT.name, "50"))
    cursor = call.query.get(CURSOR.name)
    return NamedPageWanted(limit, None if cursor is None else call.http.cursors.open_named(cursor, _place(call)))


def next_cursor(call: Call[None], after: Position | NamePosition | None) -> str | None:
    """Make the cursor of the next page; None on the last page."""
    return None if after is None else call.http.cursors.seal(after, _place(call))


def feed_wanted(call: Call[None]) -> FeedWanted:
    """Read the requested page of a feed. Raises Malformed.

    The first page starts with the oldest item.
    """
    cursor = call.query.get(CURSOR.name)
    after = FeedPosition(0) if cursor is None else call.http.cursors.open_feed(cursor, _place(call))
    return FeedWanted(int(call.query.get(LIMIT.name, "50")), after)


def feed_cursor(call: Call[None], after: FeedPosition) -> str:
    """Make the cursor of the next page of an endless feed."""
    return call.http.cursors.seal(after, _place(call))


def stream_position(call: Call[None], feed: str, cursor: str) -> FeedPosition:
    """Read the position of a stream in a feed. Raises Malformed.

    `feed` is the path of the list of the feed. The cursors of both are the same.
    """
    return call.http.cursors.open_feed(cursor, _place(call, feed))


def stream_cursor(call: Call[None], feed: str, after: FeedPosition) -> str:
    """Make the cursor that continues a stream, or its list."""
    return call.http.cursors.seal(after, _place(call, feed))


def _place(call: Call[None], path: str | None = None) -> str:
    """Return the place that a cursor is encrypted for.

    It has the canonical path.
    """
    filters = sorted((name, value) for name, value in call.query.items() if name not in _NO_FILTERS)
    path = call.path if path is None else path
    return f"{call.caller.tenant_id} {call.caller.type} {call.caller.id} {path}?{urlencode(filters)}"
