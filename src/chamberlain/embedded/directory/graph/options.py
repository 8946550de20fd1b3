"""The query options of a list: which of its entries, which of their properties, how many, in which order, and from
where on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl, quote, urlencode

from chamberlain.embedded.directory.errors import BadQuery

MOST_ENTRIES = 999
USUAL_ENTRIES = 100
_MOST_PARAMETERS = 100

# What somebody may look for who knows Graph, and what there is instead.
_INSTEAD = {
    "$search": " Use $filter with startswith, eq or in.",
    "$skip": " Follow the @odata.nextLink of the page before.",
    "$expand": " Ask for owners, members and settings at their own paths.",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What a query asks for, as far as it can be understood without knowing what is listed.

    `count` says whether the number of all entries is wanted; `skip_token` is what an answer gave as the place of the
    next page.
    """

    filter: str | None
    select: tuple[str, ...] | None
    order: str | None
    top: int
    count: bool
    skip_token: str | None


def read_options(query_string: bytes, *, known: frozenset[str]) -> Options:
    """The options of a query string. Raises BadQuery for one that begins with `$` and is not known here; others are
    for somebody else.
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
    )


def next_query(options: Options, skip_token: str) -> str:
    """The query string of the page behind this one, encoded: the same options, and the place."""
    pairs: Sequence[tuple[str, str | None]] = (
        ("$filter", options.filter),
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
            raise BadQuery("BadRequest", f"The query parameter '{name}' stands there twice.")
        if "\x00" in value:
            raise BadQuery("BadRequest", f"The query parameter '{name}' holds a character that no text can have.")
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
        return USUAL_ENTRIES
    if not (written.isascii() and written.isdigit() and 1 <= int(written[:4]) <= MOST_ENTRIES and len(written) < 5):
        message = f"Invalid page size specified: '{written}'. Must be between 1 and {MOST_ENTRIES} inclusive."
        raise BadQuery("Request_UnsupportedQuery", message)
    return int(written)


def _count(written: str | None) -> bool:
    if written not in {None, "true", "false"}:
        raise BadQuery("BadRequest", f"Invalid value '{written}' for $count: it is either true or false.")
    return written == "true"


# What a page is sorted by has one of these types.
KeyValue = str | datetime


@dataclass(frozen=True, slots=True)
class SortKey:
    """A property to sort by: its expression in SQL, the type of that, and whether there may be none.

    Texts sort without regard to case, character by character.
    """

    expression: str
    kind: str = "text"
    may_lack: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """How a list is sorted: by this, and entries that are alike by their ids, in the same direction. What has no value
    comes before all that has one, and in the opposite order behind."""

    key: SortKey
    descends: bool


def read_order(written: str, keys: Mapping[str, SortKey], kind: str) -> Order:
    """The order in which entries of this kind are wanted. Raises BadQuery."""
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
