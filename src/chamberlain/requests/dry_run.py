"""Rehearsals: what would come of an order that was found right, if it were sent without `?dryRun=true`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from chamberlain.core.ids import RequestId, UserId
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.requests.models import ApprovalMode, ApprovalRule, approvers_of

# Nothing gets an id that is only rehearsed.
NO_REQUEST = RequestId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class LevelDryRun:
    """One level of approval, with those who could decide if it were open now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[NamedPerson, ...]


def levels_of(
    rule: ApprovalRule | None, approvers: PeopleAnswer | None, *, requester: UserId
) -> tuple[LevelDryRun, ...]:
    """The levels of an approval, each with those whom the directory has found for it."""
    if rule is None:
        return ()
    known = PeopleAnswer() if approvers is None else approvers
    return tuple(
        [
            LevelDryRun(number, level.mode, approvers_of(level, known, requester=requester))
            for number, level in enumerate(rule.levels, start=1)
        ]
    )


def named(user: UserId, answer: PeopleAnswer | None) -> NamedPerson:
    """Somebody as the directory has told of them; without a name where it has not."""
    person = None if answer is None else answer.people.get(user)
    return NamedPerson(user, "" if person is None else person.display_name)


def nobody_approves(levels: Iterable[LevelDryRun]) -> Iterator[str]:
    """A warning for each level at which a request would wait for ever."""
    for level in levels:
        if not level.approvers:
            nobody = f"Nobody is found who could approve at level {level.level}."
            yield f"{nobody} The request would wait there until an approver is named."
