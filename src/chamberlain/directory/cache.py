"""People who were asked for before: nearly every submission asks for nobody but its caller.

They are remembered only as long as somebody tells of every change. Whoever was not found is asked for again.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import People

# A connection that is dead and does not know it yet tells of nothing; so nobody is believed in for longer than this.
TRUSTED_FOR = 60.0
# Of users and labels in a question. Larger ones name the members of one group, and hardly ever come again.
MOST_ASKED = 4
# Of users and labels in all answers together: some ten megabytes.
MOST_REMEMBERED = 10_000


class RememberedPeople(People):
    """Answers from memory what is asked about a few users and labels alone. `clock` counts seconds.

    Whoever hears of changes says so: `heard` of one, and when it begins to hear; `lost` when it may miss some.
    """

    def __init__(self, people: People, *, clock: Callable[[], float] = monotonic) -> None:
        self._people = people
        self._clock = clock
        # In the order in which they end.
        self._remembered: OrderedDict[_Asked, tuple[float, PeopleAnswer]] = OrderedDict()
        self._size = 0
        self._hears = False
        self._changes = 0

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """What of the question exists."""
        if _asks_for_more(question) or _size(question.users, question.labels) > MOST_ASKED:
            return await self._people.look_up(question)
        asked = (question.tenant_id.int, question.users, question.labels)
        until, answer = self._remembered.get(asked, _NOTHING)
        if answer is not None and self._clock() < until:
            return answer
        return await self._ask(question, asked)

    def heard(self, _payload: str = "") -> None:
        """Something has changed, or from now on every change is heard of."""
        self._forget()
        self._hears = True

    def lost(self) -> None:
        """Changes are not heard of any more."""
        self._forget()
        self._hears = False

    async def _ask(self, question: PeopleQuestion, asked: "_Asked") -> PeopleAnswer:
        changes = self._changes
        answer = await self._people.look_up(question)
        found_all = len(answer.people) == len(question.users) and len(answer.labels) == len(question.labels)
        # What has changed while it was on its way may be older than the change.
        if found_all and self._hears and changes == self._changes:
            self._remember(asked, answer)
        return answer

    def _remember(self, asked: "_Asked", answer: PeopleAnswer) -> None:
        now = self._clock()
        if asked in self._remembered:
            self._drop(asked)
        self._remembered[asked] = (now + TRUSTED_FOR, answer)
        self._size += _size(*asked[1:])
        # What is not asked again is not looked at again, so what has ended goes whenever something comes.
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
