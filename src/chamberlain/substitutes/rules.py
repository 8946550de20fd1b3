# SPDX-License-Identifier: Apache-2.0
"""Rules of substitutions."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from chamberlain.core.errors import Fault, NotPossible
from chamberlain.core.ids import UserId
from chamberlain.directory.models import NamedPerson, PeopleAnswer, Person, unknown_people
from chamberlain.substitutes.models import LONGEST, MOST_DAYS, Naming, OwnSubstitutions, Represented, Substitution


def begin(user: UserId, naming: Naming) -> Substitution:
    """Return the substitution that a user names."""
    return Substitution(user, naming.substitute_id, naming.until)


def require_end(naming: Naming, *, now: datetime) -> None:
    """Raise NotPossible for an end that is past or too late."""
    if not now < naming.until <= now + LONGEST:
        sentence = "A substitution ends at most {max} days from now. Choose an earlier end in the future."
        raise NotPossible([Fault.build("/until", "ruleInvalid", sentence, max=MOST_DAYS)])


def require_possible(user: UserId, naming: Naming, answer: PeopleAnswer) -> None:
    """Raise NotPossible for the user, for guests and for unknown users."""
    if naming.substitute_id == user:
        sentence = "You cannot be your own substitute. Name another user."
        raise NotPossible([Fault.build("/userId", "ruleInvalid", sentence)])
    if faults := tuple(unknown_people([("/userId", naming.substitute_id)], (), answer)):
        raise NotPossible(faults)
    if answer.people[naming.substitute_id].is_guest:
        sentence = "A guest cannot be a substitute. Name a member of the organisation."
        raise NotPossible([Fault.build("/userId", "ruleInvalid", sentence)])


def other_users(user: UserId, found: Iterable[Substitution]) -> frozenset[UserId]:
    """Return the other users of substitutions."""
    return frozenset(each.substitute_id if each.user_id == user else each.user_id for each in found)


def own_substitutions(user: UserId, found: Iterable[Substitution], people: Mapping[UserId, Person]) -> OwnSubstitutions:
    """Return the substitutions of a user, with names."""

    def represented(other: UserId, until: datetime) -> Represented:
        return Represented(NamedPerson(other, people[other].display_name if other in people else ""), until)

    found = tuple(found)
    return OwnSubstitutions(
        next((represented(each.substitute_id, each.until) for each in found if each.user_id == user), None),
        tuple([represented(each.user_id, each.until) for each in found if each.substitute_id == user]),
    )
