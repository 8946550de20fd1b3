"""Paginate lists: page size, cursor and next cursor.

A cursor is encrypted for its tenant, caller, path and filters.
"""

from urllib.parse import urlencode

from chamberlain.core.paging import FeedPosition, FeedWanted, NamedPageWanted, NamePosition, PageWanted, Position
from chamberlain.http.request import Call, Parameter

LIMIT = Parameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
    "The most items of a page.",
)
CURSOR = Parameter(
    "cursor",
    {"type": "string"},
    "`nextCursor` of the previous page. It belongs to this caller, list and filters; only `limit` may change.",
)
PARAMETERS = (LIMIT, CURSOR)


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


def _place(call: Call[None]) -> str:
    """Return the place that a cursor is encrypted for.

    It has the canonical path.
    """
    filters = sorted((name, value) for name, value in call.query.items() if name not in {LIMIT.name, CURSOR.name})
    return f"{call.caller.tenant_id} {call.caller.type} {call.caller.id} {call.path}?{urlencode(filters)}"
