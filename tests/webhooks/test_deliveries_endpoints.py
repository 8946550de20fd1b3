# SPDX-License-Identifier: Apache-2.0
"""Deliveries over HTTP: listed, and sent again."""

from datetime import UTC, datetime

import httpx2
import pytest

from chamberlain.core.errors import Conflict, Forbidden
from chamberlain.core.ids import RequestId, TemplateId
from chamberlain.webhooks.models import DeliveryFilter, DeliverySpan, DeliveryState
from tests.http.http_fixture import REQUEST, TEMPLATE, HttpFixture
from tests.webhooks.fake_webhooks import DELIVERY, delivery_record

PATH = "/admin/v1/deliveries/"
ONE, SPAN = f"{PATH}{DELIVERY}/redeliver/", f"{PATH}redeliver/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
DAY = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z"}
SHOWN = {
    "id": str(DELIVERY),
    "eventId": "e7e00000-0000-4000-8000-000000000001",
    "type": "group.created",
    "requestId": str(REQUEST),
    "templateId": TEMPLATE,
    "url": "https://hooks.estate.example/chamberlain",
    "state": "failed",
    "nextAttemptAt": None,
    "attempts": [
        {
            "number": 1,
            "at": "2026-11-20T09:30:01.000Z",
            "status": 500,
            "durationMs": 210,
            "error": None,
            "answer": "oops",
        }
    ],
    "createdAt": "2026-11-20T09:30:01.000Z",
}


async def test_it_works(api: httpx2.AsyncClient) -> None:
    answer = await api.get(PATH, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == {"items": [SHOWN], "nextCursor": None}


async def test_it_comes_in_pages(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.webhooks.records = [delivery_record(1), delivery_record(2)]

    first = (await api.get(f"{PATH}?limit=1&state=failed", headers=ADMINISTRATOR)).json()
    second = await api.get(f"{PATH}?cursor={first['nextCursor']}&state=failed", headers=ADMINISTRATOR)
    other = await api.get(f"{PATH}?cursor={first['nextCursor']}&state=pending", headers=ADMINISTRATOR)

    assert len(first["items"]) == 1
    assert second.status_code == 200
    assert other.json()["code"] == "invalidCursor"


async def test_it_filters(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    await api.get(f"{PATH}?state=failed&templateId={TEMPLATE}&requestId={REQUEST}", headers=ADMINISTRATOR)
    await api.get(PATH, headers=ADMINISTRATOR)

    assert http_fixture.webhooks.filters == [
        DeliveryFilter(DeliveryState.FAILED, TemplateId(delivery_record().template_id), RequestId(REQUEST)),
        DeliveryFilter(),
    ]


@pytest.mark.parametrize("query", ["state=lost", "templateId=x", "requestId=x", "type=group.created", "limit=201"])
async def test_it_rejects_filters_that_there_are_not(api: httpx2.AsyncClient, query: str) -> None:
    assert (await api.get(f"{PATH}?{query}", headers=ADMINISTRATOR)).status_code == 400


async def test_one_is_sent_again(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(ONE, json={"comment": "It is back."}, headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert answer.status_code == 200
    assert answer.json() == {**SHOWN, "state": "pending", "nextAttemptAt": "2026-11-20T09:30:01.000Z"}
    ((comment, key),) = [(act.comment, act.idempotency and act.idempotency.key) for act in http_fixture.webhooks.acts]
    assert (comment, key) == ("It is back.", "k")


async def test_a_span_is_sent_again(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(SPAN, json=DAY, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()) == (202, {"count": 1})
    assert http_fixture.webhooks.spans == [
        DeliverySpan(datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC))
    ]


@pytest.mark.parametrize(("path", "body"), [(ONE, None), (SPAN, DAY)])
async def test_a_replay_is_reported(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str, body: object
) -> None:
    http_fixture.webhooks.replayed = True

    answer = await api.post(path, json=body, headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert answer.headers["idempotency-replayed"] == "true"


async def test_it_rejects_one_that_is_not_there(api: httpx2.AsyncClient) -> None:
    unknown = await api.post(f"{PATH}{REQUEST}/redeliver/", headers=ADMINISTRATOR)
    malformed = await api.post(f"{PATH}again/redeliver/", headers=ADMINISTRATOR)

    assert (unknown.status_code, malformed.json()["code"]) == (404, "malformedId")


async def test_it_rejects_a_span_without_bounds(api: httpx2.AsyncClient) -> None:
    answer = await api.post(SPAN, headers=ADMINISTRATOR, json={})

    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/from", "/to"]


async def test_it_says_when_a_webhook_is_not_to_be_called(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.webhooks.refusal = Conflict("stateDoesNotAllow", "No webhook.")

    for path, body in ((ONE, None), (SPAN, DAY)):
        answer = await api.post(path, json=body, headers=ADMINISTRATOR)
        assert (answer.status_code, answer.json()["code"]) == (409, "stateDoesNotAllow")


async def test_it_rejects_those_who_are_no_administrators(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.webhooks.refusal = Forbidden("notAdministrator", "Only administrators may do this.")

    answers = [
        await api.get(PATH, headers=ADMINISTRATOR),
        await api.post(ONE, headers=ADMINISTRATOR),
        await api.post(SPAN, json=DAY, headers=ADMINISTRATOR),
    ]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(403, "notAdministrator")] * 3


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer mail", "Bearer automation", "Bearer mail manager"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    headers = {"authorization": who}

    answers = [
        await api.get(PATH, headers=headers),
        await api.post(ONE, headers=headers),
        await api.post(SPAN, json=DAY, headers=headers),
    ]

    assert [each.json()["code"] for each in answers] == ["insufficientScope"] * 3


@pytest.mark.parametrize("who", ["Bearer configuration", "Bearer mail automation"])
async def test_applications_that_configure_may_do_it(api: httpx2.AsyncClient, who: str) -> None:
    headers = {"authorization": who}

    assert (await api.get(PATH, headers=headers)).status_code == 200
    assert (await api.post(ONE, headers=headers)).status_code == 200
    assert (await api.post(SPAN, json=DAY, headers=headers)).status_code == 202
