"""Cache people of the directory.

Nearly every submission looks up its caller only. Entries are valid while changes are notified. A missing user is never
cached.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import People

# A dead connection delivers no notifications until it is detected, so no entry is valid for longer.
TRUSTED_FOR = 60.0
# Most users and labels of a cached question. Larger ones name the members of one group, and rarely repeat.
MOST_ASKED = 4
# Most users and labels in all cached answers: about ten megabytes.
MOST_REMEMBERED = 10_000


class RememberedPeople(People):
    """Answer questions about a few users and labels from a cache.

    `clock` counts seconds. The listener calls `heard` for each change and when it starts, and `lost` when it may miss
    some.
    """

    def __init__(self, people: People, *, clock: Callable[[], float] = monotonic) -> None:
        self._people = people
        self._clock = clock
        # In the order of their expiry.
        self._remembered: OrderedDict[_Asked, tuple[float, PeopleAnswer]] = OrderedDict()
        self._size = 0
        self._hears = False
        self._changes = 0

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """Answer a question about the directory."""
        if _asks_for_more(question) or _size(question.users, question.labels) > MOST_ASKED:
            return await self._people.look_up(question)
        asked = (question.tenant_id.int, question.users, question.labels)
        until, answer = self._remembered.get(asked, _NOTHING)
        if answer is not None and self._clock() < until:
            return answer
        return await self._ask(question, asked)

    def heard(self, _payload: str = "") -> None:
        """Drop the cache after a change, and when notifications start."""
        self._forget()
        self._hears = True

    def lost(self) -> None:
        """Disable the cache until notifications start again."""
        self._forget()
        self._hears = False

    async def _ask(self, question: PeopleQuestion, asked: "_Asked") -> PeopleAnswer:
        changes = self._changes
        answer = await self._people.look_up(question)
        found_all = len(answer.people) == len(question.users) and len(answer.labels) == len(question.labels)
        # The answer may be older than a change during the call.
        if found_all and self._hears and changes == self._changes:
            self._remember(asked, answer)
        return answer

    def _remember(self, asked: "_Asked", answer: PeopleAnswer) -> None:
        now = self._clock()
        if asked in self._remembered:
            self._drop(asked)
        self._remembered[asked] = (now + TRUSTED_FOR, answer)
        self._size += _size(*asked[1:])
        # Expired entries are dropped at each insert, since many are never read again.
        while self._size > MOST_REMEMBERED or next(iter(self._remembered.values()))[0] <= now:
            self._drop(next(iter(self._remembered)))

    def _drop(self, asked: "_Asked") -> None:
        del self._remembered[asked]
        self._size -= _size(*asked[1:])

    def _forget(self) -> None:
        self._changes += 1
        self._remembered.clear()
        self._size = 0


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
