"""Pages of a list: which entries, in which order, from where on, and how many there are in all.

Statements consist of the fixed pieces of a listing and of the conditions; whatever a caller says is a parameter.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TypeAlias
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Shape
from chamberlain.embedded.directory.graph.conditions import Parameters, Subject, condition_of
from chamberlain.embedded.directory.graph.filters import Filter, Vocabulary, read_filter
from chamberlain.embedded.directory.graph.options import (
    KeyValue,
    Options,
    Order,
    SortKey,
    next_query,
    read_options,
    read_order,
)

_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a list: behind the entry of this id. `key` is what the entry is sorted by, where that is not the id;
    None is an entry that has no such value."""

    id: UUID
    key: KeyValue | None = None


class _Written(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    id: UUID
    key: str | None


_decoder = msgspec.json.Decoder(_Written)


def write_skip_token(place: Place, query: Sequence[str | None]) -> str:
    """The place as a token that is good for this query only."""
    key = place.key.isoformat() if isinstance(place.key, datetime) else place.key
    content = msgspec.json.encode(_Written(place.id, key))
    return _encoded(_digest(content, query) + content)


def read_skip_token(token: str, query: Sequence[str | None], *, key_is_time: bool) -> Place:
    """The place. Raises BadQuery for a token that was not made for this query."""
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        content = raw[_DIGEST_BYTES:]
        written = _decoder.decode(content)
        key = _time(written.key) if key_is_time else written.key
    except ValueError:
        raise _unknown() from None
    # The decoder overlooks what is no letter of it.
    is_ours = _encoded(raw) == token and raw[:_DIGEST_BYTES] == _digest(content, query)
    # No text of the database holds a NUL, and it takes none.
    if not is_ours or "\x00" in (written.key or ""):
        raise _unknown()
    return Place(written.id, key)


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _digest(content: bytes, query: Sequence[str | None]) -> bytes:
    return blake2b(msgspec.json.encode((query, content)), digest_size=_DIGEST_BYTES).digest()


def _time(written: str | None) -> datetime | None:
    if written is None:
        return None
    time = datetime.fromisoformat(written)
    # The database would take one without an offset for its own.
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _unknown() -> BadQuery:
    return BadQuery("BadRequest", "The query parameter '$skiptoken' was not made by this service for this query.")


Row: TypeAlias = asyncpg.Record

_COUNT_OPTIONS = frozenset({"$filter"})


@dataclass(frozen=True, slots=True)
class Listing:
    """Something that can be listed. Its id is that of the subject.

    `columns` are those of a row, and `source` is where they come from; of `counted` there are as many. Both end in a
    condition on the tenant, `$1`, and further ones are added. `visible` is the condition on what was made at a moment
    or before, with a place for that.
    """

    kind: str
    columns: str
    source: str
    counted: str
    visible: str
    subject: Subject
    vocabulary: Vocabulary
    keys: Mapping[str, SortKey]


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a listing."""

    options: Options
    filter: Filter | None
    order: Order | None
    after: Place | None

    @property
    def is_first(self) -> bool:
        """Whether it asks for the first page."""
        return self.after is None


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of a page, the query string of the next one if there is one, and how many entries there are in all, if
    that was asked for."""

    rows: Sequence[Row]
    next_query: str | None
    count: int | None


def read_query(call: Call, listing: Listing, options: Options) -> Query:
    """The options as this listing understands them. Raises BadQuery."""
    order = None if options.order is None else read_order(options.order, listing.keys, listing.kind)
    query = Query(
        options=options,
        filter=None if options.filter is None else read_filter(options.filter, listing.vocabulary),
        order=order,
        after=read_place(call, options, key_is_time=order is not None and order.key.kind == "timestamptz"),
    )
    if order is not None and query.filter is not None and query.is_first and not (options.count and call.is_eventual):
        # As Graph does, so that a query that works here works there.
        needed = "Beside $filter, $orderby needs the header ConsistencyLevel: eventual and $count=true."
        message = f"Sorting not supported for current query. {needed}"
        raise BadQuery("Request_UnsupportedQuery", message)
    return query


def read_place(call: Call, options: Options, *, key_is_time: bool = False) -> Place | None:
    """Where the page begins. Raises BadQuery."""
    if options.skip_token is None:
        return None
    return read_skip_token(options.skip_token, _binding(call, options), key_is_time=key_is_time)


def next_page(call: Call, options: Options, last: Place) -> str:
    """The query string of the page behind this entry."""
    return next_query(options, write_skip_token(last, _binding(call, options)))


async def fetch_page(call: Call, listing: Listing, query: Query) -> Page:
    """The page that is asked for. The number of entries comes with the first one."""
    async with one_tenant(call.pool, call.tenant_id) as connection:
        parameters = Parameters([call.tenant_id])
        rows = await connection.fetch(page_statement(call, listing, query, parameters), *parameters)
        count = None
        if counts(call, query):
            parameters = Parameters([call.tenant_id])
            count = await connection.fetchval(_count_statement(call, listing, query.filter, parameters), *parameters)
    return page_of(call, query, rows, count)


def page_of(call: Call, query: Query, rows: Sequence[Row], count: int | None = None) -> Page:
    """The page that consists of these rows; one row more than a page holds says that there is a next one."""
    shown = rows[: query.options.top]
    if len(rows) == len(shown):
        return Page(shown, None, count)
    last = Place(shown[-1]["id"], None if query.order is None else shown[-1]["sort_key"])
    return Page(shown, next_page(call, query.options, last), count)


def shape_of_page(call: Call, page: Page, context: str, shape: Callable[[Row], Shape]) -> Shape:
    """The page as callers get it, each row in this shape."""
    answer: Shape = {"@odata.context": context}
    if page.count is not None:
        answer["@odata.count"] = page.count
    if page.next_query is not None:
        answer["@odata.nextLink"] = f"{call.root}{call.path}?{page.next_query}"
    answer["value"] = [shape(row) for row in page.rows]
    return answer


def counts(call: Call, query: Query) -> bool:
    """Whether the number of all entries is in the answer: as in Graph, without the header it is left out silently."""
    return query.options.count and call.is_eventual and query.is_first


async def count_entries(call: Call, listing: Listing) -> int:
    """How many entries the filter names, as the path `/$count` answers it. Raises BadQuery."""
    options = read_options(call.query_string, known=_COUNT_OPTIONS)
    require_eventual(call)
    wanted = None if options.filter is None else read_filter(options.filter, listing.vocabulary)
    parameters = Parameters([call.tenant_id])
    statement = _count_statement(call, listing, wanted, parameters)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        count: int = await connection.fetchval(statement, *parameters)
    return count


def page_statement(call: Call, listing: Listing, query: Query, parameters: Parameters) -> str:
    """The statement that reads a page, and one row more if there is one; its values are added to the parameters."""
    key = "" if query.order is None else f", {query.order.key.expression} AS sort_key"
    conditions = _conditions(call, listing, query.filter, parameters)
    if query.after is not None:
        conditions += f" AND {_behind(query.after, query.order, listing.subject.id, parameters)}"
    limit = parameters.add(query.options.top + 1, "integer")
    by = _order_by(query.order, listing.subject.id)
    return f"SELECT {listing.columns}{key} FROM {listing.source}{conditions} ORDER BY {by} LIMIT {limit}"  # noqa: S608 - fixed pieces.


def require_eventual(call: Call) -> None:
    """Raises BadQuery where the number of entries may not be asked for alone."""
    if not call.is_eventual:
        message = "$count is not currently supported. Send the header ConsistencyLevel: eventual with it."
        raise BadQuery("Request_BadRequest", message)


def _count_statement(call: Call, listing: Listing, wanted: Filter | None, parameters: Parameters) -> str:
    conditions = _conditions(call, listing, wanted, parameters)
    return f"SELECT count(*) FROM {listing.counted}{conditions}"  # noqa: S608 - fixed pieces.


def _conditions(call: Call, listing: Listing, wanted: Filter | None, parameters: Parameters) -> str:
    conditions = "" if wanted is None else f" AND {condition_of(wanted, parameters, listing.subject)}"
    if call.visible_until is not None:
        conditions += f" AND {listing.visible.format(parameters.add(call.visible_until, 'timestamptz'))}"
    return conditions


def _order_by(order: Order | None, id_column: str) -> str:
    if order is None:
        return id_column
    direction, nulls = ("DESC", " NULLS LAST") if order.descends else ("ASC", " NULLS FIRST")
    # Said of a column that has no nulls, it would keep the index from being used.
    return f"{order.key.expression} {direction}{nulls if order.key.may_lack else ''}, {id_column} {direction}"


def _behind(place: Place, order: Order | None, id_column: str, parameters: Parameters) -> str:
    """The condition on what comes behind the place."""
    after = parameters.add(place.id, "uuid")
    if order is None:
        return f"{id_column} > {after}"
    expression, sign = order.key.expression, "<" if order.descends else ">"
    if place.key is None:
        same = f"({expression} IS NULL AND {id_column} {sign} {after})"
        return same if order.descends else f"({same} OR {expression} IS NOT NULL)"
    behind = f"({expression}, {id_column}) {sign} ({parameters.add(place.key, order.key.kind)}, {after})"
    return f"({behind} OR {expression} IS NULL)" if order.descends and order.key.may_lack else behind


def _binding(call: Call, options: Options) -> Sequence[str | None]:
    """What the place of a page belongs to: with another filter or order it would be another place."""
    return (str(call.tenant_id), call.path, options.filter, options.order)
