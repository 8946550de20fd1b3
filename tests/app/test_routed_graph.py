# SPDX-License-Identifier: Apache-2.0
"""Calls of Graph reach the directory of their tenant only."""

from uuid import UUID

import pytest

from chamberlain.app.directory import only_here
from chamberlain.core.ids import TenantId
from chamberlain.directory.routed import Route
from chamberlain.embedded.directory.errors import Unreachable
from chamberlain.embedded.directory.graph.server import Access
from tests.directory.test_routed import FixedRoutes

HERE, ELSEWHERE = (TenantId(UUID(int=number)) for number in (1, 2))


async def authenticate(header: str | None) -> Access:
    return Access(ELSEWHERE if header == "elsewhere" else HERE, frozenset())


async def test_the_own_directory_serves_no_tenant_with_another_one() -> None:
    own = only_here(authenticate, FixedRoutes({ELSEWHERE: Route(None)}))

    assert (await own("here")).tenant_id == HERE
    # The first verification failed, so that the call was routed here.
    with pytest.raises(Unreachable):
        await own("elsewhere")
