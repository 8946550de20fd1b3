# SPDX-License-Identifier: Apache-2.0
"""The query of a list (RFC 7644, 3.4.2).

It is read from the parameters of GET or the body of `.search`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chamberlain.embedded.directory.scim.errors import ScimFault, invalid_value
from chamberlain.embedded.directory.scim.filters import Filter, read_filter
from chamberlain.embedded.directory.scim.paths import Place, find_place
from chamberlain.embedded.directory.scim.schemas import DEFAULT_COUNT, MOST_COUNT, Json, ResourceKind

# Names of attributes in one query; the two schemas have fewer attributes.
MOST_NAMES = 1000
# The largest number of the database.
_LAST_START = 2**63 - 1

SEARCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"


@dataclass(frozen=True, slots=True)
class Query:
    """A query.

    `start` counts resources from 1. The attribute lists of the response are alternatives.
    """

    filter: Filter | None
    sort_by: Place | None
    is_descending: bool
    start: int
    count: int
    wanted: Sequence[str]
    unwanted: Sequence[str]


def read_parameters(parameters: Mapping[str, str], kind: ResourceKind) -> Query:
    """Read the query of a GET request. Raises ScimFault."""
    given: Json = dict(parameters)
    for name in ("attributes", "excludedAttributes"):
        if name in parameters:
            given[name] = [one for one in parameters[name].split(",") if one]
    for name in ("startIndex", "count"):
        if name in parameters:
            given[name] = _number(name, parameters[name])
    return _query(given, kind)


def read_search(body: object, kind: ResourceKind) -> Query:
    """Read the body of a POST request to `.search`. Raises ScimFault."""
    named = body.get("schemas") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(named, list) or SEARCH_SCHEMA not in named:
        raise ScimFault(400, f"schemas must contain {SEARCH_SCHEMA}.", "invalidSyntax")
    return _query(body, kind)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise invalid_value(f"{name} must be a number.") from None


def _query(given: Json, kind: ResourceKind) -> Query:
    wanted, unwanted = _names(given, "attributes", kind), _names(given, "excludedAttributes", kind)
    if wanted and unwanted:
        raise invalid_value("attributes and excludedAttributes are alternatives.")
    filter_, sort_by, order = given.get("filter"), given.get("sortBy"), given.get("sortOrder", "ascending")
    start, count = given.get("startIndex", 1), given.get("count", DEFAULT_COUNT)
    if type(start) is not int or type(count) is not int:
        raise invalid_value("startIndex and count must be numbers.")
    if not all(isinstance(one, str | None) for one in (filter_, sort_by)):
        raise invalid_value("filter and sortBy must be texts.")
    if order not in ("ascending", "descending"):
        raise invalid_value("sortOrder must be ascending or descending.")
    return Query(
        filter=read_filter(filter_, kind) if isinstance(filter_, str) and filter_ else None,
        sort_by=_sort_place(sort_by, kind) if isinstance(sort_by, str) and sort_by else None,
        is_descending=order == "descending",
        # Smaller numbers mean 1 and 0 (RFC 7644, 3.4.2.4).
        start=min(max(start, 1), _LAST_START),
        count=min(max(count, 0), MOST_COUNT),
        wanted=wanted,
        unwanted=unwanted,
    )


def _names(given: Json, name: str, kind: ResourceKind) -> Sequence[str]:
    """Return the known attributes of a list, without repeated ones.

    A list of unknown attributes has none but `id`, which is always returned.
    """
    names = given.get(name, [])
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names) or len(names) > MOST_NAMES:
        raise invalid_value(f"{name} must be a list of at most {MOST_NAMES} attributes.")
    known = {one.strip().lower(): one for one in names if find_place(kind, one.strip()) is not None}
    return list(known.values()) or (["id"] if names else [])


def _sort_place(text: str, kind: ResourceKind) -> Place:
    place = find_place(kind, text)
    if place is None or place.attribute is None:
        raise ScimFault(400, f"sortBy {text} names no attribute of this resource.", "invalidPath")
    return place
