# SPDX-License-Identifier: Apache-2.0
"""The query options of Graph, such as `$filter`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl, quote, urlencode

from chamberlain.embedded.directory.errors import BadQuery

MOST_ENTRIES = 999
DEFAULT_ENTRIES = 100
_MOST_PARAMETERS = 100

# Alternatives to unsupported options of Graph.
_INSTEAD = {
    "$search": " Use $filter with startswith, eq or in.",
    "$skip": " Follow the @odata.nextLink of the page before.",
    "$expand": " Ask for owners, members and settings at their own paths.",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a query, independent of the resource.

    `count` asks for the number of all entries. `skip_token` is the position from the link to the next page.
    `delta_token` is that from the link to later changes.
    """

    filter: str | None
    select: tuple[str, ...] | None
    order: str | None
    top: int
    count: bool
    skip_token: str | None
    delta_token: str | None = None
    search: str | None = None


def read_options(query_string: bytes, *, known: frozenset[str] = frozenset()) -> Options:
    """Parse and validate a query string.

    Raises BadQuery for an unknown parameter that begins with `$`; others are ignored.
    """
    given = _parameters(query_string)
    unknown = sorted(given.keys() - known)
    if unknown:
        message = f"The query parameter '{unknown[0]}' is not supported here.{_INSTEAD.get(unknown[0], '')}"
        raise BadQuery("Request_UnsupportedQuery", message)
    return Options(
        filter=given.get("$filter"),
        select=_select(given.get("$select")),
        order=given.get("$orderby"),
        top=_top(given.get("$top")),
        count=_count(given.get("$count")),
        skip_token=given.get("$skiptoken"),
        delta_token=given.get("$deltatoken"),
        search=given.get("$search"),
    )


def next_query(options: Options, skip_token: str) -> str:
    """Encode the query string of the next page, for pagination."""
    pairs: Sequence[tuple[str, str | None]] = (
        ("$filter", options.filter),
        ("$search", options.search),
        ("$select", None if options.select is None else ",".join(options.select)),
        ("$orderby", options.order),
        ("$count", "true" if options.count else None),
        ("$top", str(options.top)),
        ("$skiptoken", skip_token),
    )
    given = [(name, value) for name, value in pairs if value is not None]
    return urlencode(given, quote_via=quote, safe="$")


def _parameters(query_string: bytes) -> Mapping[str, str]:
    if query_string.count(b"&") >= _MOST_PARAMETERS:
        raise BadQuery("BadRequest", f"The query string has more than {_MOST_PARAMETERS} parameters.")
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise BadQuery("BadRequest", "The query string is not properly encoded.") from error
    given: dict[str, str] = {}
    for name, value in pairs:
        if not name.startswith("$"):
            continue
        if name in given:
            raise BadQuery("BadRequest", f"The query parameter '{name}' is there twice.")
        if "\x00" in value:
            raise BadQuery("BadRequest", f"The query parameter '{name}' contains a character that no text can have.")
        given[name] = value
    return given


def _select(written: str | None) -> tuple[str, ...] | None:
    if written is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in written.split(",")))
    if "" in names:
        raise BadQuery("BadRequest", "The query parameter '$select' must be a list of property names.")
    return names


def _top(written: str | None) -> int:
    if written is None:
        return DEFAULT_ENTRIES
    if not (written.isascii() and written.isdigit() and 1 <= int(written[:4]) <= MOST_ENTRIES and len(written) < 5):
        message = f"Invalid page size specified: '{written}'. Must be between 1 and {MOST_ENTRIES} inclusive."
        raise BadQuery("Request_UnsupportedQuery", message)
    return int(written)


def _count(written: str | None) -> bool:
    if written not in {None, "true", "false"}:
        raise BadQuery("BadRequest", f"Invalid value '{written}' for $count: it is either true or false.")
    return written == "true"


# The type of a sort key.
KeyValue = str | datetime


@dataclass(frozen=True, slots=True)
class SortKey:
    """The SQL expression and type of a property to sort by.

    Texts sort case-insensitively, by code point.
    """

    expression: str
    kind: str = "text"
    may_lack: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list.

    Entries with equal keys are sorted by id, in the same direction. Entries without a value are first in ascending
    order, and last in descending order.
    """

    key: SortKey
    descends: bool


def read_order(written: str, keys: Mapping[str, SortKey], kind: str) -> Order:
    """Parse and validate `$orderby`: one property, optionally with a direction. Raises BadQuery."""
    words = written.split()
    if "," in written:
        raise BadQuery("Request_UnsupportedQuery", "A list is sorted by one property: '$orderby' takes no second one.")
    if not words or len(words) > 2 or (len(words) == 2 and words[1] not in {"asc", "desc"}):
        message = f"Invalid sort clause '{written}': a property was expected, and behind it asc, desc or nothing."
        raise BadQuery("BadRequest", message)
    key = keys.get(words[0])
    if key is None:
        known = ", ".join(sorted(keys))
        message = f"Unsupported sort property '{words[0]}' for '{kind}'. These can be used: {known}."
        raise BadQuery("Request_UnsupportedQuery", message)
    return Order(key, descends=words[1:] == ["desc"])


def check_select(options: Options, properties: frozenset[str], resource: str) -> None:
    """Validate the property names of `$select`. Raises BadQuery."""
    for name in options.select or ():
        # Names of extension attributes contain an underscore (prefix_name), those of properties never do.
        if name not in properties and "_" not in name:
            message = f"Could not find a property named '{name}' on type 'microsoft.graph.{resource}'."
            raise BadQuery("BadRequest", message)


def context_of(root: str, path: str, options: Options, end: str = "") -> str:
    """Return the `@odata.context` of a resource or list, with its selected properties."""
    selected = "" if options.select is None else f"({','.join(options.select)})"
    return f"{root}/$metadata#{path}{selected}{end}"
