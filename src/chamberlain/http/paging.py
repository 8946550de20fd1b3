"""Lists in pages: how many items, behind which one, and the cursor for the next page.

A cursor is sealed to tenant, caller, path and filters. Nobody can make one, and one of another list is refused.
"""

from urllib.parse import urlencode

from chamberlain.core.paging import FeedPosition, FeedWanted, NamedPageWanted, NamePosition, PageWanted, Position
from chamberlain.http.context import Call
from chamberlain.http.router import Parameter

LIMIT = Parameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
    "How many items a page has at most.",
)
CURSOR = Parameter(
    "cursor",
    {"type": "string"},
    "`nextCursor` of the page before. It belongs to this caller, list and filters; only `limit` may change.",
)
PARAMETERS = (LIMIT, CURSOR)


def page_wanted(call: Call[None]) -> PageWanted:
    """The page that a call asks for, or Malformed for a cursor of another list."""
    limit = int(call.query.get(LIMIT.name, "50"))
    cursor = call.query.get(CURSOR.name)
    return PageWanted(limit, None if cursor is None else call.http.cursors.open(cursor, _place(call)))


def named_page_wanted(call: Call[None]) -> NamedPageWanted:
    """The same of a list that is sorted by name."""
    limit = int(call.query.get(LIMIT.name, "50"))
    cursor = call.query.get(CURSOR.name)
    return NamedPageWanted(limit, None if cursor is None else call.http.cursors.open_named(cursor, _place(call)))


def next_cursor(call: Call[None], after: Position | NamePosition | None) -> str | None:
    """The cursor for the page behind this position; None on the last page."""
    return None if after is None else call.http.cursors.seal(after, _place(call))


def feed_wanted(call: Call[None]) -> FeedWanted:
    """What a call asks for of a feed; it begins with the oldest without a cursor. Raises Malformed as well."""
    cursor = call.query.get(CURSOR.name)
    after = FeedPosition(0) if cursor is None else call.http.cursors.open_feed(cursor, _place(call))
    return FeedWanted(int(call.query.get(LIMIT.name, "50")), after)


def feed_cursor(call: Call[None], after: FeedPosition) -> str:
    """The cursor that goes on behind this position of a feed. It has no end."""
    return call.http.cursors.seal(after, _place(call))


def _place(call: Call[None]) -> str:
    """What a cursor is sealed to. The path is the canonical one, so that it does not matter how it was written."""
    filters = sorted((name, value) for name, value in call.query.items() if name not in {LIMIT.name, CURSOR.name})
    return f"{call.caller.tenant_id} {call.caller.type} {call.caller.id} {call.path}?{urlencode(filters)}"
