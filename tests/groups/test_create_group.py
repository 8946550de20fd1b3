# SPDX-License-Identifier: Apache-2.0
import json

import httpx2
import pytest

from chamberlain.core.errors import Conflict, Fault, Forbidden, KeyReused, NotPossible, Unavailable
from chamberlain.directory.groups import MemberShipType
from tests.http.http_fixture import ADA, BASE, ESTATE, REQUEST, TEMPLATE, USER, HttpFixture

PATH = "/collab/v1/groups/"
BODY = {"displayName": "Hooked", "templateId": TEMPLATE}


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(PATH, json=BODY)

    assert answer.status_code == 202
    assert answer.text == f'{{"requestId":"{REQUEST}","tenantId":"{ESTATE}","approvalRequired":false}}'
    assert answer.headers["operation-location"] == f"{BASE}/requests/v1/{REQUEST}/"
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["content-type"] == "application/json"
    assert "idempotency-replayed" not in answer.headers
    [(caller, order, submission)] = http_fixture.orders
    assert caller == USER
    assert (order.display_name, str(order.template_id)) == ("Hooked", TEMPLATE)
    assert json.loads(submission.body) == BODY
    assert submission.idempotency is None
    assert submission.trace_id == answer.headers["request-id"]
    assert submission.client_address == "127.0.0.1"


async def test_it_takes_every_property(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    body = BODY | {
        "description": "Line one\n\tline two",
        "memberShipType": 2.0,
        "owners": [str(ADA).upper()],
        "members": [str(ADA), str(ADA)],
        "metadata": {"el-text-1": "x", "agreed": True},
        "labelId": "any label",
    }

    answer = await api.post(PATH, json=body)

    assert answer.status_code == 202
    [(_, order, _)] = http_fixture.orders
    assert order.description == "Line one\n\tline two"
    assert order.member_ship_type is MemberShipType.DYNAMIC
    assert order.owners == (ADA,)
    assert order.members == (ADA, ADA)
    assert order.metadata == {"el-text-1": "x", "agreed": True}
    assert order.label_id == "any label"


async def test_it_takes_null_as_not_sent(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    nothing = dict.fromkeys(("description", "memberShipType", "owners", "members", "metadata", "labelId"))

    answer = await api.post(PATH, json=BODY | nothing)

    assert answer.status_code == 202
    [(_, order, _)] = http_fixture.orders
    assert (order.description, order.member_ship_type, order.metadata, order.label_id) == (None, None, None, None)
    assert (order.owners, order.members) == ((), ())


async def test_it_needs_no_slash_at_the_end(api: httpx2.AsyncClient) -> None:
    assert (await api.post(PATH.rstrip("/"), json=BODY)).status_code == 202


async def test_it_says_when_an_answer_is_replayed(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.replayed = True

    answer = await api.post(PATH, json=BODY, headers={"idempotency-key": "k"})

    assert answer.status_code == 202
    assert answer.headers["idempotency-replayed"] == "true"


async def digest(api: httpx2.AsyncClient, http_fixture: HttpFixture, body: str, path: str = PATH) -> bytes:
    headers = {"idempotency-key": "k", "content-type": "application/json"}
    answer = await api.post(path, content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    idempotency = http_fixture.orders[-1][2].idempotency
    assert idempotency is not None
    assert idempotency.key == "k"
    return idempotency.digest


async def test_it_knows_a_body_by_its_value(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    one = f'{{"displayName": "H\\u00e9", "templateId": "{TEMPLATE}", "memberShipType": 1, '
    one += '"metadata": {"a": "1", "b": true}}'
    same = f'{{"metadata":{{"b":true,"a":"1"}},"memberShipType":1.0,"templateId":"{TEMPLATE}","displayName":"Hé"}}'
    other = f'{{"metadata":{{"b":true,"a":"2"}},"memberShipType":1.0,"templateId":"{TEMPLATE}","displayName":"Hé"}}'

    first = await digest(api, http_fixture, one)

    assert await digest(api, http_fixture, same) == first
    assert await digest(api, http_fixture, same, PATH.rstrip("/")) == first
    assert await digest(api, http_fixture, other) != first


@pytest.mark.parametrize("key", ["", "two words", "é", "k" * 256, "tab\t"])
async def test_it_rejects_an_idempotency_key_that_is_none(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, key: str
) -> None:
    answer = await api.post(PATH, json=BODY, headers=[(b"idempotency-key", key.encode())])

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert not http_fixture.orders


async def test_it_rejects_two_idempotency_keys(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    keys = [(b"idempotency-key", b"one"), (b"idempotency-key", b"two")]

    answer = await api.post(PATH, json=BODY, headers=keys)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert not http_fixture.orders


async def test_a_dry_run_is_reported_of_a_key_that_is_none_too(api: httpx2.AsyncClient) -> None:
    answer = await api.post(f"{PATH}?dryRun=true", json=BODY, headers={"idempotency-key": "two words"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")


async def test_it_takes_the_longest_idempotency_key(api: httpx2.AsyncClient) -> None:
    assert (await api.post(PATH, json=BODY, headers={"idempotency-key": "k" * 255})).status_code == 202


async def test_it_rejects_a_misspelt_parameter(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(f"{PATH}?dryrun=true", json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (400, "unknownParameter")
    assert "dryrun" in answer.json()["detail"]
    assert not http_fixture.orders


async def test_it_tells_all_faults_of_form_together(api: httpx2.AsyncClient) -> None:
    body = {"displayName": " ", "templateId": "x", "memberShiptype": 1}

    answer = await api.post(f"{PATH}?dry=1", json=body, headers={"idempotency-key": "two words"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidBody")
    assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [
        ("", "unknownParameter"),
        ("", "invalidParameter"),
        ("/displayName", "missingProperty"),
        ("/templateId", "malformedId"),
        ("/memberShiptype", "unknownProperty"),
    ]
    assert "memberShipType" in answer.json()["errors"][-1]["detail"]


async def test_a_body_of_unknown_members_lists_a_hundred_faults(api: httpx2.AsyncClient) -> None:
    body = BODY | {f"member{number}": number for number in range(10_000)}

    answer = (await api.post(f"{PATH}?dry=1", json=body)).json()

    assert answer["code"] == "invalidBody"
    assert answer["errorsTruncated"] is True
    assert [fault["code"] for fault in answer["errors"]] == ["unknownParameter"] + 99 * ["unknownProperty"]


async def test_a_query_of_very_many_parameters_is_not_parsed(api: httpx2.AsyncClient) -> None:
    few, many = [await api.get("/health/live?" + "a&" * number) for number in (99, 30_000)]

    assert (few.status_code, few.json()["code"]) == (400, "unknownParameter")
    assert (many.status_code, many.json()["code"]) == (400, "invalidParameter")
    assert "errors" not in many.json()


async def test_it_rejects_applications(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(PATH, json=BODY, headers={"authorization": "Bearer automation"})

    assert (answer.status_code, answer.json()["code"]) == (403, "applicationNotSupported")
    assert not http_fixture.orders


async def test_it_gives_the_reasons_of_the_use_case(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.refusal = NotPossible([Fault("/owners/0", "userUnknown", "There is no such user.")])

    answer = await api.post(PATH, json=BODY)

    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"pointer": "/owners/0", "code": "userUnknown", "detail": "There is no such user."}
    ]


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (Forbidden("teamLicenseRequired", "A team requires a license."), 403),
        (Conflict("idempotencyKeyInProgress", "Wait."), 409),
        (KeyReused(), 422),
        (Unavailable("overloaded", "Too much."), 503),
    ],
)
async def test_it_gives_the_refusals_of_the_use_case(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, refusal: Exception, status: int
) -> None:
    http_fixture.refusal = refusal

    assert (await api.post(PATH, json=BODY)).status_code == status
