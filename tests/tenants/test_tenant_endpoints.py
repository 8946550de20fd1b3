# SPDX-License-Identifier: Apache-2.0
"""The tenant over HTTP: what its administrators say, and what is only shown."""

import httpx2
import pytest

from chamberlain.core.errors import Fault, Forbidden, NotPossible
from tests.http.http_fixture import ADA, HttpFixture

PATH = "/admin/v1/tenant/"
STAFF = "94000000-0000-4000-8000-000000000001"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
BODY: dict[str, object] = {"name": "The Estate", "administrators": {"users": [str(ADA)], "groups": [STAFF]}}
WHOLE: dict[str, object] = BODY | {
    "defaultDomain": "rooms.estate.example",
    "repair": {"drift": True, "properties": {"group.displayName": "ignored", "mailbox.city": "observed"}},
    "applicability": "warn",
}
SHOWN_ONLY: dict[str, object] = {
    "id": "e57a7e00-0000-4000-8000-000000000001",
    "domains": ["estate.example", "rooms.estate.example"],
    "extensionPrefix": "chamberlain",
    "limits": {"openRequests": 100, "runningJobs": None, "requestsPerMinute": None},
    "issuers": [{"issuer": "https://id.example/v2.0", "tid": None, "audiences": {"api": "https://api.x"}}],
    "createdAt": "2026-11-20T09:00:00.000Z",
    "updatedAt": "2026-11-20T09:00:00.000Z",
}


async def test_it_works(api: httpx2.AsyncClient) -> None:
    answer = await api.get(PATH, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.headers["etag"], answer.headers["cache-control"]) == (200, '"1"', "no-store")
    assert answer.json() == {
        **SHOWN_ONLY,
        "name": "Example Estate",
        "defaultDomain": "estate.example",
        "administrators": {"users": [str(ADA)], "groups": []},
        "repair": {"drift": False, "properties": {}},
        "applicability": "refuse",
    }


async def test_what_was_read_can_be_changed_and_put_back(api: httpx2.AsyncClient) -> None:
    first = await api.get(PATH, headers=ADMINISTRATOR)

    answer = await api.put(
        PATH, json={**first.json(), **WHOLE}, headers=ADMINISTRATOR | {"if-match": first.headers["etag"]}
    )

    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
    assert answer.json() == {**SHOWN_ONLY, **WHOLE, "domains": ["rooms.estate.example", "estate.example"]}


async def test_what_is_the_operators_stays_as_it_is(api: httpx2.AsyncClient) -> None:
    foreign: dict[str, object] = {
        "domains": ["other.example"],
        "issuers": [],
        "limits": {},
        "extensionPrefix": "x",
        "id": "x",
    }

    answer = await api.put(PATH, json=BODY | foreign, headers=ADMINISTRATOR)

    assert SHOWN_ONLY.items() <= answer.json().items()


async def test_a_put_replaces_the_whole(api: httpx2.AsyncClient) -> None:
    await api.put(PATH, json=WHOLE, headers=ADMINISTRATOR)

    answer = await api.put(PATH, json=BODY, headers=ADMINISTRATOR)

    assert (answer.json()["repair"], answer.json()["applicability"]) == ({"drift": False, "properties": {}}, "refuse")
    # Some domain is always the default one: it stays.
    assert answer.json()["defaultDomain"] == "rooms.estate.example"


async def test_it_rejects_a_version_that_is_not_the_one(api: httpx2.AsyncClient) -> None:
    answer = await api.put(PATH, json=BODY, headers=ADMINISTRATOR | {"if-match": '"7"'})

    assert (answer.status_code, answer.json()["code"]) == (412, "etagStale")


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"name": None}, "/name", "missingProperty"),
        ({"administrators": None}, "/administrators", "missingProperty"),
        ({"administrators": {"users": ["ada"]}}, "/administrators/users/0", "malformedId"),
        ({"administrators": {"members": []}}, "/administrators/members", "unknownProperty"),
        ({"defaultDomain": "nowhere"}, "/defaultDomain", "invalidText"),
        ({"repair": {"drift": 1}}, "/repair/drift", "wrongType"),
        ({"repair": {"properties": {"group.name": "ignored"}}}, "/repair/properties/group.name", "unknownValue"),
        ({"repair": {"properties": {"group.mail": "kept"}}}, "/repair/properties/group.mail", "unknownValue"),
        # No step can repair it.
        ({"repair": {"properties": {"group.exists": "managed"}}}, "/repair/properties/group.exists", "unknownValue"),
        ({"applicability": "ignore"}, "/applicability", "unknownValue"),
        ({"suspended": False}, "/suspended", "unknownProperty"),
    ],
)
async def test_it_rejects_faults_of_form(
    api: httpx2.AsyncClient, change: dict[str, object], pointer: str, code: str
) -> None:
    answer = await api.put(PATH, json=BODY | change, headers=ADMINISTRATOR)

    assert answer.status_code == 400
    assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [(pointer, code)]


async def test_it_rejects_what_is_not_possible(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.tenants.refusal = NotPossible([Fault("/administrators", "noAdministrator", "Name a user.")])

    answer = await api.put(PATH, json=BODY, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "noAdministrator")


async def test_it_rejects_those_who_are_no_administrators(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.tenants.refusal = Forbidden("notAdministrator", "Only administrators may do this.")

    answers = [await api.get(PATH, headers=ADMINISTRATOR), await api.put(PATH, json=BODY, headers=ADMINISTRATOR)]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "notAdministrator")] * 2


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("Bearer ada", 403),
        ("Bearer mail", 403),
        ("Bearer automation", 403),
        ("Bearer configuration", 200),
        ("Bearer mail automation", 200),
    ],
)
async def test_it_is_for_administrators_and_for_applications_that_configure(
    api: httpx2.AsyncClient, who: str, status: int
) -> None:
    headers = {"authorization": who}

    answers = [await api.get(PATH, headers=headers), await api.put(PATH, json=BODY, headers=headers)]

    assert [answer.status_code for answer in answers] == [status] * 2
