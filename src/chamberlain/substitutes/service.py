# SPDX-License-Identifier: Apache-2.0
"""Name, read and withdraw the substitute of the caller."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Edit, Editor
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import Change, Subject, format_time
from chamberlain.changes.records import record_change
from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.core.ids import TenantId, UserId
from chamberlain.core.values import Json
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.substitutes import records
from chamberlain.substitutes.models import Naming, OwnSubstitutions, Substitution
from chamberlain.substitutes.rules import begin, other_users, own_substitutions, require_end, require_possible


@dataclass(slots=True)
class SubstituteService:
    """Name, read and withdraw the substitute of the caller.

    `workers` are notified: their approval jobs copy substitutes to the open levels. Every method raises Forbidden for
    callers who cannot decide on requests, such as applications.
    """

    database: Database
    authorization: Authorization
    people: People
    workers: Notifier
    now: Callable[[], datetime]

    async def read(self, caller: Caller) -> OwnSubstitutions:
        """Read the substitute of the caller, and those whom the caller represents."""
        user = await self._user(caller)
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await records.find_of_user(tx, user, self.now())
        return await self._with_names(caller, user, found)

    async def name(self, caller: Caller, naming: Naming, edit: Edit) -> OwnSubstitutions:
        """Name the substitute of the caller, instead of the previous one.

        Raises NotPossible for the caller, unknown users and a wrong end, and Unavailable if the directory does not
        answer.
        """
        user = await self._user(caller)
        answer = await self._look_up(caller.tenant_id, frozenset([naming.substitute_id]))
        require_end(naming, now=self.now())
        require_possible(user, naming, answer)
        editor = await self.authorization.editor(caller, edit)
        async with self.database.transaction(caller.tenant_id) as tx:
            requests = await records.hold_requests(tx, user)
            before, now = await records.hold(tx, user), self.now()
            # The end may have passed during the wait for the locks.
            require_end(naming, now=now)
            after = begin(user, naming)
            await records.save(tx, after, now)
            await records.hurry(tx, requests)
            name = answer.people[naming.substitute_id].display_name
            was = None if before is None or before.until <= now else before
            await record_change(tx, _change(caller, editor, was, after, Subject("user", naming.substitute_id, name)))
            found = await records.find_of_user(tx, user, now)
        self.workers.flag()
        return await self._with_names(caller, user, found)

    async def withdraw(self, caller: Caller, edit: Edit) -> None:
        """Withdraw the substitute of the caller, if there is one."""
        user = await self._user(caller)
        substitute = (await self.read(caller)).substitute
        named = None if substitute is None else substitute.person
        editor = await self.authorization.editor(caller, edit)
        async with self.database.transaction(caller.tenant_id) as tx:
            requests = await records.hold_requests(tx, user)
            before = await records.hold(tx, user)
            if before is None:
                return
            await records.delete(tx, user)
            await records.hurry(tx, requests)
            if before.until > self.now():
                # Another call may have named another substitute meanwhile.
                is_same = named is not None and named.id == before.substitute_id
                subject = Subject("user", before.substitute_id, named.display_name if named and is_same else "")
                await record_change(tx, _change(caller, editor, before, None, subject))
        self.workers.flag()

    async def _user(self, caller: Caller) -> UserId:
        await self.authorization.require(caller, Operation.DECIDE_REQUEST)
        return UserId(caller.id)

    async def _with_names(self, caller: Caller, user: UserId, found: tuple[Substitution, ...]) -> OwnSubstitutions:
        """Add the names of the directory.

        They are empty if it does not answer.
        """
        others = other_users(user, found)
        if not others:
            return own_substitutions(user, found, {})
        try:
            answer = await self.people.look_up(PeopleQuestion(caller.tenant_id, users=others))
        except TryAgain:
            return own_substitutions(user, found, {})
        return own_substitutions(user, found, answer.people)

    async def _look_up(self, tenant_id: TenantId, users: frozenset[UserId]) -> PeopleAnswer:
        try:
            return await self.people.look_up(PeopleQuestion(tenant_id, users=users))
        except TryAgain as error:
            detail = "The directory cannot be asked whether this user is in it. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error


def _change(
    caller: Caller, editor: Editor, before: Substitution | None, after: Substitution | None, subject: Subject
) -> Change:
    return Change(
        tenant_id=caller.tenant_id,
        action="substitute.withdraw" if after is None else "substitute.name",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=subject,
        before=_document(before),
        after=_document(after),
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def _document(substitution: Substitution | None) -> dict[str, Json] | None:
    if substitution is None:
        return None
    return {"userId": str(substitution.substitute_id), "until": format_time(substitution.until)}
