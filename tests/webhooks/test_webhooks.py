# SPDX-License-Identifier: Apache-2.0
"""Operations on webhooks over HTTP."""

from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.http.http_fixture import HttpFixture
from tests.template_admin.fake_templates import ROOM, SECRET, TEAM
from tests.webhooks.fake_webhooks import ATTEMPT

ADMINISTRATOR = {"authorization": "Bearer administrator"}
HOOK = {"webhook": {"url": "https://hooks.estate.example/chamberlain"}}
ROOMS, TEAMS = "/admin/mail/v1/templates/", "/admin/collab/v1/templates/"
BODIES: dict[str, dict[str, Any]] = {
    f"{ROOMS}{ROOM}/": {"kind": "room", "name": "Room"},
    f"{TEAMS}{TEAM}/": {"kind": "team", "name": "Team"},
}
ONES = list(BODIES)


@pytest.fixture(params=ONES)
async def template_path(api: httpx2.AsyncClient, request: pytest.FixtureRequest) -> str:
    """The path of a template with a webhook, in each area."""
    path = str(request.param)
    list_ = f"{path.rsplit('/', 2)[0]}/"
    answer = await api.post(list_, json=BODIES[path] | HOOK, headers=ADMINISTRATOR)
    assert answer.status_code == 201, answer.text
    return path


async def test_it_works(api: httpx2.AsyncClient, template_path: str) -> None:
    answer = await api.post(f"{template_path}webhook/rotate/", headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == {
        "templateId": template_path.split("/")[-2],
        "hasSecret": True,
        "previousSecretUntil": "2026-11-21T09:30:00.000Z",
        "secret": SECRET,
    }


async def test_a_replay_is_reported_and_shows_no_secret(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, template_path: str
) -> None:
    http_fixture.webhooks.replayed = True

    answer = await api.post(f"{template_path}webhook/rotate/", headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert answer.headers["idempotency-replayed"] == "true"
    assert "secret" not in answer.json()
    assert [each.idempotency.key for each in http_fixture.webhooks.acts if each.idempotency] == ["k"]


async def test_it_takes_a_comment_and_nothing_else(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, template_path: str
) -> None:
    said = await api.post(f"{template_path}webhook/rotate/", json={"comment": "Yearly"}, headers=ADMINISTRATOR)
    sent = await api.post(f"{template_path}webhook/rotate/", json={"secret": SECRET}, headers=ADMINISTRATOR)

    assert said.status_code == 200
    assert [each.comment for each in http_fixture.webhooks.acts] == ["Yearly"]
    assert [fault["code"] for fault in sent.json()["errors"]] == ["unknownProperty"]


@pytest.mark.parametrize("verb", ["rotate", "test"])
@pytest.mark.parametrize("path", ONES)
async def test_it_rejects_a_template_without_a_webhook(api: httpx2.AsyncClient, path: str, verb: str) -> None:
    await api.post(f"{path.rsplit('/', 2)[0]}/", json=BODIES[path], headers=ADMINISTRATOR)

    answer = await api.post(f"{path}webhook/{verb}/", headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


@pytest.mark.parametrize("verb", ["rotate", "test"])
@pytest.mark.parametrize("path", ONES)
@pytest.mark.parametrize("who", ["Bearer ada", "Bearer mail", "Bearer automation", "Bearer mail manager"])
async def test_it_rejects_callers_without_the_permission(
    api: httpx2.AsyncClient, path: str, verb: str, who: str
) -> None:
    answer = await api.post(f"{path}webhook/{verb}/", headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")


@pytest.mark.parametrize(
    ("path", "may", "may_not"),
    [
        (ONES[0], "Bearer mail automation", "Bearer configuration"),
        (ONES[1], "Bearer configuration", "Bearer mail automation"),
    ],
)
async def test_each_area_has_permissions_of_its_own(api: httpx2.AsyncClient, path: str, may: str, may_not: str) -> None:
    for verb in ("rotate", "test"):
        allowed = await api.post(f"{path}webhook/{verb}/", headers={"authorization": may})
        refused = await api.post(f"{path}webhook/{verb}/", headers={"authorization": may_not})
        assert (allowed.status_code, refused.status_code) == (404, 403)


async def test_a_test_call_is_answered_with_what_came_back(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, template_path: str
) -> None:
    answer = await api.post(f"{template_path}webhook/test/", headers=ADMINISTRATOR | {"idempotency-key": "k"})

    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == {
        "number": 1,
        "at": "2026-11-20T09:30:01.000Z",
        "status": 204,
        "durationMs": 35,
        "error": None,
        "answer": "",
    }
    assert [each.idempotency.key for each in http_fixture.webhooks.acts if each.idempotency] == ["k"]


async def test_a_call_that_fails_is_no_failure_of_ours(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, template_path: str
) -> None:
    failed = replace(ATTEMPT, status=None, error="There was no answer.", answer=None)
    http_fixture.webhooks.attempt = failed

    answer = await api.post(f"{template_path}webhook/test/", headers=ADMINISTRATOR)

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["error"]) == (None, "There was no answer.")
