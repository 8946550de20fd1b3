# SPDX-License-Identifier: Apache-2.0
"""People in memory, for endpoints under test."""

from collections.abc import Sequence
from uuid import UUID

from chamberlain.auth.models import Caller
from chamberlain.core.ids import UserId
from chamberlain.directory.models import Person
from chamberlain.people.rules import require_words
from chamberlain.people.service import PeopleService

BEN = Person(
    id=UserId(UUID("be000000-0000-4000-8000-000000000002")),
    display_name="Ben Okafor",
    mail="ben@estate.example",
    has_team_license=True,
    properties={"department": "Sales"},
)
GIL = Person(
    id=UserId(UUID("9e570000-0000-4000-8000-000000000001")),
    display_name="Gil Hartmann",
    mail=None,
    has_team_license=False,
    properties={"userType": "Guest"},
)


class FakePeople(PeopleService):
    """Finds the same people with every text."""

    def __init__(self) -> None:
        """Need no database."""

    async def find(self, caller: Caller, text: str) -> Sequence[Person]:
        assert caller.user_id is not None
        require_words(text)
        return [BEN, GIL]
