# SPDX-License-Identifier: Apache-2.0
import json

import httpx2
import pytest

from chamberlain.core.errors import Fault, Forbidden, NotPossible, Refusal
from tests.http.http_fixture import ADA, DARA, TEMPLATE, USER, HttpFixture

PATH = "/collab/v1/groups/?dryRun=true"
BODY = {"displayName": "Hooked", "templateId": TEMPLATE}


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(PATH, json=BODY, headers={"Idempotency-Key": "one", "Prefer": "wait=5"})

    assert answer.status_code == 200
    assert answer.json() == {
        "dryRun": True,
        "kind": "team",
        "template": {"id": TEMPLATE, "name": "Project team"},
        "templateSource": "request",
        "displayName": "Hooked",
        "mailNickname": "hooked",
        "address": "hooked@estate.example",
        "memberShipType": 1,
        "owners": [{"id": str(ADA), "displayName": "Ada Achterberg"}],
        "memberCount": 3,
        "approvalRequired": True,
        "approvals": [{"level": 1, "mode": "all", "approvers": [{"id": str(DARA), "displayName": "Dara Lindqvist"}]}],
        "steps": [
            {"name": "createGroup", "title": "Create the group"},
            {"name": "createTeam", "title": "Make the group a team"},
        ],
        "conflicts": [{"code": "addressTaken", "pointer": "/displayName", "detail": "Choose another."}],
        "warnings": ["The number in the name is drawn when the request is sent. Zeros replace it here."],
        "warningReasons": [
            {
                "code": "nameNumberDrawn",
                "detail": "The number in the name is drawn when the request is sent. Zeros replace it here.",
                "values": {},
            }
        ],
    }
    assert not {"operation-location", "retry-after", "preference-applied"} & set(answer.headers)
    [(caller, order)] = http_fixture.previewed
    assert (caller, order.display_name) == (USER, "Hooked")
    assert http_fixture.orders == []


async def test_false_is_no_dry_run(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post("/collab/v1/groups/?dryRun=false", json=BODY)

    assert answer.status_code == 202
    assert (len(http_fixture.orders), http_fixture.previewed) == (1, [])


@pytest.mark.parametrize("value", ["", "True", "1", "yes", "true&dryRun=true"])
async def test_it_rejects_what_is_neither_true_nor_false(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, value: str
) -> None:
    answer = await api.post(f"/collab/v1/groups/?dryRun={value}", json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert "dryRun" in answer.json()["detail"]
    assert (http_fixture.orders, http_fixture.previewed) == ([], [])


@pytest.mark.parametrize("query", ["dryrun=true", "dry_run=true", "dryRun=true&then=what"])
async def test_it_rejects_what_is_misspelt(api: httpx2.AsyncClient, http_fixture: HttpFixture, query: str) -> None:
    answer = await api.post(f"/collab/v1/groups/?{query}", json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (400, "unknownParameter")
    assert (http_fixture.orders, http_fixture.previewed) == ([], [])


async def test_it_rejects_a_body_and_a_key_without_form_together(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    answer = await api.post(PATH, json={"displayName": 5}, headers={"Idempotency-Key": "two words"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidBody")
    assert {fault["code"] for fault in answer.json()["errors"]} == {
        "invalidParameter",
        "wrongType",
        "missingProperty",
    }
    assert http_fixture.previewed == []


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (Forbidden("templateNotAllowed", "No."), 403),
        (NotPossible([Fault("/owners/0", "userUnknown", "Leave it out.")]), 422),
    ],
)
async def test_it_rejects_what_the_request_would_be_refused_for(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, refusal: Refusal, status: int
) -> None:
    http_fixture.refusal = refusal

    answer = await api.post(PATH, json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (status, refusal.code)
    assert json.loads(answer.content).get("errors") == (
        [{"pointer": "/owners/0", "code": "userUnknown", "detail": "Leave it out."}] if status == 422 else None
    )
