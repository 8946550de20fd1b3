"""The API over a small house (house.py), and a client at its door."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.http.house import BASE, House


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
async def api(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the API of that house, signed in as Ada."""
    transport = httpx2.ASGITransport(app=house.app(), raise_app_exceptions=False)
    headers = {"authorization": "Bearer ada"}
    async with httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
        yield client
