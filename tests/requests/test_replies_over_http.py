# SPDX-License-Identifier: Apache-2.0
"""The endpoint that takes replies to approval mails."""

from base64 import b64encode

import httpx2
import pytest

from chamberlain.requests.replies import LONGEST_MAIL
from tests.http.http_fixture import REQUEST, HttpFixture, record

PATH = "/requests/v1/replies/"
MAIL_SERVER = {"authorization": "Bearer mail server"}


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = record()

    answer = await api.post(PATH, json={"mail": b64encode(b"From: a@b.c").decode()}, headers=MAIL_SERVER)

    assert answer.status_code == 200
    assert answer.json() == {"requestId": str(REQUEST), "outcome": "approved", "state": record().state}
    assert http_fixture.replies == [b"From: a@b.c"]


async def test_it_takes_the_longest_mail(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = record()
    raw = bytes(LONGEST_MAIL)

    answer = await api.post(PATH, json={"mail": b64encode(raw).decode()}, headers=MAIL_SERVER)

    assert answer.status_code == 200
    assert http_fixture.replies == [raw]


@pytest.mark.parametrize(
    "text", ["", "A", "AAA", "=", "A===", "AA==AA==", "QUJD\n", "QU-_", b64encode(bytes(LONGEST_MAIL + 3)).decode()]
)
async def test_it_refuses_a_body(api: httpx2.AsyncClient, http_fixture: HttpFixture, text: str) -> None:
    answer = await api.post(PATH, json={"mail": text}, headers=MAIL_SERVER)

    assert answer.status_code == 400
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/mail"]
    assert http_fixture.replies == []


@pytest.mark.parametrize("caller", ["ada", "administrator", "automation", "mail", "mail manager"])
async def test_it_refuses_all_but_the_mail_server(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, caller: str
) -> None:
    body = {"mail": b64encode(b"From: a@b.c").decode()}

    answer = await api.post(PATH, json=body, headers={"authorization": f"Bearer {caller}"})

    assert answer.status_code == 403
    assert http_fixture.replies == []
