"""What must be known of callers beyond their tokens: whether they administer the tenant, and what they are called.

Administrators are users that the tenant's settings name, and members of groups that they name, asked of the
directory; programs have the names that the audit trail shows. What was found is remembered for a minute at most.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar
from uuid import UUID

from chamberlain.directory.port import People
from chamberlain.rules.approval_levels import has_decided, has_to_decide
from chamberlain.rules.audit import ClientNames
from chamberlain.rules.callers import Actor, Caller
from chamberlain.rules.errors import Forbidden, NotFound, TryAgain, Unavailable
from chamberlain.rules.ids import ClientId, TenantId, UserId
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.permissions import Allowance, Extent, Operation, ScopePrefixes, require
from chamberlain.rules.requests import RequestRecord
from chamberlain.store import tenants
from chamberlain.store.database import Database

REMEMBERED_FOR = timedelta(seconds=60)
MOST_REMEMBERED = 10_000

Answer = TypeVar("Answer")
_Place: TypeAlias = tuple[TenantId, UUID]


async def nameless(_tenant_id: TenantId) -> Mapping[ClientId, str]:
    """What programs are called where nobody knows their names."""
    return {}


class Callers:
    """Answers about callers of all tenants."""

    def __init__(
        self, database: Database, people: People, now: Callable[[], datetime], client_names: ClientNames = nameless
    ) -> None:
        self._database = database
        self._people = people
        self._now = now
        self._client_names = client_names
        self._found: OrderedDict[_Place, tuple[datetime, bool]] = OrderedDict()
        self._names: OrderedDict[_Place, tuple[datetime, str]] = OrderedDict()

    async def extent(self, caller: Caller, allowance: Allowance) -> Extent:
        """How far the caller may go. Raises Forbidden when only an administrator may go on, and Unavailable."""
        asked = allowance.asks_for_administrator
        return allowance.extent(is_administrator=asked and await self.administers(caller))

    async def require_allowed(self, prefixes: ScopePrefixes, caller: Caller, operation: Operation) -> None:
        """Raises Forbidden when the caller may not do it to anything, and Unavailable."""
        await self.extent(caller, require(caller, operation, prefixes))

    async def reader(self, caller: Caller, allowance: Allowance) -> UUID | None:
        """Whose things the caller may see: only the caller's own, or with None everybody's. Raises as `extent` does."""
        return caller.id if await self.extent(caller, allowance) is Extent.OWN else None

    async def require_visible(
        self, caller: Caller, allowance: Allowance, record: RequestRecord | None
    ) -> RequestRecord:
        """The request, if the caller may see it: as whoever asked for it, as somebody who has to decide or has decided
        on it, or as an administrator. Raises NotFound, and Forbidden and Unavailable as `extent` does."""
        if record is not None and allowance.plain is not None and concerns(record, caller):
            # Nobody has to be asked about what is one's own.
            return record
        if await self.extent(caller, allowance) is Extent.OWN or record is None:
            raise NotFound("There is no such request, or it is not yours to read.")
        return record

    async def require_requester(self, caller: Caller, allowance: Allowance, record: RequestRecord) -> None:
        """Raises Forbidden when the caller is neither the requester nor an administrator, and Unavailable."""
        if record.created_by.id != caller.id and await self.extent(caller, allowance) is not Extent.ALL:
            detail = "Only the requester and administrators cancel and retry. An approver approves and rejects."
            raise Forbidden("notAdministrator", detail)

    async def actor(self, caller: Caller) -> Actor:
        """The caller as records name them; without a name where the directory, or the identity platform of a program,
        knows or tells none. Raises Unavailable."""
        now, place = self._now(), (caller.tenant_id, caller.id)
        until, name = self._names.get(place, (now, ""))
        if until <= now:
            name = await self._name(caller)
            _remember(self._names, place, (now + REMEMBERED_FOR if name else now, name))
        return Actor(caller.type, caller.id, name)

    async def administers(self, caller: Caller) -> bool:
        """Whether the caller is an administrator of the tenant; an application never is."""
        user = caller.user_id
        if user is None:
            return False
        now, place = self._now(), (caller.tenant_id, user)
        until, is_one = self._found.get(place, (now, False))
        if until > now:
            return is_one
        is_one = await self._look_up(caller.tenant_id, user)
        _remember(self._found, place, (now + REMEMBERED_FOR, is_one))
        return is_one

    async def _name(self, caller: Caller) -> str:
        user = caller.user_id
        if user is None:
            names = await self._client_names(caller.tenant_id)
            return names.get(ClientId(str(caller.id)), "")
        try:
            answer = await self._people.look_up(PeopleQuestion(caller.tenant_id, users=frozenset((user,))))
        except TryAgain:
            return ""
        person = answer.people.get(user)
        return "" if person is None else person.display_name

    async def _look_up(self, tenant_id: TenantId, user: UserId) -> bool:
        async with self._database.transaction(tenant_id) as tx:
            tenant = await tenants.find(tx, tenant_id)
        if tenant is None or user in tenant.administrator_users:
            return tenant is not None
        if not tenant.administrator_groups:
            return False
        question = PeopleQuestion(tenant_id, member=user, groups=tenant.administrator_groups)
        try:
            answer = await self._people.look_up(question)
        except TryAgain as error:
            detail = "The directory cannot be asked whether you are an administrator. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return bool(answer.member_of)


def concerns(record: RequestRecord, caller: Caller) -> bool:
    """Whether a request is the caller's own, to ask for or to decide on."""
    user = caller.user_id
    is_own = record.created_by.id == caller.id
    return is_own or has_to_decide(record.approvals, user) or has_decided(record.approvals, user)


def _remember(found: OrderedDict[_Place, Answer], place: _Place, answer: Answer) -> None:
    """Keep it as the newest; the oldest is forgotten when there are too many."""
    found[place] = answer
    found.move_to_end(place)
    if len(found) > MOST_REMEMBERED:
        found.popitem(last=False)
