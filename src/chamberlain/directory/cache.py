# SPDX-License-Identifier: Apache-2.0
"""Cache people of the directory.

Nearly every submission looks up its caller only. An answer is valid while changes are notified. A directory without
notifications sets a maximum age. A missing user is never cached.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import TypeAlias

from chamberlain.core.ids import TenantId, UserId
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import People

# A dead connection delivers no notifications until it is detected, so no entry is valid for longer.
TRUSTED_FOR = 60.0
# Most users and labels of a cached question. Larger ones name the members of one group, and rarely repeat.
MOST_ASKED = 4
# Most users and labels in all cached answers of a kind: about ten megabytes.
MOST_REMEMBERED = 10_000


class RememberedPeople(People):
    """Answer questions about a few users and labels from a cache.

    The directory sets the lifetime for each tenant (`People.remember_for`). `clock` counts seconds. The listener calls
    `heard` for each change and when it starts, and `lost` when it may miss some. Both are about directories with
    notifications only.
    """

    def __init__(self, people: People, *, clock: Callable[[], float] = monotonic) -> None:
        self._people = people
        self._clock = clock
        self._notified = _Answers()
        self._aged = _Answers()
        self._hears = False
        self._changes = 0

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """Answer a question about the directory."""
        if _asks_for_more(question) or _size(question.users, question.labels) > MOST_ASKED:
            return await self._people.look_up(question)
        asked = (question.tenant_id.int, question.users, question.labels)
        now = self._clock()
        answer = self._notified.find(asked, now) or self._aged.find(asked, now)
        return await self._ask(question, asked) if answer is None else answer

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        """Find people by typed text. Nothing of it is cached."""
        return await self._people.find(tenant_id, text, limit)

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        """List the labels of a tenant. Nothing of it is cached."""
        return await self._people.labels(tenant_id)

    def remember_for(self, tenant_id: TenantId) -> timedelta | None:
        """Return the maximum age of answers about a tenant."""
        return self._people.remember_for(tenant_id)

    def heard(self, _payload: str = "") -> None:
        """Drop the cache after a change, and when notifications start."""
        self._forget()
        self._hears = True

    def lost(self) -> None:
        """Disable the cache until notifications start again."""
        self._forget()
        self._hears = False

    async def _ask(self, question: PeopleQuestion, asked: "_Asked") -> PeopleAnswer:
        changes, began = self._changes, self._clock()
        answer = await self._people.look_up(question)
        found_all = len(answer.people) == len(question.users) and len(answer.labels) == len(question.labels)
        if found_all:
            age = self._people.remember_for(question.tenant_id)
            if age is not None:
                self._aged.remember(asked, answer, until=began + age.total_seconds(), now=self._clock())
            # The answer may be older than a change during the call.
            elif self._hears and changes == self._changes:
                now = self._clock()
                self._notified.remember(asked, answer, until=now + TRUSTED_FOR, now=now)
        return answer

    def _forget(self) -> None:
        self._changes += 1
        self._notified.clear()


class _Answers:
    """Cached answers of one kind, in the order of their questions."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Asked, tuple[float, PeopleAnswer]] = OrderedDict()
        self._size = 0

    def find(self, asked: "_Asked", now: float) -> PeopleAnswer | None:
        """Return an answer that is still valid."""
        until, answer = self._found.get(asked, _NOTHING)
        return answer if now < until else None

    def remember(self, asked: "_Asked", answer: PeopleAnswer, *, until: float, now: float) -> None:
        """Add an answer, and drop expired and surplus ones."""
        if asked in self._found:
            self._drop(asked)
        self._found[asked] = (until, answer)
        self._size += _size(*asked[1:])
        # Expired entries are dropped at each insert, since many are never read again.
        while self._found and (self._size > MOST_REMEMBERED or next(iter(self._found.values()))[0] <= now):
            self._drop(next(iter(self._found)))

    def clear(self) -> None:
        """Drop all answers."""
        self._found.clear()
        self._size = 0

    def _drop(self, asked: "_Asked") -> None:
        del self._found[asked]
        self._size -= _size(*asked[1:])


_Asked: TypeAlias = tuple[int, frozenset[UserId], frozenset[str]]
_NOTHING: tuple[float, PeopleAnswer | None] = (0.0, None)


def _size(users: frozenset[UserId], labels: frozenset[str]) -> int:
    return len(users) + len(labels) or 1


def _asks_for_more(question: PeopleQuestion) -> bool:
    return bool(
        question.addresses
        or question.groups
        or question.manager_of
        or question.members_of
        or question.named_groups
        or question.membership_rules
        or question.owners_of
    )
