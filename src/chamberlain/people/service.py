# SPDX-License-Identifier: Apache-2.0
"""Find and name people of the directory, for forms and pages."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.core.ids import UserId
from chamberlain.database.transactions import Database
from chamberlain.directory.models import Label, PeopleQuestion, Person
from chamberlain.directory.port import People
from chamberlain.people import store
from chamberlain.people.rules import MOST_FOUND, require_rate, require_words


@dataclass(frozen=True, slots=True)
class PeopleService:
    """Search for people, and name them.

    The rate limit counts a user's searches in all processes.
    """

    database: Database
    authorization: Authorization
    people: People
    now: Callable[[], datetime]

    async def find(self, caller: Caller, text: str) -> Sequence[Person]:
        """Find the first ten people of the tenant by typed text.

        Raises Forbidden for applications and callers without the permission, Malformed for a text without a word of two
        letters, LimitReached after 30 searches in a minute, and Unavailable if the directory does not answer.
        """
        await self.authorization.require(caller, Operation.FIND_PEOPLE)
        require_words(text)
        if (user := caller.user_id) is None:
            return ()
        now = self.now()
        async with self.database.transaction(caller.tenant_id) as tx:
            searches = await store.count(tx, user, at=now)
        require_rate(searches, now)
        try:
            return await self.people.find(caller.tenant_id, text, MOST_FOUND)
        except TryAgain as error:
            detail = "The directory is unavailable, so people cannot be found. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error

    async def names(self, caller: Caller, users: Collection[UserId]) -> Mapping[UserId, str]:
        """Return the display names of users by their ids.

        A user whom the directory does not know is missing. Raises Forbidden and Unavailable like `find`.
        """
        await self.authorization.require(caller, Operation.FIND_PEOPLE)
        if not users:
            return {}
        try:
            answer = await self.people.look_up(PeopleQuestion(caller.tenant_id, users=frozenset(users)))
        except TryAgain as error:
            detail = "The directory is unavailable, so people cannot be named. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return {user: person.display_name for user, person in answer.people.items()}

    async def labels(self, caller: Caller) -> Sequence[Label]:
        """List the sensitivity labels of the tenant.

        Raises Forbidden and Unavailable like `find`.
        """
        await self.authorization.require(caller, Operation.FIND_PEOPLE)
        try:
            return await self.people.labels(caller.tenant_id)
        except TryAgain as error:
            detail = "The directory is unavailable, so labels cannot be named. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
