# SPDX-License-Identifier: Apache-2.0
"""Substitutions: who decides for whom, and until when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.core.ids import UserId
from chamberlain.directory.models import NamedPerson

# The longest time of a substitution, in days. It is longer than an absence usually is, and ends by itself.
MOST_DAYS = 60
LONGEST = timedelta(days=MOST_DAYS)


@dataclass(frozen=True, slots=True)
class Substitution:
    """A user who decides for an approver until a time."""

    user_id: UserId
    substitute_id: UserId
    until: datetime


@dataclass(frozen=True, slots=True)
class Naming:
    """The substitute that an approver names, until a time."""

    substitute_id: UserId
    until: datetime


@dataclass(frozen=True, slots=True)
class Represented:
    """The other user of a substitution, with the end of it.

    The name is empty if the directory does not answer or does not know the user.
    """

    person: NamedPerson
    until: datetime


@dataclass(frozen=True, slots=True)
class OwnSubstitutions:
    """The substitute of a user, and those whom the user represents."""

    substitute: Represented | None
    decides_for: tuple[Represented, ...]
