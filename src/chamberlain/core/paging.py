# SPDX-License-Identifier: Apache-2.0
"""Paginate by key: each page starts after the last item read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Position:
    """Position in a list sorted by time, newest first.

    The id orders items of the same time.
    """

    created_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class NamePosition:
    """Position in a list sorted by name.

    `name` is the sort key.
    """

    name: str
    id: UUID


@dataclass(frozen=True, slots=True)
class PageWanted:
    """Request for at most `limit` items (1 to 200) after a position."""

    limit: int
    after: Position | None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page; `next` is None on the last."""

    items: Sequence[Item]
    next: Position | None


@dataclass(frozen=True, slots=True)
class NamedPageWanted:
    """Request for a page of a list sorted by name."""

    limit: int
    after: NamePosition | None


@dataclass(frozen=True, slots=True)
class NamedPage(Generic[Item]):
    """One page of a list sorted by name."""

    items: Sequence[Item]
    next: NamePosition | None


@dataclass(frozen=True, slots=True, order=True)
class FeedPosition:
    """Position in a feed, oldest first.

    Everything up to this number was read; 0 is the beginning.
    """

    number: int


@dataclass(frozen=True, slots=True)
class FeedWanted:
    """Request for at most `limit` events (1 to 200) after a position."""

    limit: int
    after: FeedPosition


@dataclass(frozen=True, slots=True)
class FeedPage(Generic[Item]):
    """One page of a feed.

    `next` continues it, now or later. Fewer items than requested mean that there are no more.
    """

    items: Sequence[Item]
    next: FeedPosition
