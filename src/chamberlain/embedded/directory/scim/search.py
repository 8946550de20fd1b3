# SPDX-License-Identifier: Apache-2.0
"""Finds a page of resources.

Equations about ids, names and members narrow the search in the database. The rest of a filter is evaluated on each
resource that is left, in batches, so that a large tenant takes little memory.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from chamberlain.core.expressions import AllOf, AnyOf, Not
from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.scim.documents import primary_values
from chamberlain.embedded.directory.scim.filters import (
    Compare,
    Effort,
    Filter,
    Present,
    Some,
    equal_values,
    matches,
)
from chamberlain.embedded.directory.scim.parameters import Query
from chamberlain.embedded.directory.scim.paths import Place, values_at
from chamberlain.embedded.directory.scim.resources import Collection, Resource, Selection
from chamberlain.embedded.directory.scim.schemas import Json

# Resources that one statement reads: some milliseconds of the event loop.
BATCH = 500
# Comparisons of a filter: ten terms about each of 100,000 users, some seconds of a processor.
MOST_COMPARISONS = 1_000_000
# Comparisons between two turns of other calls.
_COMPARISONS = 1_000


@dataclass(frozen=True, slots=True)
class Page:
    """The resources of a page, and the number of all that match."""

    resources: Sequence[Resource]
    total: int


async def find_page(connection: Connection, tenant_id: UUID, collection: Collection, query: Query, root: str) -> Page:
    """Find the resources of a page.

    They are sorted by id unless the query has an order.
    """
    if query.filter is None and query.sort_by is None:
        total = await collection.count(connection, tenant_id)
        selection = Selection(offset=query.start - 1, most=query.count)
        found = await collection.read(connection, tenant_id, selection, root) if query.count else []
    else:
        total, found = await _find(connection, tenant_id, collection, query, root)
    if not _is_wanted(collection, query):
        return Page(found, total)
    return Page(await collection.complete(connection, tenant_id, found, root), total)


def _is_wanted(collection: Collection, query: Query) -> bool:
    """Check whether the response needs the attribute that takes a further statement."""
    name = collection.further.lower()
    if query.wanted:
        return any(name in one.lower() for one in query.wanted)
    return name not in {one.lower() for one in query.unwanted}


async def _find(
    connection: Connection, tenant_id: UUID, collection: Collection, query: Query, root: str
) -> tuple[int, Sequence[Resource]]:
    """Evaluate the filter, and sort.

    Returns the number of matches and those of the page.
    """
    total, kept = 0, list[tuple[str | None, Resource]]()
    effort, turn = Effort(MOST_COMPARISONS), _COMPARISONS
    async for resource in _candidates(connection, tenant_id, collection, query, root):
        if effort.spent > turn:
            turn = effort.spent + _COMPARISONS
            await asyncio.sleep(0)
        shown = resource.shown(collection.kind, root)
        if query.filter is not None and not matches(query.filter, shown, effort):
            continue
        total += 1
        if query.sort_by is not None:
            kept.append((_sort_key(shown, query.sort_by), resource))
        elif query.start <= total < query.start + query.count:
            kept.append((None, resource))
    if query.sort_by is None:
        return total, [resource for _, resource in kept]
    # Resources without a value are the last in ascending order (RFC 7644, 3.4.2.3).
    kept.sort(key=lambda one: (one[0] is None, one[0] or ""), reverse=query.is_descending)
    return total, [resource for _, resource in kept][query.start - 1 :][: query.count]


def _sort_key(shown: Json, place: Place) -> str | None:
    """Return the value to sort by.

    Of several it is the primary one, or the first.
    """
    attribute = place.attribute
    if attribute is not None and attribute.is_multiple:
        primary = [one for one in primary_values(shown, attribute) if attribute.name in shown]
        values = values_at({**shown, attribute.name: primary}, place) if primary else values_at(shown, place)
    else:
        values = values_at(shown, place)
    if not values:
        return None
    target = place.target
    text = str(values[0])
    return text if target is not None and target.is_case_exact else text.casefold()


async def _candidates(
    connection: Connection, tenant_id: UUID, collection: Collection, query: Query, root: str
) -> AsyncIterator[Resource]:
    selection = _selection(query.filter, collection)
    if selection is None:
        return
    needs_all = _mentions(query.filter, collection.further)
    if query.sort_by is not None and query.sort_by.attribute is not None:
        needs_all |= query.sort_by.attribute.name == collection.further
    while True:
        batch = await collection.read(connection, tenant_id, selection, root)
        for resource in await collection.complete(connection, tenant_id, batch, root) if needs_all else batch:
            yield resource
        if len(batch) < BATCH:
            return
        selection = replace(selection, after=batch[-1].id)


def _selection(filter_: Filter | None, collection: Collection) -> Selection | None:
    """Narrow the search by the equations of a filter.

    Returns None if nothing can match.
    """
    if filter_ is None:
        return Selection(most=BATCH)
    equal = equal_values(filter_)
    name = "username" if collection.kind.name == "User" else "displayname"
    try:
        return Selection(
            most=BATCH,
            id=_id(equal.get("id")),
            external_id=equal.get("externalid"),
            name=equal.get(name),
            member_id=_id(equal.get("members.value", equal.get("members"))),
        )
    except ValueError:
        return None


def _id(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def _mentions(filter_: Filter | None, name: str) -> bool:
    match filter_:
        case None:
            return False
        case AllOf(parts) | AnyOf(parts):
            return any(_mentions(part, name) for part in parts)
        case Not(part):
            return _mentions(part, name)
        case Compare(place) | Present(place) | Some(place):
            return place.attribute is not None and place.attribute.name == name
