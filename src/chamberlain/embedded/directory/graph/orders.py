"""The language of `$orderby`: one property, and behind it `asc` or `desc`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from chamberlain.embedded.directory.errors import BadQuery

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
