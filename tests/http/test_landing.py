# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import httpx2
import pytest

from chamberlain import __version__
from chamberlain.app.routes import create_app
from chamberlain.design import FAVICON
from chamberlain.http.request import Check
from checks.icon import SIZES, unpack
from tests.http.http_fixture import BASE, HttpFixture

# As Chromium sends it.
BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}
FULL = Check("writes", passed=False, detail="The disk is full.", reason_code="diskFull", required=False)
AWAY = Check("database", passed=False, detail="The server does not answer.", reason_code="noAnswer")


async def test_it_works_in_a_browser(api: httpx2.AsyncClient) -> None:
    answer = await api.get("/", headers=BROWSER)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for address in ("/console/", "/docs", "/openapi.json", "/health"):
        assert f'href="{address}"' in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert (answer.headers["vary"], answer.headers["cache-control"]) == ("accept", "no-store")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("base_url", "login"),
    [
        ("http://127.0.0.1:8365", "chamberlain login\n"),
        ("https://provision.example", "chamberlain login --server https://provision.example\n"),
    ],
)
async def test_its_command_signs_in_at_this_service(http_fixture: HttpFixture, base_url: str, login: str) -> None:
    http = http_fixture.http()
    app = create_app(replace(http, addresses=replace(http.addresses, base_url=base_url)), http_fixture.services())

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=BASE) as client:
        page = await client.get("/", headers=BROWSER)

    assert login in page.text


@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
async def test_other_clients_get_json(api: httpx2.AsyncClient, accept: str) -> None:
    answer = await api.get("/", headers={"accept": accept})

    assert answer.json() == {
        "name": "Chamberlain",
        "version": __version__,
        "status": "ok",
        "documentationUrl": f"{BASE}/docs",
        "openApiUrl": f"{BASE}/openapi.json",
        "healthUrl": f"{BASE}/health",
        "signInUrl": None,
    }


async def test_it_leads_to_the_sign_in_where_there_is_one(http_fixture: HttpFixture) -> None:
    http = replace(http_fixture.http(), sign_in_url="https://id.example/device")
    app = create_app(http, http_fixture.services())

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=BASE) as client:
        page = await client.get("/", headers=BROWSER)

    assert 'href="https://id.example/device"' in page.text


@pytest.mark.parametrize(
    ("check", "status", "word"),
    [(Check("clock", passed=True), 200, "ok"), (FULL, 200, "degraded"), (AWAY, 503, "degraded")],
)
async def test_health_is_one_word(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, check: Check, status: int, word: str
) -> None:
    http_fixture.checks = (check,)

    health, page = await api.get("/health"), await api.get("/", headers=BROWSER)

    assert (health.status_code, health.json()) == (status, {"status": word})
    assert page.status_code == 200
    assert (check.detail or "Healthy") in page.text


async def test_its_icon_has_the_usual_sizes(api: httpx2.AsyncClient) -> None:
    answer = await api.get("/favicon.ico")

    assert answer.headers["content-type"] == "image/x-icon"
    images = dict(unpack(answer.content))
    assert tuple(images) == SIZES
    assert all(image.startswith(b"\x89PNG") for image in images.values())
    assert answer.content == FAVICON
