# SPDX-License-Identifier: Apache-2.0
"""Connections over HTTP: added, read, changed, checked and deleted, and their secret never shown."""

import httpx2
import pytest

from chamberlain.connections.models import Adapter, ConnectionOrder, Credential
from tests.connections.fake_connections import CONNECTION
from tests.http.http_fixture import BASE, HttpFixture

PATH = "/admin/v1/connections/"
ONE = f"{PATH}{CONNECTION}/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
ADDRESS = "postgresql://reader@directory.example/people"
SECRET = "never shown"


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    body = {"adapter": "embedded", "address": ADDRESS, "credential": SECRET}
    added = await api.post(PATH, json=body, headers=ADMINISTRATOR)
    read = await api.get(ONE, headers=ADMINISTRATOR)
    listed = await api.get(PATH, headers=ADMINISTRATOR)
    changed = await api.patch(
        ONE, json={"credentialFile": "password"}, headers={**ADMINISTRATOR, "if-match": read.headers["etag"]}
    )
    checked = await api.post(f"{ONE}check/", headers=ADMINISTRATOR)
    deleted = await api.delete(ONE, headers=ADMINISTRATOR)

    assert (added.status_code, added.headers["location"]) == (201, f"{BASE}{ONE}")
    assert added.json() == {
        "id": str(CONNECTION),
        "adapter": "embedded",
        "address": ADDRESS,
        "hasCredential": True,
        "credentialFile": None,
        "state": "new",
        "stateReason": None,
        "checkedAt": None,
        "abilities": [],
        "limits": {},
        "createdAt": "2026-11-20T09:30:00.000Z",
        "updatedAt": "2026-11-20T09:30:00.000Z",
    }
    assert listed.json() == {"items": [read.json()], "nextCursor": None}
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert (checked.json()["state"], checked.json()["limits"]) == ("ready", {"observeBatch": 25})
    assert deleted.status_code == 204
    assert http_fixture.connections.orders == [
        ConnectionOrder(Adapter.EMBEDDED, ADDRESS, Credential(SECRET)),
        ConnectionOrder(credential=Credential(file="password")),
    ]
    assert all(SECRET not in answer.text for answer in (added, read, listed, changed, checked))


async def test_force_is_a_parameter(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.connections.manages = True

    refused = await api.post(PATH, json={"adapter": "embedded"}, headers=ADMINISTRATOR)
    forced = await api.post(f"{PATH}?force=true", json={"adapter": "embedded"}, headers=ADMINISTRATOR)
    kept = await api.delete(ONE, headers=ADMINISTRATOR)
    deleted = await api.delete(f"{ONE}?force=true", headers=ADMINISTRATOR)

    assert (refused.status_code, refused.json()["code"]) == (409, "inUse")
    assert forced.status_code == 201
    assert (kept.status_code, deleted.status_code) == (409, 204)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"adapter": "other"}, "/adapter"),
        ({}, "/adapter"),
        ({"adapter": "embedded", "credential": "a", "credentialFile": "b"}, "/credentialFile"),
        ({"adapter": "embedded", "credentialFile": "../../etc/passwd"}, "/credentialFile"),
        ({"adapter": "embedded", "credentialFile": ".hidden"}, "/credentialFile"),
        ({"adapter": "embedded", "state": "ready"}, "/state"),
    ],
)
async def test_bodies_that_are_invalid(api: httpx2.AsyncClient, body: dict[str, object], pointer: str) -> None:
    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)

    assert answer.status_code == 400
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]
    assert "passwd" not in answer.text
