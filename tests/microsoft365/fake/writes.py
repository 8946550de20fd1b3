# SPDX-License-Identifier: Apache-2.0
"""The state of a tenant: a log of writes, and replicas that lag behind it.

Microsoft publishes that a write with a response is complete, and that a read right after it may return old data or 404
([S2], "Designing for Eventual Consistency for Microsoft Entra"). The spans are not published. Those of Lags.drawn() are
below 20 minutes, and below the 15 minutes that team-put-teams.md names for new groups.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeAlias

# Parsed JSON. Values in the log are never changed in place.
Json: TypeAlias = Any
# ("groups",), ("members", "<group id>") and so on.
Table = tuple[str, ...]

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Write:
    """A value that replaced another one. None is an absent entry."""

    number: int
    at: datetime
    table: Table
    key: str
    before: Json
    value: Json


@dataclass
class _Entry:
    """All versions of an entry, in the order of their writes."""

    times: list[datetime] = field(default_factory=list)
    values: list[Json] = field(default_factory=list)


class Log:
    """The writes of a tenant in their order."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.writes: list[Write] = []
        self._tables: defaultdict[Table, dict[str, _Entry]] = defaultdict(dict)

    def put(self, table: Table, key: str, value: Json, *, at: datetime | None = None) -> None:
        """Write a value, by default now."""
        written = self.now() if at is None else at
        entry = self._tables[table].setdefault(key, _Entry())
        before = entry.values[-1] if entry.values else None
        self.writes.append(Write(len(self.writes), written, table, key, before, value))
        entry.times.append(written)
        entry.values.append(value)

    def remove(self, table: Table, key: str) -> None:
        """Remove an entry."""
        self.put(table, key, None)

    def latest(self) -> "View":
        """Return the present state, with all writes."""
        return self.view(timedelta(0))

    def view(self, lag: timedelta) -> "View":
        """Return the state of a replica that lags."""
        return View(self._tables, self.now() - lag)

    def written_until(self, lag: timedelta) -> int:
        """Return the number of the first write that a replica with this lag does not have."""
        return bisect_right(self.writes, self.now() - lag, key=lambda each: each.at)


@dataclass(frozen=True, slots=True)
class View:
    """The state of a replica."""

    _tables: Mapping[Table, Mapping[str, _Entry]]
    _until: datetime

    def get(self, table: Table, key: str) -> Json:
        """Return an entry, or None."""
        entry = self._tables.get(table, {}).get(key)
        return None if entry is None else self._value(entry)

    def items(self, table: Table) -> Iterator[tuple[str, Json]]:
        """Iterate over the entries of a table in the order of their first writes."""
        for key, entry in self._tables.get(table, {}).items():
            value = self._value(entry)
            if value is not None:
                yield key, value

    def keys(self, table: Table) -> list[str]:
        """List the keys of a table."""
        return [key for key, _ in self.items(table)]

    def _value(self, entry: _Entry) -> Json:
        index = bisect_right(entry.times, self._until)
        return entry.values[index - 1] if index else None


@dataclass(frozen=True, slots=True)
class Lags:
    """The lags of three replicas, of the filter index, of delta queries, and of Teams."""

    replicas: tuple[timedelta, timedelta, timedelta] = (timedelta(0), timedelta(0), timedelta(0))
    index: timedelta = timedelta(0)
    delta: timedelta = timedelta(0)
    teams: timedelta = timedelta(0)

    @classmethod
    def drawn(cls, random: Random) -> "Lags":
        """Draw lags. The index lags more than a replica, and Teams most."""
        second, third = SECOND * random.randint(1, 20), SECOND * random.randint(5, 180)
        return cls(
            replicas=(timedelta(0), second, third),
            index=third + SECOND * random.randint(10, 240),
            delta=SECOND * random.randint(0, 240),
            teams=third + SECOND * random.randint(60, 700),
        )

    @property
    def longest(self) -> timedelta:
        """Return the span after which every read has every write."""
        return max(*self.replicas, self.index, self.delta, self.teams)
