# SPDX-License-Identifier: Apache-2.0
"""The API over services in memory, and an HTTP client of it."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.http.http_fixture import BASE, HttpFixture


@pytest.fixture
def http_fixture() -> HttpFixture:
    return HttpFixture()


@pytest.fixture
async def api(http_fixture: HttpFixture) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client of the API, signed in as Ada."""
    transport = httpx2.ASGITransport(app=http_fixture.app(), raise_app_exceptions=False)
    headers = {"authorization": "Bearer ada"}
    async with httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
        yield client
