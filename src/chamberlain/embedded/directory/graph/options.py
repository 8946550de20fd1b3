"""The query options of a list: which of its entries, which of their properties, how many, and from where on."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode
from uuid import UUID

from chamberlain.embedded.directory.errors import BadQuery

MOST_ENTRIES = 999
USUAL_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Options:
    """What a query asks for. `after` is the last id of the page before."""

    filter: str | None
    select: tuple[str, ...] | None
    top: int
    after: UUID | None


def read_options(query_string: bytes, *, known: frozenset[str]) -> Options:
    """The options of a query string. Raises BadQuery for one that begins with `$` and is not known here; others are
    for somebody else.
    """
    given = _parameters(query_string)
    unknown = sorted(given.keys() - known)
    if unknown:
        raise BadQuery("Request_UnsupportedQuery", f"The query parameter '{unknown[0]}' is not supported here.")
    return Options(
        filter=given.get("$filter"),
        select=_select(given.get("$select")),
        top=_top(given.get("$top")),
        after=_after(given.get("$skiptoken")),
    )


def next_query(options: Options, after: UUID) -> str:
    """The query string of the page behind this one, encoded."""
    pairs = [("$top", str(options.top)), ("$skiptoken", str(after))]
    if options.select is not None:
        pairs.insert(0, ("$select", ",".join(options.select)))
    if options.filter is not None:
        pairs.insert(0, ("$filter", options.filter))
    return urlencode(pairs, quote_via=quote, safe="$")


def _parameters(query_string: bytes) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
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


def _after(written: str | None) -> UUID | None:
    if written is None:
        return None
    try:
        return UUID(written)
    except ValueError:
        raise BadQuery("BadRequest", "The query parameter '$skiptoken' was not made by this service.") from None
