import json

import httpx2

from tests.api.house import BASE, ESTATE, REQUEST, TEMPLATE, USER, House

PATH = "/collab/v1/groups/"
BODY = {"displayName": "Hooked", "templateId": TEMPLATE}


async def test_it_works(api: httpx2.AsyncClient, house: House) -> None:
    answer = await api.post(PATH, json=BODY)

    assert answer.status_code == 202
    assert answer.json() == {"requestId": str(REQUEST), "tenantId": str(ESTATE), "approvalRequired": False}
    assert answer.headers["operation-location"] == f"{BASE}/requests/v1/{REQUEST}/"
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["content-type"] == "application/json"
    assert "idempotency-replayed" not in answer.headers
    [(caller, order, submission)] = house.orders
    assert caller == USER
    assert (order.display_name, str(order.template_id)) == ("Hooked", TEMPLATE)
    assert json.loads(submission.body) == BODY
    assert submission.idempotency is None
    assert submission.trace_id == answer.headers["request-id"]
