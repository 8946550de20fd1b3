"""Dry runs of requests: the common parts of groups and mailboxes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from chamberlain.core.ids import RequestId, UserId
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.requests.models import ApprovalMode, ApprovalRule, approvers_of

# A dry run creates no id.
NO_REQUEST = RequestId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class LevelDryRun:
    """One approval level, with the users who could decide now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[NamedPerson, ...]


def levels_of(
    rule: ApprovalRule | None, approvers: PeopleAnswer | None, *, requester: UserId
) -> tuple[LevelDryRun, ...]:
    """Return the approval levels with the approvers in the directory."""
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
    """Return the user with the directory's name, empty if unknown."""
    person = None if answer is None else answer.people.get(user)
    return NamedPerson(user, "" if person is None else person.display_name)


def nobody_approves(levels: Iterable[LevelDryRun]) -> Iterator[str]:
    """Yield a warning for each level without approvers."""
    for level in levels:
        if not level.approvers:
            nobody = f"No approver was found for level {level.level}."
            yield f"{nobody} The request would wait there until an approver is named."
