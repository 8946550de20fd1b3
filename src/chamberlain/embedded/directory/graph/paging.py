# SPDX-License-Identifier: Apache-2.0
"""Paginates lists: filters, sort orders, positions and counts.

A statement consists of the fixed pieces of a listing and of conditions, with a parameter for each value of a call. The
skip token contains the last entry of the page before: its id and its sort key. It needs no secret, because it is a
position in a list of the caller's own tenant, and becomes a parameter. Its digest detects a token that was cut, changed
or taken from another query, which would otherwise skip entries silently.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from uuid import UUID

import msgspec

from chamberlain.core.directory_filters import Filter
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.filters import (
    Parameters,
    Subject,
    Vocabulary,
    condition_of,
    read_filter,
)
from chamberlain.embedded.directory.graph.options import (
    KeyValue,
    Options,
    Order,
    SortKey,
    next_query,
    read_options,
    read_order,
)
from chamberlain.embedded.directory.graph.searches import Search, read_search, search_condition

_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a list, after the entry with this id.

    `key` is its sort key; None if it has no value.
    """

    id: UUID
    key: KeyValue | None = None


class _Written(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    id: UUID
    key: str | None


_decoder = msgspec.json.Decoder(_Written)


def write_skip_token(place: Place, query: Sequence[str | None]) -> str:
    """Encode the position as a token for this query."""
    key = place.key.isoformat() if isinstance(place.key, datetime) else place.key
    content = msgspec.json.encode(_Written(place.id, key))
    return _encoded(_digest(content, query) + content)


def read_skip_token(token: str, query: Sequence[str | None], *, key_is_time: bool) -> Place:
    """Decode and validate a position.

    Raises BadQuery for a token of another query.
    """
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        content = raw[_DIGEST_BYTES:]
        written = _decoder.decode(content)
        key = _time(written.key) if key_is_time else written.key
    except ValueError:
        raise _unknown() from None
    # The base64 decoder ignores other characters.
    is_ours = _encoded(raw) == token and raw[:_DIGEST_BYTES] == _digest(content, query)
    # The database cannot store a NUL.
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
    # Without an offset, the database would use its own time zone.
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _unknown() -> BadQuery:
    return BadQuery("BadRequest", "The query parameter '$skiptoken' was not made by this service for this query.")


_COUNT_OPTIONS = frozenset({"$filter"})


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of resources. Their id is that of the subject.

    `columns` and `source` are the pieces of the SELECT; `counted` is a cheaper source with as many rows. Both sources
    end with a condition on the tenant, `$1`; more conditions are appended. `visible` is the condition on the creation
    time, with a placeholder. With `is_below_id`, `$2` is the id in the path.
    """

    kind: str
    columns: str
    source: str
    counted: str
    visible: str
    subject: Subject
    vocabulary: Vocabulary
    keys: Mapping[str, SortKey]
    is_below_id: bool = False

    def parameters(self, call: Call) -> Parameters:
        """Return the parameters of the sources."""
        return Parameters([call.tenant_id, call.id] if self.is_below_id else [call.tenant_id])


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a listing."""

    options: Options
    filter: Filter | None
    order: Order | None
    after: Place | None
    search: Search = ()

    def counts(self, call: Call) -> bool:
        """Check whether the first page includes the count.

        As in Graph, this needs the consistency header.
        """
        return self.options.count and call.is_eventual and self.after is None


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of a page, the next query string, and the count.

    The query string is None for the last page. The count of all entries is None unless requested.
    """

    rows: Sequence[Row]
    next_query: str | None
    count: int | None


def read_query(call: Call, listing: Listing, options: Options) -> Query:
    """Validate the options for this listing. Raises BadQuery."""
    order = None if options.order is None else read_order(options.order, listing.keys, listing.kind)
    query = Query(
        options=options,
        filter=None if options.filter is None else read_filter(options.filter, listing.vocabulary),
        order=order,
        after=read_place(call, options, key_is_time=order is not None and order.key.kind == "timestamptz"),
        search=() if options.search is None else read_search(options.search),
    )
    if query.search and not call.is_eventual:
        message = "Request with $search query parameter needs the header ConsistencyLevel: eventual."
        raise BadQuery("Request_UnsupportedQuery", message)
    is_limited = query.filter is not None or query.search
    if order is not None and is_limited and query.after is None and not query.counts(call):
        # As in Graph.
        needed = "Beside $filter and $search, $orderby needs the header ConsistencyLevel: eventual and $count=true."
        message = f"Sorting not supported for current query. {needed}"
        raise BadQuery("Request_UnsupportedQuery", message)
    return query


def read_place(call: Call, options: Options, *, key_is_time: bool = False) -> Place | None:
    """Decode the position of the page. Raises BadQuery."""
    if options.skip_token is None:
        return None
    return read_skip_token(options.skip_token, _binding(call, options), key_is_time=key_is_time)


async def fetch_page(call: Call, listing: Listing, query: Query) -> Page:
    """Fetch a page; the first one can include the count."""
    async with call.connected() as connection:
        parameters = listing.parameters(call)
        rows = await connection.fetch(page_statement(call, listing, query, parameters), *parameters)
        count = None
        if query.counts(call):
            parameters = listing.parameters(call)
            count = await connection.fetchval(_count_statement(call, listing, query, parameters), *parameters)
    return page_of(call, query, rows, count)


def page_of(call: Call, query: Query, rows: Sequence[Row], count: int | None = None) -> Page:
    """Make a page of these rows.

    One row more than the page size means that there is a next page.
    """
    shown = rows[: query.options.top]
    if len(rows) == len(shown):
        return Page(shown, None, count)
    last = Place(shown[-1]["id"], None if query.order is None else shown[-1]["sort_key"])
    token = write_skip_token(last, _binding(call, query.options))
    return Page(shown, next_query(query.options, token), count)


def shape_of_page(call: Call, page: Page, context: str, shape: Callable[[Row], Shape]) -> Shape:
    """Encode a page, with `shape` for each row."""
    answer: Shape = {"@odata.context": context}
    if page.count is not None:
        answer["@odata.count"] = page.count
    if page.next_query is not None:
        answer["@odata.nextLink"] = f"{call.root}{call.path}?{page.next_query}"
    answer["value"] = [shape(row) for row in page.rows]
    return answer


async def count_entries(call: Call, listing: Listing) -> int:
    """Count the entries that match the filter, for `/$count`. Raises BadQuery."""
    options = read_options(call.query_string, known=_COUNT_OPTIONS)
    require_eventual(call)
    parameters = listing.parameters(call)
    statement = _count_statement(call, listing, read_query(call, listing, options), parameters)
    async with call.connected() as connection:
        count: int = await connection.fetchval(statement, *parameters)
    return count


def page_statement(call: Call, listing: Listing, query: Query, parameters: Parameters) -> str:
    """Return the statement that reads a page and one more row.

    Its values are added to the parameters.
    """
    key = "" if query.order is None else f", {query.order.key.expression} AS sort_key"
    conditions = _conditions(call, listing, query, parameters)
    if query.after is not None:
        conditions += f" AND {_behind(query.after, query.order, listing.subject.id, parameters)}"
    limit = parameters.add(query.options.top + 1, "integer")
    by = _order_by(query.order, listing.subject.id)
    return f"SELECT {listing.columns}{key} FROM {listing.source}{conditions} ORDER BY {by} LIMIT {limit}"  # noqa: S608 - fixed pieces.


def require_eventual(call: Call) -> None:
    """Raise BadQuery without the consistency header, which counts require."""
    if not call.is_eventual:
        message = "$count is not currently supported. Send the header ConsistencyLevel: eventual with it."
        raise BadQuery("Request_BadRequest", message)


def _count_statement(call: Call, listing: Listing, query: Query, parameters: Parameters) -> str:
    conditions = _conditions(call, listing, query, parameters)
    return f"SELECT count(*) FROM {listing.counted}{conditions}"  # noqa: S608 - fixed pieces.


def _conditions(call: Call, listing: Listing, query: Query, parameters: Parameters) -> str:
    conditions = "" if query.filter is None else f" AND {condition_of(query.filter, parameters, listing.subject)}"
    if query.search:
        conditions += f" AND {search_condition(query.search, parameters)}"
    if call.visible_until is not None:
        conditions += f" AND {listing.visible.format(parameters.add(call.visible_until, 'timestamptz'))}"
    return conditions


def _order_by(order: Order | None, id_column: str) -> str:
    if order is None:
        return id_column
    direction, nulls = ("DESC", " NULLS LAST") if order.descends else ("ASC", " NULLS FIRST")
    # For a column without nulls, NULLS FIRST would prevent the index.
    return f"{order.key.expression} {direction}{nulls if order.key.may_lack else ''}, {id_column} {direction}"


def _behind(place: Place, order: Order | None, id_column: str, parameters: Parameters) -> str:
    """Return the condition on the entries after the position."""
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
    """Return the parts of a query that its skip token depends on."""
    search = () if options.search is None else (options.search,)
    return (str(call.tenant_id), call.path, options.filter, options.order, *search)
