# SPDX-License-Identifier: Apache-2.0
"""Authorize callers, and name them for records.

Administrators are the users that the tenant's settings name, and members of the groups they name. The directory has the
members. Answers are cached for a minute at most.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar
from uuid import UUID

from chamberlain.auth.models import Actor, Caller, ClientNames, Edit, Editor
from chamberlain.auth.permissions import Allowance, Extent, Operation, ScopePrefixes, require
from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import ClientId, GroupId, TenantId, UserId
from chamberlain.database.transactions import Database
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class Administrators:
    """Users who administer a tenant, and groups whose members do."""

    users: frozenset[UserId]
    groups: frozenset[GroupId]


async def find_administrators(database: Database, tenant_id: TenantId) -> Administrators | None:
    """Find the administrators of a tenant; None for an unknown tenant."""
    async with database.statement() as connection:
        row = await connection.fetchrow(SQL["find_administrators"], tenant_id)
    if row is None:
        return None
    return Administrators(
        frozenset(UserId(each) for each in row["administrator_users"]),
        frozenset(GroupId(each) for each in row["administrator_groups"]),
    )


CACHED_FOR = timedelta(seconds=60)
# Entries of each cache. The oldest entry is dropped first.
CACHE_SIZE = 10_000

Answer = TypeVar("Answer")
_CacheKey: TypeAlias = tuple[TenantId, UUID]


async def no_client_names(_tenant_id: TenantId) -> Mapping[ClientId, str]:
    """Return no names, for identity platforms without them."""
    return {}


class Authorization:
    """Authorize callers of all tenants.

    `prefixes` are those of the permission names. `now` decides how long answers stay cached.
    """

    def __init__(
        self,
        database: Database,
        people: People,
        prefixes: ScopePrefixes,
        now: Callable[[], datetime],
        client_names: ClientNames = no_client_names,
    ) -> None:
        self._database = database
        self._people = people
        self._prefixes = prefixes
        self._now = now
        self._client_names = client_names
        self._administers: OrderedDict[_CacheKey, tuple[datetime, bool]] = OrderedDict()
        self._names: OrderedDict[_CacheKey, tuple[datetime, str]] = OrderedDict()

    def allowance(self, caller: Caller, operation: Operation) -> Allowance:
        """Return the allowance of the token's permissions.

        Raises Forbidden if they allow nothing.
        """
        return require(caller, operation, self._prefixes)

    async def require(self, caller: Caller, operation: Operation) -> None:
        """Raise Forbidden if the caller may never perform the operation.

        Raises Unavailable if the directory is needed and does not answer.
        """
        if self.allowance(caller, operation).plain is None:
            await self.extent(caller, operation)

    async def extent(self, caller: Caller, operation: Operation) -> Extent:
        """Return the extent of the caller's permission: all objects or own ones.

        Raises Forbidden and Unavailable like `require`.
        """
        allowance = self.allowance(caller, operation)
        asked = allowance.asks_for_administrator
        return allowance.extent(is_administrator=asked and await self.administers(caller))

    async def reader(self, caller: Caller, operation: Operation) -> UUID | None:
        """Return the caller's id, or None if all objects are visible.

        Raises Forbidden and Unavailable like `require`.
        """
        return caller.id if await self.extent(caller, operation) is Extent.OWN else None

    async def actor(self, caller: Caller) -> Actor:
        """Return the caller as records name it.

        The name is empty if neither the directory nor the identity platform has one, or the directory does not answer.
        """
        now, key = self._now(), (caller.tenant_id, caller.id)
        until, name = self._names.get(key, (now, ""))
        if until <= now:
            name = await self._find_name(caller)
            _cache(self._names, key, (now + CACHED_FOR if name else now, name))
        return Actor(caller.type, caller.id, name)

    async def editor(self, caller: Caller, change: Act | Edit) -> Editor:
        """Return the caller as the record of this change names it."""
        return Editor(await self.actor(caller), caller.client_id, change.trace_id, change.client_address)

    async def administers(self, caller: Caller) -> bool:
        """Return whether the caller is an administrator. An application never is."""
        user = caller.user_id
        if user is None:
            return False
        now, key = self._now(), (caller.tenant_id, user)
        until, is_administrator = self._administers.get(key, (now, False))
        if until > now:
            return is_administrator
        is_administrator = await self._is_administrator(caller.tenant_id, user)
        _cache(self._administers, key, (now + CACHED_FOR, is_administrator))
        return is_administrator

    async def _find_name(self, caller: Caller) -> str:
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

    async def _is_administrator(self, tenant_id: TenantId, user: UserId) -> bool:
        administrators = await find_administrators(self._database, tenant_id)
        if administrators is None or user in administrators.users:
            return administrators is not None
        if not administrators.groups:
            return False
        question = PeopleQuestion(tenant_id, member=user, groups=administrators.groups)
        try:
            answer = await self._people.look_up(question)
        except TryAgain as error:
            detail = "The directory cannot be asked whether you are an administrator. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return bool(answer.member_of)


def _cache(entries: OrderedDict[_CacheKey, Answer], key: _CacheKey, answer: Answer) -> None:
    """Store the newest answer, and drop the oldest from a full cache."""
    entries[key] = answer
    entries.move_to_end(key)
    if len(entries) > CACHE_SIZE:
        entries.popitem(last=False)
