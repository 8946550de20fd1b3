# SPDX-License-Identifier: Apache-2.0
"""Read the caller of a token."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import TryAgain, Unauthenticated, Unavailable
from chamberlain.core.ids import UserId
from chamberlain.database.transactions import Database
from chamberlain.directory.models import PeopleQuestion, Person
from chamberlain.directory.port import People
from chamberlain.me.models import MOST_TO_DECIDE, Me
from chamberlain.requests import records as request_records
from chamberlain.tenants import records as tenant_records


@dataclass(frozen=True, slots=True)
class MeService:
    """Read callers."""

    database: Database
    authorization: Authorization
    people: People

    async def read(self, caller: Caller) -> Me:
        """Read the caller, a user or an application.

        Raises Unavailable if the directory has to answer and does not.
        """
        await self.authorization.require(caller, Operation.READ_ME)
        user = caller.user_id
        person = None if user is None else await self._find(caller, user)
        is_administrator = await self.authorization.administers(caller)
        async with self.database.transaction(caller.tenant_id) as tx:
            tenant = await tenant_records.find(tx, caller.tenant_id)
            to_decide = 0 if user is None else await request_records.count_to_decide(tx, user, most=MOST_TO_DECIDE)
        if tenant is None:
            # The tenant was deleted after its token was verified.
            raise Unauthenticated("tokenInvalid", "The organisation of this token is not served here any more.")
        return Me(
            caller=caller,
            display_name=await self._name(caller) if person is None else person.display_name,
            mail=None if person is None else person.mail,
            tenant_name=tenant.name,
            is_administrator=is_administrator,
            language=None if person is None else person.language,
            to_decide=to_decide,
        )

    async def _name(self, caller: Caller) -> str:
        """Return the name of a caller who is not in the directory."""
        return (await self.authorization.actor(caller)).display_name

    async def _find(self, caller: Caller, user: UserId) -> Person | None:
        try:
            answer = await self.people.look_up(PeopleQuestion(caller.tenant_id, users=frozenset((user,))))
        except TryAgain as error:
            detail = "The directory is unavailable, so your name cannot be read. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return answer.people.get(user)
