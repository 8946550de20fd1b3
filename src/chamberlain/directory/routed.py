# SPDX-License-Identifier: Apache-2.0
"""Route each tenant to its directory.

Most installations have no other directory than their own: a call then goes straight to its adapter. A batch about
several tenants is split, and the results are merged in order. Only the parts of one tenant fail together.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from chamberlain.core.errors import Cause, ConnectionBroken, OutsideFault, Rejected, TryAgain, Unavailable
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.core.reasons import Reason
from chamberlain.directory import port
from chamberlain.directory.budgets import Budget, Budgets
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.lookups import Found, FoundGroup, FoundUser, Related, Relation, Search, Slice
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.subjects import ObservedSubject, SubjectReference

Item = TypeVar("Item")
Result = TypeVar("Result")
# A call of a port that takes a batch of one or several tenants.
Batch = Callable[[Sequence[Item]], Awaitable[Sequence[Result]]]


@dataclass(frozen=True, slots=True, eq=False)
class Adapters:
    """The ports of one directory.

    `check` asks it once. It raises ConnectionBroken and TryAgain. `lookups` is None for an embedded directory, which
    answers from its tables.
    """

    people: port.People
    directory: port.Directory
    guests: port.Guests
    adoptions: port.Adoptions
    subjects: port.Subjects
    check: Callable[[TenantId], Awaitable[None]]
    lookups: port.Lookups | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """A budget of calls, and where this process takes it from."""

    budget: Budget
    budgets: Budgets


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """The directory of one tenant.

    A `broken` connection is not used. `adapters` is None if it cannot even be opened, and is then broken. `limit`
    holds its calls back.
    """

    adapters: Adapters | None
    broken: ConnectionBroken | None = None
    limit: Limit | None = None


class Routes(Protocol):
    """The directories of tenants that have their own."""

    @property
    def elsewhere(self) -> Mapping[TenantId, Route]:
        """Return the directories by tenant.

        A tenant that is missing uses the directory of the service.
        """
        ...

    async def refused(self, tenant_id: TenantId, error: ConnectionBroken) -> None:
        """Record that a directory refuses the connection of a tenant."""
        ...


# Pause after a call that a directory refused as a whole. Ours.
_REFUSED_FOR: Final = timedelta(minutes=1)
# Capabilities of a directory that cannot be opened.
_UNOPENED: Final = Capabilities(visible_after=timedelta(seconds=1), in_lanes=True)


class _Routed:
    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def _call(
        self,
        tenant_id: TenantId,
        route: Route,
        call: Callable[[Adapters], Awaitable[Result]],
        *,
        cost: int = 1,
        follows: bool = False,
        may_refuse: bool = False,
    ) -> Result:
        """Call the directory of one tenant, and record a refused connection.

        `cost` counts in the budget. A call that `follows` others of the same work waits for its turn here. Rejected is
        raised only by a call that the directory `may_refuse`, such as one with a filter or an old cursor.
        """
        if route.broken is not None:
            raise ConnectionBroken(route.broken.after, route.broken.because)
        if route.adapters is None:
            raise LookupError("A route without adapters is broken.")
        if route.limit is not None:
            take = route.limit.budgets.follow if follows else route.limit.budgets.begin
            await take(route.limit.budget, tenant_id, cost)
        try:
            return await call(route.adapters)
        except ConnectionBroken as error:
            await self._routes.refused(tenant_id, error)
            # Requests show one code for every broken connection.
            raise ConnectionBroken(error.after, Reason.build("connectionBroken", problem=error.reason)) from error
        except TryAgain as error:
            await _slow_down(route, error)
            raise
        except Rejected as error:
            if may_refuse:
                raise
            # Outcomes report refused writes, so the adapter does not expect this answer.
            raise TryAgain(_REFUSED_FOR, error.detail, Cause.AWAY) from error

    async def _spread(
        self,
        items: Sequence[Item],
        tenant_of: Callable[[Item], TenantId],
        own: Batch[Item, Result],
        call: Callable[[Adapters], Batch[Item, Result]],
        failed: Callable[[TryAgain], Result] | None = None,
    ) -> Sequence[Result]:
        """Call the directory of each tenant with its part of a batch.

        `failed` builds the result of items whose directory does not answer. Without it, TryAgain is raised if one of
        them does not.
        """
        elsewhere = self._routes.elsewhere
        parts: dict[TenantId | None, list[int]] = {}
        for number, item in enumerate(items):
            tenant_id = tenant_of(item)
            parts.setdefault(tenant_id if tenant_id in elsewhere else None, []).append(number)
        works = []
        for each, numbers in parts.items():
            part = [items[number] for number in numbers]
            # Only writes report the failure of each item, and writes follow reads.
            follows = failed is not None
            works.append(own(part) if each is None else self._part(each, elsewhere[each], part, call, follows=follows))
        answers = await asyncio.gather(*works, return_exceptions=True)
        results: dict[int, Result] = {}
        for numbers, answer in zip(parts.values(), answers, strict=True):
            if isinstance(answer, TryAgain) and failed is not None:
                results.update(dict.fromkeys(numbers, failed(answer)))
            elif isinstance(answer, BaseException):
                raise _of_all(answer, len(parts))
            else:
                results.update(zip(numbers, answer, strict=True))
        return [results[number] for number in range(len(items))]

    async def _part(
        self,
        tenant_id: TenantId,
        route: Route,
        items: Sequence[Item],
        call: Callable[[Adapters], Batch[Item, Result]],
        *,
        follows: bool,
    ) -> Sequence[Result]:
        answers = await self._call(
            tenant_id, route, lambda adapters: call(adapters)(items), cost=len(items), follows=follows
        )
        faults = [each if isinstance(each, OutsideFault) else getattr(each, "fault", None) for each in answers]
        if (broken := next((each for each in faults if isinstance(each, ConnectionBroken)), None)) is not None:
            await self._routes.refused(tenant_id, broken)
        if (busy := next((each for each in faults if _is_busy(each)), None)) is not None:
            await _slow_down(route, busy)
        return answers


def _is_busy(fault: object) -> bool:
    return isinstance(fault, TryAgain) and fault.cause is Cause.BUSY


async def _slow_down(route: Route, fault: object) -> None:
    """Slow down for all processes if the directory asks for it."""
    if route.limit is not None and _is_busy(fault):
        # Without the database of budgets, no call is made either.
        with suppress(Unavailable):
            await route.limit.budgets.slow_down(route.limit.budget)


def _of_all(error: BaseException, parts: int) -> BaseException:
    """Convert the error of one part to that of the whole batch.

    The connections of the other tenants in it are not broken.
    """
    if isinstance(error, ConnectionBroken) and parts > 1:
        return TryAgain(error.after, error.because, error.cause)
    return error


class RoutedPeople(_Routed, port.People):
    """Looks up people in the directory of each tenant."""

    def __init__(self, own: port.People, routes: Routes) -> None:
        super().__init__(routes)
        self._own = own

    def look_up(self, question: PeopleQuestion) -> Coroutine[Any, Any, PeopleAnswer]:
        """Answer a question in the directory of its tenant."""
        other = self._routes.elsewhere.get(question.tenant_id)
        if other is None:
            return self._own.look_up(question)
        return self._call(question.tenant_id, other, lambda adapters: adapters.people.look_up(question))

    def find(self, tenant_id: TenantId, text: str, limit: int) -> Coroutine[Any, Any, Sequence[Person]]:
        """Find people in the directory of a tenant."""
        other = self._routes.elsewhere.get(tenant_id)
        if other is None:
            return self._own.find(tenant_id, text, limit)
        return self._call(tenant_id, other, lambda adapters: adapters.people.find(tenant_id, text, limit))

    def labels(self, tenant_id: TenantId) -> Coroutine[Any, Any, Sequence[Label]]:
        """List the labels in the directory of a tenant."""
        other = self._routes.elsewhere.get(tenant_id)
        if other is None:
            return self._own.labels(tenant_id)
        return self._call(tenant_id, other, lambda adapters: adapters.people.labels(tenant_id))

    def remember_for(self, tenant_id: TenantId) -> timedelta | None:
        """Return the maximum age of cached answers about a tenant."""
        route = self._routes.elsewhere.get(tenant_id)
        if route is None:
            return self._own.remember_for(tenant_id)
        return port.REMEMBER_REMOTE if route.adapters is None else route.adapters.people.remember_for(tenant_id)


class RoutedSubjects(_Routed, port.Subjects):
    """Reads groups and sites of one tenant in its directory."""

    def __init__(self, own: port.Subjects, routes: Routes) -> None:
        super().__init__(routes)
        self._own = own

    def observe(self, references: Sequence[SubjectReference]) -> Coroutine[Any, Any, Sequence[ObservedSubject | None]]:
        """Read groups and sites of one tenant."""
        elsewhere = self._routes.elsewhere
        other = elsewhere.get(references[0].tenant_id) if elsewhere and references else None
        if other is None:
            return self._own.observe(references)
        return self._call(references[0].tenant_id, other, lambda adapters: adapters.subjects.observe(references))


class RoutedLookups(_Routed, port.Lookups):
    """Finds groups and users in the directory of each tenant."""

    def groups(self, tenant_id: TenantId, search: Search) -> Coroutine[Any, Any, Found[FoundGroup]]:
        """Find groups."""
        return self._look_up(tenant_id, lambda lookups: lookups.groups(tenant_id, search))

    def related(
        self, tenant_id: TenantId, group_id: GroupId, relation: Relation, part: Slice
    ) -> Coroutine[Any, Any, Found[Related] | None]:
        """List the owners, or direct members, of a group."""
        return self._look_up(tenant_id, lambda lookups: lookups.related(tenant_id, group_id, relation, part))

    def users(self, tenant_id: TenantId, search: Search) -> Coroutine[Any, Any, Found[FoundUser]]:
        """Find users and mailboxes."""
        return self._look_up(tenant_id, lambda lookups: lookups.users(tenant_id, search))

    async def _look_up(self, tenant_id: TenantId, ask: Callable[[port.Lookups], Awaitable[Result]]) -> Result:
        async def call(adapters: Adapters) -> Result:
            if adapters.lookups is None:
                raise _changed()
            return await ask(adapters.lookups)

        route = self._routes.elsewhere.get(tenant_id)
        if route is None:
            raise _changed()
        return await self._call(tenant_id, route, call, may_refuse=True)


class RoutedDirectory(_Routed, port.Directory):
    """Observes and provisions objects in the directory of each tenant."""

    def __init__(self, own: port.Directory, routes: Routes) -> None:
        super().__init__(routes)
        self._own = own

    def capabilities(self, tenant_id: TenantId) -> Coroutine[Any, Any, Capabilities]:
        """Return the capabilities of the directory of a tenant."""
        route = self._routes.elsewhere.get(tenant_id)
        if route is None:
            return self._own.capabilities(tenant_id)
        return _unopened() if route.adapters is None else route.adapters.directory.capabilities(tenant_id)

    def observe(self, references: Sequence[GroupReference]) -> Coroutine[Any, Any, Sequence[ObservedGroup | None]]:
        """Observe groups."""
        if not self._routes.elsewhere:
            return self._own.observe(references)
        return self._spread(
            references, lambda one: one.tenant_id, self._own.observe, lambda adapters: adapters.directory.observe
        )

    def ensure(self, works: Sequence[port.GroupWork]) -> Coroutine[Any, Any, Sequence[port.GroupOutcome]]:
        """Provision groups."""
        if not self._routes.elsewhere:
            return self._own.ensure(works)
        return self._spread(
            works,
            lambda work: work.wanted.tenant_id,
            self._own.ensure,
            lambda adapters: adapters.directory.ensure,
            _group_failed,
        )

    def observe_mailboxes(
        self, references: Sequence[MailboxReference]
    ) -> Coroutine[Any, Any, Sequence[ObservedMailbox | None]]:
        """Observe mailboxes."""
        if not self._routes.elsewhere:
            return self._own.observe_mailboxes(references)
        return self._spread(
            references,
            lambda one: one.tenant_id,
            self._own.observe_mailboxes,
            lambda adapters: adapters.directory.observe_mailboxes,
        )

    def ensure_mailboxes(self, works: Sequence[port.MailboxWork]) -> Coroutine[Any, Any, Sequence[port.MailboxOutcome]]:
        """Provision mailboxes."""
        if not self._routes.elsewhere:
            return self._own.ensure_mailboxes(works)
        return self._spread(
            works,
            lambda work: work.wanted.tenant_id,
            self._own.ensure_mailboxes,
            lambda adapters: adapters.directory.ensure_mailboxes,
            _mailbox_failed,
        )


class RoutedGuests(_Routed, port.Guests):
    """Applies guest rules in the directory of each tenant."""

    def __init__(self, own: port.Guests, routes: Routes) -> None:
        super().__init__(routes)
        self._own = own

    def observe(self, references: Sequence[SubjectReference]) -> Coroutine[Any, Any, Sequence[ObservedSubject | None]]:
        """Observe groups and sites."""
        if not self._routes.elsewhere:
            return self._own.observe(references)
        return self._spread(
            references, lambda one: one.tenant_id, self._own.observe, lambda adapters: adapters.guests.observe
        )

    def ensure(self, works: Sequence[port.GuestWork]) -> Coroutine[Any, Any, Sequence[port.GuestOutcome]]:
        """Apply guest rules."""
        if not self._routes.elsewhere:
            return self._own.ensure(works)
        return self._spread(
            works,
            lambda work: work.wanted.tenant_id,
            self._own.ensure,
            lambda adapters: adapters.guests.ensure,
            _guests_failed,
        )

    def act(self, acts: Sequence[port.GuestAct]) -> Coroutine[Any, Any, Sequence[port.ActOutcome]]:
        """Perform actions on guests."""
        if not self._routes.elsewhere:
            return self._own.act(acts)
        return self._spread(
            acts, lambda act: act.tenant_id, self._own.act, lambda adapters: adapters.guests.act, _act_failed
        )

    def changes(
        self, tenant_id: TenantId, extension: str, cursor: str | None
    ) -> Coroutine[Any, Any, port.SubjectChanges]:
        """Read a page of a scan, or of later changes."""
        other = self._routes.elsewhere.get(tenant_id)
        if other is None:
            return self._own.changes(tenant_id, extension, cursor)
        return self._call(
            tenant_id,
            other,
            lambda adapters: adapters.guests.changes(tenant_id, extension, cursor),
            may_refuse=cursor is not None,
        )


class RoutedAdoptions(_Routed, port.Adoptions):
    """Lists and marks objects in the directory of each tenant."""

    def __init__(self, own: port.Adoptions, routes: Routes) -> None:
        super().__init__(routes)
        self._own = own

    def mailboxes(
        self, tenant_id: TenantId, extension: str, cursor: str | None
    ) -> Coroutine[Any, Any, port.MailboxPage]:
        """Read a page of the mailboxes of one tenant."""
        other = self._routes.elsewhere.get(tenant_id)
        if other is None:
            return self._own.mailboxes(tenant_id, extension, cursor)
        return self._call(
            tenant_id,
            other,
            lambda adapters: adapters.adoptions.mailboxes(tenant_id, extension, cursor),
            may_refuse=cursor is not None,
        )

    def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Coroutine[Any, Any, Sequence[ObservedMailbox | None]]:
        """Observe mailboxes of one tenant by id."""
        other = self._routes.elsewhere.get(tenant_id)
        if other is None:
            return self._own.observe(tenant_id, extension, ids)
        return self._call(tenant_id, other, lambda adapters: adapters.adoptions.observe(tenant_id, extension, ids))

    def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> Coroutine[Any, Any, port.MailboxChanges]:
        """Read a page of changed mailboxes of one tenant."""
        other = self._routes.elsewhere.get(tenant_id)
        if other is None:
            return self._own.changed_mailboxes(tenant_id, extensions, cursor)
        return self._call(
            tenant_id,
            other,
            lambda adapters: adapters.adoptions.changed_mailboxes(tenant_id, extensions, cursor),
            may_refuse=cursor is not None,
        )

    def mark(self, markings: Sequence[port.Marking]) -> Coroutine[Any, Any, Sequence[OutsideFault | None]]:
        """Set marks."""
        if not self._routes.elsewhere:
            return self._own.mark(markings)
        return self._spread(
            markings, lambda one: one.tenant_id, self._own.mark, lambda adapters: adapters.adoptions.mark, _itself
        )

    def unmark(self, markings: Sequence[port.Marking]) -> Coroutine[Any, Any, Sequence[OutsideFault | None]]:
        """Remove marks."""
        if not self._routes.elsewhere:
            return self._own.unmark(markings)
        return self._spread(
            markings, lambda one: one.tenant_id, self._own.unmark, lambda adapters: adapters.adoptions.unmark, _itself
        )


def _changed() -> TryAgain:
    """Return the fault of a connection that has just changed."""
    return TryAgain(timedelta(seconds=1), Reason.build("directoryNotAvailable"), Cause.AWAY)


async def _unopened() -> Capabilities:
    return _UNOPENED


def _group_failed(fault: TryAgain) -> port.GroupOutcome:
    return port.Outcome(None, (), fault)


def _mailbox_failed(fault: TryAgain) -> port.MailboxOutcome:
    return port.Outcome(None, (), fault)


def _guests_failed(fault: TryAgain) -> port.GuestOutcome:
    return port.GuestOutcome(None, (), fault)


def _act_failed(fault: TryAgain) -> port.ActOutcome:
    return port.ActOutcome(None, fault)


def _itself(fault: TryAgain) -> OutsideFault | None:
    return fault


class RoutedChangedTenants(port.ChangedTenants):
    """Names the changed tenants of the directory of the service.

    A tenant with another directory is always named, because only a call there can tell.
    """

    def __init__(self, own: port.ChangedTenants, routes: Routes) -> None:
        self._own = own
        self._routes = routes

    async def changed_tenants(self, cursors: Sequence[port.TenantCursors]) -> frozenset[TenantId]:
        """Return the tenants with changes after their cursors."""
        elsewhere = self._routes.elsewhere
        changed = await self._own.changed_tenants([each for each in cursors if each.tenant_id not in elsewhere])
        return changed | {each.tenant_id for each in cursors if each.tenant_id in elsewhere}
