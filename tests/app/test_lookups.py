# SPDX-License-Identifier: Apache-2.0
"""Faults of lookups through the port of a directory."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.core.reasons import Reason
from chamberlain.directory.lookups import Found, FoundGroup, FoundUser, Related, Relation, Search, Slice
from chamberlain.directory.port import Lookups
from chamberlain.directory.routed import RoutedLookups
from chamberlain.embedded.directory.errors import BadQuery, Unreachable
from tests.directory.lookup_calls import port_lookups
from tests.directory.sample_directory import ADA, OUTER, TENANT
from tests.directory.test_routed import FixedRoutes, NamedDirectory, route_to

AWAY = TryAgain(timedelta(seconds=7), Reason.build("directoryNotAvailable"), Cause.AWAY)
BROKEN = ConnectionBroken(timedelta(minutes=3), Reason.build("serverRefusesCredential", server="The LDAP server"))
PATHS = (f"/groups/{OUTER}", f"/groups/{OUTER}/owners", f"/groups/{OUTER}/members", f"/users/{ADA}")


class FailingLookups(Lookups):
    """A directory that answers each lookup with one fault."""

    def __init__(self, fault: OutsideFault) -> None:
        self._fault = fault

    async def groups(self, tenant_id: TenantId, search: Search) -> Found[FoundGroup]:  # noqa: ARG002 - all fail.
        raise self._fault

    async def related(
        self,
        tenant_id: TenantId,  # noqa: ARG002 - all fail.
        group_id: GroupId,  # noqa: ARG002 - all fail.
        relation: Relation,  # noqa: ARG002 - all fail.
        part: Slice,  # noqa: ARG002 - all fail.
    ) -> Found[Related] | None:
        raise self._fault

    async def users(self, tenant_id: TenantId, search: Search) -> Found[FoundUser]:  # noqa: ARG002 - all fail.
        raise self._fault


def routes_to(fault: OutsideFault) -> FixedRoutes:
    return FixedRoutes({TENANT: route_to(NamedDirectory("suite"), FailingLookups(fault))})


@pytest.mark.parametrize("path", PATHS)
async def test_a_directory_that_does_not_answer_is_asked_again_later(path: str) -> None:
    routes = routes_to(AWAY)

    with pytest.raises(Unreachable) as refused:
        await port_lookups(RoutedLookups(routes)).get(path)

    assert (refused.value.after, routes.refusals) == (AWAY.after, [])


async def test_a_list_of_a_directory_that_does_not_answer_is_asked_again_later() -> None:
    with pytest.raises(Unreachable) as refused:
        await port_lookups(RoutedLookups(routes_to(AWAY))).group_of(OUTER)

    assert refused.value.after == AWAY.after


async def test_a_refused_connection_is_recorded() -> None:
    routes = routes_to(BROKEN)

    with pytest.raises(Unreachable) as refused:
        await port_lookups(RoutedLookups(routes)).get(PATHS[0])

    assert (refused.value.after, routes.refusals) == (BROKEN.after, [TENANT])


async def test_a_broken_connection_is_not_used() -> None:
    route = replace(route_to(NamedDirectory("suite"), FailingLookups(AWAY)), broken=BROKEN)

    with pytest.raises(Unreachable) as refused:
        await port_lookups(RoutedLookups(FixedRoutes({TENANT: route}))).get(PATHS[0])

    assert refused.value.after == BROKEN.after


async def test_a_connection_that_has_ended_is_asked_again() -> None:
    with pytest.raises(Unreachable):
        await port_lookups(RoutedLookups(FixedRoutes({}))).get(PATHS[0])


async def test_a_rejected_search_is_asked_again_after_its_repair() -> None:
    fault = Rejected("directoryRejected", "The LDAP server rejected an operation (result 4): Size limit exceeded")

    with pytest.raises(Unreachable) as refused:
        await port_lookups(RoutedLookups(routes_to(fault))).get("/users", filter="displayName eq 'Ada'")

    assert refused.value.after == timedelta(minutes=1)


async def test_a_comparison_that_the_directory_cannot_make_is_a_bad_query() -> None:
    fault = Rejected("filterNotSupported", "This directory does not compare the beginning of an id.")

    with pytest.raises(BadQuery) as refused:
        await port_lookups(RoutedLookups(routes_to(fault))).get("/users", filter="displayName eq 'Ada'")

    assert refused.value.code == "Request_UnsupportedQuery"


@pytest.mark.parametrize("option", [{"orderby": "displayName"}, {"search": '"displayName:ada"'}])
async def test_an_order_or_a_search_is_a_bad_query(option: dict[str, str]) -> None:
    lookups = port_lookups(RoutedLookups(routes_to(AWAY)))

    with pytest.raises(BadQuery) as refused:
        await lookups.get("/users", filter="displayName eq 'Ada'", count="true", **option)

    assert refused.value.code == "Request_UnsupportedQuery"
