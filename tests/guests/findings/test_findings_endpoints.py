# SPDX-License-Identifier: Apache-2.0
"""Findings over HTTP: accepted with a reason, and until when; reviews confirmed."""

from dataclasses import replace

import httpx2
import pytest

from chamberlain.guests.models import FindingKind
from tests.http.http_fixture import HttpFixture

ID = "f1d00000-0000-4000-8000-000000000001"
PATH = f"/admin/v1/findings/{ID}/accept/"
IGNORE = f"/admin/v1/findings/{ID}/ignore/"
CONFIRM = f"/admin/v1/findings/{ID}/confirm/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}


async def test_it_works(api: httpx2.AsyncClient) -> None:
    body = {"reason": "The project ends in spring.", "until": "2027-04-01T00:00:00+02:00"}

    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert (answer.json()["id"], answer.json()["state"]) == (ID, "accepted")
    assert answer.json()["acceptance"] == {
        "by": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
        "reason": "The project ends in spring.",
        "acceptedAt": "2026-11-20T09:30:00.000Z",
        "until": "2027-03-31T22:00:00.000Z",
    }


async def test_a_drift_is_ignored(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.findings.records = [replace(http_fixture.findings.records[0], kind=FindingKind.DRIFT)]

    answer = await api.post(IGNORE, json={"comment": "Fine."}, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["state"]) == (200, "ignored")
    assert (answer.json()["acceptance"]["reason"], answer.json()["acceptance"]["until"]) == ("Fine.", None)


async def test_it_rejects_to_ignore_a_guest(api: httpx2.AsyncClient) -> None:
    answer = await api.post(IGNORE, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (409, "stateDoesNotAllow")


async def test_one_that_nobody_has_accepted_says_so(api: httpx2.AsyncClient) -> None:
    answer = await api.get("/admin/v1/findings/", headers=ADMINISTRATOR)

    assert [each["acceptance"] for each in answer.json()["items"]] == [None]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "/reason", "missingProperty"),
        ({"reason": " "}, "/reason", "missingProperty"),
        ({"reason": None}, "/reason", "missingProperty"),
        ({"reason": "x" * 1025}, "/reason", "outOfBounds"),
        ({"reason": "x", "until": "2027-02-30T00:00:00Z"}, "/until", "invalidText"),
        ({"reason": "x", "until": "2027-02-01T00:00:00"}, "/until", "invalidText"),
        ({"reason": "x", "till": "2027-02-01T00:00:00Z"}, "/till", "unknownProperty"),
    ],
)
async def test_it_rejects_what_it_cannot_read(
    api: httpx2.AsyncClient, body: dict[str, object], pointer: str, code: str
) -> None:
    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)

    assert answer.status_code == 400
    assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [(pointer, code)]


async def test_it_rejects_a_finding_that_there_is_not(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.findings.records.clear()

    answer = await api.post(PATH, json={"reason": "x"}, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer automation"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    answer = await api.post(PATH, json={"reason": "x"}, headers={"authorization": who})

    assert answer.json()["code"] == "insufficientScope"


async def test_a_review_is_confirmed(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.findings.records = [replace(http_fixture.findings.records[0], kind=FindingKind.REVIEW_DUE)]

    answers = [
        await api.post(CONFIRM, json={"comment": "Stays"}),
        await api.post(CONFIRM, headers=ADMINISTRATOR),
    ]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.json()["state"] for answer in answers] == ["gone", "gone"]
    assert [act.comment for act in http_fixture.findings.confirmed] == ["Stays", None]


async def test_it_rejects_to_confirm_what_is_no_review(api: httpx2.AsyncClient) -> None:
    answer = await api.post(CONFIRM)

    assert (answer.status_code, answer.json()["code"]) == (409, "stateDoesNotAllow")


@pytest.mark.parametrize("who", ["Bearer mail", "Bearer automation", "Bearer mail manager"])
async def test_it_rejects_to_confirm_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    answer = await api.post(CONFIRM, headers={"authorization": who})

    assert answer.json()["code"] == "insufficientScope"
