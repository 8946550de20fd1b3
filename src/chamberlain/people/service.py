# SPDX-License-Identifier: Apache-2.0
"""Search for people of the directory, for forms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.database.transactions import Database
from chamberlain.directory.models import Person
from chamberlain.directory.port import People
from chamberlain.people import store
from chamberlain.people.rules import MOST_FOUND, require_rate, require_words


@dataclass(frozen=True, slots=True)
class PeopleService:
    """Search for people.

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
