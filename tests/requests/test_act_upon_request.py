# SPDX-License-Identifier: Apache-2.0
"""Approve, reject, cancel and retry over HTTP: bodies, keys and answers. The use cases have tests of their effects."""

from datetime import timedelta

import httpx2
import pytest

from chamberlain.core.errors import Conflict, KeyReused, NotFound, Refusal
from chamberlain.core.idempotency import Act
from tests.http.http_fixture import REQUEST, USER, HttpFixture, record

PATHS = [f"/requests/v1/{REQUEST}/{verb}/" for verb in ("approve", "reject", "cancel", "retry")]
JSON = {"content-type": "application/json"}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, http_fixture: HttpFixture) -> str:
    http_fixture.records[REQUEST] = record()
    return str(request.param)


def acts(http_fixture: HttpFixture) -> list[Act]:
    return [act for caller, act in http_fixture.acts if caller == USER]


async def test_it_works_without_a_body(api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str) -> None:
    answer = await api.post(path)

    assert answer.status_code == 200
    assert answer.json() == (await api.get(f"/requests/v1/{REQUEST}/")).json()
    assert answer.headers["cache-control"] == "no-store"
    assert "idempotency-replayed" not in answer.headers
    (act,) = acts(http_fixture)
    assert (act.comment, act.idempotency) == (None, None)
    assert act.trace_id == answer.headers["request-id"]
    assert act.client_address == "127.0.0.1"


@pytest.mark.parametrize(
    ("body", "comment"),
    [
        ({}, None),
        ({"comment": "Mended"}, "Mended"),
        ({"comment": None}, None),
        ({"comment": "two\nlines"}, "two\nlines"),
    ],
)
async def test_it_hands_on_a_comment(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str, body: dict[str, str], comment: str | None
) -> None:
    answer = await api.post(path, json=body)

    assert answer.status_code == 200
    assert [act.comment for act in acts(http_fixture)] == [comment]


async def test_a_key_belongs_to_what_is_asked(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = record()
    key = {"idempotency-key": "k1"}

    for body in (b"", b"{}", b' {"comment": null}'):
        await api.post(PATHS[0], content=body, headers=key | JSON)
    await api.post(PATHS[1], headers=key)
    await api.post(PATHS[0], json={"comment": "x"}, headers=key)

    keys = [act.idempotency for act in acts(http_fixture)]
    assert {each.key for each in keys if each} == {"k1"}
    digests = [each.digest for each in keys if each]
    # No body is the same as an empty object; another verb or comment is something else.
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4


async def test_it_says_when_an_answer_is_given_again(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str
) -> None:
    http_fixture.replayed = True

    answer = await api.post(path, headers={"idempotency-key": "k1"})

    assert (answer.status_code, answer.headers["idempotency-replayed"]) == (200, "true")


@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (NotFound("No."), 404, "notFound"),
        (Conflict("stateDoesNotAllow", "No."), 409, "stateDoesNotAllow"),
        (Conflict.in_progress(), 409, "idempotencyKeyInProgress"),
        (KeyReused(), 422, "idempotencyKeyReused"),
    ],
)
async def test_it_tells_refusals(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str, *, refusal: Refusal, status: int, code: str
) -> None:
    http_fixture.refusal = refusal

    answer = await api.post(path)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers.get("retry-after") == ("1" if code == "idempotencyKeyInProgress" else None)


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"x", 400, "notJson"),
        (b" ", 400, "notJson"),
        (b"[]", 400, "notAnObject"),
        (b'{"coment": "x"}', 400, "invalidBody"),
        (b'{"comment": 1}', 400, "invalidBody"),
        (b'{"comment": "%s"}' % (b"x" * 1025), 400, "invalidBody"),
    ],
)
async def test_it_rejects_other_bodies(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str, *, content: bytes, status: int, code: str
) -> None:
    answer = await api.post(path, content=content, headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert acts(http_fixture) == []


async def test_it_rejects_a_body_of_no_type(api: httpx2.AsyncClient, path: str) -> None:
    answer = await api.post(path, content=b"{}")

    assert (answer.status_code, answer.json()["code"]) == (415, "notJsonContent")


async def test_it_rejects_a_key_that_cannot_be_one(api: httpx2.AsyncClient, path: str) -> None:
    answer = await api.post(path, headers={"idempotency-key": "two words"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")


async def test_it_takes_no_other_method(api: httpx2.AsyncClient, path: str) -> None:
    answer = await api.get(path)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST, OPTIONS")


def test_a_second_is_what_one_waits_for_the_first_call() -> None:
    assert Conflict.in_progress().after == timedelta(seconds=1)
