# SPDX-License-Identifier: Apache-2.0
"""Name approvers of a blocked request over HTTP. The use case has tests of the effects."""

import httpx2
import pytest

from chamberlain.core.errors import Conflict, Fault, Forbidden, NotPossible, Refusal
from chamberlain.core.ids import UserId
from chamberlain.requests.rules import Naming
from tests.http.http_fixture import ADA, DARA, REQUEST, HttpFixture, record

PATH = f"/requests/v1/{REQUEST}/approvers/"
BODY = {"level": 1, "userIds": [str(DARA)]}
ADMINISTRATOR = {"authorization": "Bearer administrator"}


@pytest.fixture(autouse=True)
def pending_request(http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = record()


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    sent = {"level": 2, "userIds": [str(DARA).upper(), str(ADA), str(DARA)]}

    answer = await api.post(PATH, json=sent, headers=ADMINISTRATOR | {"idempotency-key": "k1"})

    assert (answer.status_code, answer.json()["requestId"]) == (200, str(REQUEST))
    assert answer.headers["cache-control"] == "no-store"
    assert http_fixture.namings == [Naming(2, (DARA, UserId(ADA)))]
    ((_, act),) = http_fixture.acts
    assert (act.comment, act.idempotency and act.idempotency.key) == (None, "k1")


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"userIds": [str(DARA)]}, "/level", "missingProperty"),
        ({"level": 1}, "/userIds", "missingProperty"),
        ({"level": 0, "userIds": [str(DARA)]}, "/level", "outOfBounds"),
        ({"level": 4, "userIds": [str(DARA)]}, "/level", "outOfBounds"),
        ({"level": "1", "userIds": [str(DARA)]}, "/level", "wrongType"),
        ({"level": 1, "userIds": []}, "/userIds", "outOfBounds"),
        ({"level": 1, "userIds": [str(DARA)] * 101}, "/userIds", "outOfBounds"),
        ({"level": 1, "userIds": ["dara"]}, "/userIds/0", "malformedId"),
        ({**BODY, "comment": "x"}, "/comment", "unknownProperty"),
    ],
)
async def test_it_rejects_other_bodies(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, body: dict[str, object], *, pointer: str, code: str
) -> None:
    answer = await api.post(PATH, json=body, headers=ADMINISTRATOR)

    assert answer.status_code == 400
    assert [(each["pointer"], each["code"]) for each in answer.json()["errors"]] == [(pointer, code)]
    assert http_fixture.namings == []


async def test_it_rejects_no_body(api: httpx2.AsyncClient) -> None:
    answer = await api.post(PATH, headers=ADMINISTRATOR)

    assert answer.status_code in {400, 415}


@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (Forbidden("selfApproval", "No."), 403, "selfApproval"),
        (Conflict("stateDoesNotAllow", "No."), 409, "stateDoesNotAllow"),
        (NotPossible([Fault("/userIds/0", "userUnknown", "No.")]), 422, "notPossible"),
    ],
)
async def test_it_tells_refusals(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, *, refusal: Refusal, status: int, code: str
) -> None:
    http_fixture.refusal = refusal

    answer = await api.post(PATH, json=BODY, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("who", "code"),
    [("ada", "insufficientScope"), ("mail", "insufficientScope"), ("configuration", "applicationNotSupported")],
)
async def test_it_rejects_other_permissions(api: httpx2.AsyncClient, who: str, code: str) -> None:
    answer = await api.post(PATH, json=BODY, headers={"authorization": f"Bearer {who}"})

    assert (answer.status_code, answer.json()["code"]) == (403, code)
