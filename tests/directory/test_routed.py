# SPDX-License-Identifier: Apache-2.0
"""Routing of tenants to their directories: split, merged in order, and failing apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import CoroutineType
from typing import cast
from uuid import UUID

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory import port
from chamberlain.directory.budgets import Budget, Budgets
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.routed import Adapters, Limit, Route, RoutedDirectory

OURS, SECOND, THIRD = (TenantId(UUID(int=number)) for number in (1, 2, 3))
SECOND_ONE = timedelta(seconds=1)


class NamedDirectory(port.Directory):
    """A directory whose observations and outcomes carry its name."""

    def __init__(self, name: str, fault: OutsideFault | None = None) -> None:
        self.name = name
        self.fault = fault
        # The fault of each work.
        self.answered: TryAgain | None = None
        self.batches: list[int] = []

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:  # noqa: ARG002 - the same for all.
        return Capabilities(visible_after=SECOND_ONE, shares_database=self.name == "own")

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        self._called(references)
        return [cast("ObservedGroup", (self.name, each.request_id.int)) for each in references]

    async def ensure(self, works: Sequence[port.GroupWork]) -> Sequence[port.GroupOutcome]:
        self._called(works)
        return [port.Outcome(cast("ObservedGroup", self.name), (), self.answered) for _ in works]

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        self._called(references)
        return [None for _ in references]

    async def ensure_mailboxes(self, works: Sequence[port.MailboxWork]) -> Sequence[port.MailboxOutcome]:
        self._called(works)
        return [port.Outcome(None, (), None) for _ in works]

    def _called(self, batch: Sequence[object]) -> None:
        self.batches.append(len(batch))
        if self.fault is not None:
            raise self.fault


@dataclass
class FixedRoutes:
    """Routes that record which tenants were refused."""

    elsewhere: Mapping[TenantId, Route]
    refusals: list[TenantId] = field(default_factory=list)

    async def refused(self, tenant_id: TenantId, error: ConnectionBroken) -> None:
        assert error.cause is Cause.AWAY
        self.refusals.append(tenant_id)


def route_to(directory: port.Directory, lookups: port.Lookups | None = None) -> Route:
    async def check(_: TenantId) -> None: ...

    nothing = cast("port.People", None)
    adapters = Adapters(
        people=nothing,
        directory=directory,
        guests=cast("port.Guests", None),
        adoptions=cast("port.Adoptions", None),
        subjects=cast("port.Subjects", None),
        check=check,
        lookups=lookups,
    )
    return Route(adapters)


def tuple_of(observed: ObservedGroup | None) -> object:
    return observed


def reference(tenant_id: TenantId, number: int) -> GroupReference:
    return GroupReference(tenant_id, "chamberlain_group", RequestId(UUID(int=number)))


def work(tenant_id: TenantId) -> port.GroupWork:
    @dataclass
    class Wanted:
        tenant_id: TenantId

    return port.Work(cast("WantedGroup", Wanted(tenant_id)), ())


async def test_it_works() -> None:
    own, second, third = NamedDirectory("own"), NamedDirectory("second"), NamedDirectory("third")
    routed = RoutedDirectory(own, FixedRoutes({SECOND: route_to(second), THIRD: route_to(third)}))
    tenants = [SECOND, OURS, THIRD, SECOND, OURS]

    found = await routed.observe([reference(tenant, number) for number, tenant in enumerate(tenants)])

    assert [*map(tuple_of, found)] == [("second", 0), ("own", 1), ("third", 2), ("second", 3), ("own", 4)]
    assert (own.batches, second.batches, third.batches) == ([2], [2], [1])
    assert (await routed.capabilities(OURS)).shares_database
    assert not (await routed.capabilities(SECOND)).shares_database


async def test_without_connections_the_call_is_that_of_the_own_directory() -> None:
    own = NamedDirectory("own")
    routed = RoutedDirectory(own, FixedRoutes({}))

    coroutine = routed.observe([reference(OURS, 1), reference(SECOND, 2)])

    # Nothing is awaited in between.
    assert isinstance(coroutine, CoroutineType)
    assert coroutine.cr_code is NamedDirectory.observe.__code__
    assert [*map(tuple_of, await coroutine)] == [("own", 1), ("own", 2)]


async def test_only_the_works_of_a_refused_tenant_fail() -> None:
    broken = NamedDirectory("second", ConnectionBroken(SECOND_ONE, "The password is wrong."))
    routes = FixedRoutes({SECOND: route_to(broken)})
    routed = RoutedDirectory(NamedDirectory("own"), routes)

    outcomes = await routed.ensure([work(SECOND), work(OURS), work(SECOND)])

    assert [type(each.fault) for each in outcomes] == [ConnectionBroken, type(None), ConnectionBroken]
    assert cast("object", outcomes[1].observed) == "own"
    assert routes.refusals == [SECOND]


async def test_observations_fail_together_but_only_one_connection_is_broken() -> None:
    broken = NamedDirectory("second", ConnectionBroken(SECOND_ONE, "The password is wrong."))
    routes = FixedRoutes({SECOND: route_to(broken)})
    routed = RoutedDirectory(NamedDirectory("own"), routes)

    with pytest.raises(TryAgain) as mixed:
        await routed.observe([reference(OURS, 1), reference(SECOND, 2)])
    with pytest.raises(ConnectionBroken):
        await routed.observe([reference(SECOND, 2)])

    assert not isinstance(mixed.value, ConnectionBroken)
    assert mixed.value.cause is Cause.AWAY
    assert routes.refusals == [SECOND, SECOND]


class CountedBudgets(Budgets):
    """Budgets without a limit, which count how often they are slowed down."""

    def __init__(self) -> None:
        self.slowed: list[str] = []

    async def begin(self, budget: Budget, tenant_id: TenantId, cost: float = 1.0) -> None: ...

    async def follow(self, budget: Budget, tenant_id: TenantId, cost: float = 1.0) -> None: ...

    async def slow_down(self, budget: Budget) -> None:
        self.slowed.append(budget.name)


@pytest.mark.parametrize("cause", Cause)
async def test_a_busy_directory_slows_its_budget_down(cause: Cause) -> None:
    second, budgets = NamedDirectory("second"), CountedBudgets()
    limited = Route(route_to(second).adapters, limit=Limit(Budget("second", 1.0), budgets))
    routed = RoutedDirectory(NamedDirectory("own"), FixedRoutes({SECOND: limited}))
    fault = TryAgain(SECOND_ONE, "Wait.", cause)

    second.answered = fault
    await routed.ensure([work(SECOND), work(SECOND)])
    second.fault = fault
    with pytest.raises(TryAgain):
        await routed.observe([reference(SECOND, 1)])

    assert budgets.slowed == (["second"] * 2 if cause is Cause.BUSY else [])


async def test_a_broken_connection_is_not_called() -> None:
    second = NamedDirectory("second")
    refusal = ConnectionBroken(SECOND_ONE, "The password is wrong.")
    routes = FixedRoutes({SECOND: Route(route_to(second).adapters, refusal), THIRD: Route(None, refusal)})
    routed = RoutedDirectory(NamedDirectory("own"), routes)

    for tenant in (SECOND, THIRD):
        with pytest.raises(ConnectionBroken):
            await routed.observe([reference(tenant, 1)])
        assert (await routed.capabilities(tenant)).visible_after

    assert second.batches == []
    assert routes.refusals == []


async def test_a_refusal_of_a_whole_call_is_temporary() -> None:
    routes = FixedRoutes({SECOND: route_to(NamedDirectory("second", Rejected("refusedByDirectory", "Not so.")))})

    with pytest.raises(TryAgain) as raised:
        await RoutedDirectory(NamedDirectory("own"), routes).observe([reference(SECOND, 1)])

    assert (raised.value.cause, raised.value.reason, routes.refusals) == (Cause.AWAY, "Not so.", [])
