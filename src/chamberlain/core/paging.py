"""Pages: lists are read in pieces, each beginning behind the last item of the one before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Position:
    """An item's place in a list that is newest first: when it was made, and its id among those of the same moment."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class NamePosition:
    """An item's place in a list that is sorted by name: the name in the form that is sorted by, and the id."""

    name: str
    id: UUID


@dataclass(frozen=True, slots=True)
class PageWanted:
    """At most `limit` items (1 to 200), behind this position, or from the beginning."""

    limit: int
    after: Position | None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items, and the position of the last one when there are more behind it."""

    items: Sequence[Item]
    next: Position | None


@dataclass(frozen=True, slots=True)
class NamedPageWanted:
    """As PageWanted, of a list that is sorted by name."""

    limit: int
    after: NamePosition | None


@dataclass(frozen=True, slots=True)
class NamedPage(Generic[Item]):
    """As Page, of a list that is sorted by name."""

    items: Sequence[Item]
    next: NamePosition | None


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """A place in a feed that is oldest first and goes on: everything up to this number was read. 0 is nothing yet."""

    number: int


@dataclass(frozen=True, slots=True)
class FeedWanted:
    """At most `limit` items (1 to 200) of a feed, behind this position."""

    limit: int
    after: FeedPosition


@dataclass(frozen=True, slots=True)
class FeedPage(Generic[Item]):
    """Some items of a feed, and where to go on, now or later. When there are fewer than wanted, there were no more."""

    items: Sequence[Item]
    next: FeedPosition
