# SPDX-License-Identifier: Apache-2.0
"""The endpoints of substitutes."""

import httpx2
import pytest

from tests.http.http_fixture import DARA, HttpFixture

PATH = "/me/v1/substitute/"


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    named = await api.put(PATH, json={"userId": str(DARA), "days": 60})
    read = await api.get(PATH)
    withdrawn = await api.delete(PATH)

    until = "2027-01-19T09:30:00.000Z"
    assert (named.status_code, read.status_code, withdrawn.status_code) == (200, 200, 204)
    assert named.json() == read.json()
    assert read.json() == {
        "substitute": {"userId": str(DARA), "displayName": "Ben Okafor", "until": until},
        "decidesFor": [],
    }
    assert read.headers["cache-control"] == "no-store"
    assert http_fixture.substitutes.named == {}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"userId": str(DARA)}, "/days"),
        ({"userId": str(DARA), "days": 0}, "/days"),
        ({"userId": str(DARA), "days": 61}, "/days"),
        ({"userId": str(DARA), "days": 1.5}, "/days"),
        ({"days": 1}, "/userId"),
        ({"userId": "ben", "days": 1}, "/userId"),
        ({"userId": str(DARA), "days": 1, "until": "2026-12-01"}, "/until"),
    ],
)
async def test_it_refuses_a_body(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, body: dict[str, object], pointer: str
) -> None:
    answer = await api.put(PATH, json=body)

    assert answer.status_code == 400
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert http_fixture.substitutes.named == {}
