# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator
from urllib.parse import urlencode, urlsplit

import pytest

from tests.embedded.identity.browser import (
    Browser,
    authorize_url,
    open_browser,
    reset_throttling,
    response_parameters,
    set_test_passwords,
    sign_in_at,
)
from tests.embedded.identity.estate import CLI, OTHER_TENANT, ZOE, IdentityServer
from tests.embedded.identity.sign_ins import PORTAL, PORTAL_REDIRECT, load_more_clients, redeem, refresh


@pytest.fixture(autouse=True, scope="module")
async def users(shared_server: IdentityServer) -> None:
    await load_more_clients(shared_server)
    await set_test_passwords(shared_server)


@pytest.fixture
async def browser(server: IdentityServer) -> AsyncIterator[Browser]:
    await reset_throttling(server)
    async with open_browser(server) as opened:
        yield opened


def sign_out_url(server: IdentityServer, **parameters: str) -> str:
    return f"{server.url('oauth2/v2.0/logout')}?{urlencode(parameters)}"


async def tokens_of(server: IdentityServer, browser: Browser) -> dict[str, str]:
    """Sign in and return the client's tokens."""
    answer = response_parameters(await sign_in_at(browser, authorize_url(server)))
    tokens: dict[str, str] = (await redeem(server, answer["code"])).json()
    return tokens


async def test_it_works(server: IdentityServer, browser: Browser) -> None:
    tokens = await tokens_of(server, browser)
    secret = browser.session
    assert secret is not None

    page = await browser.open(sign_out_url(server, id_token_hint=tokens["id_token"]))

    assert page.state == (200, "signed_out")
    assert browser.session is None
    # The cookie is no longer valid.
    name = f"__Host-identity-session-{urlsplit(server.base_url).port}"
    kept = await browser.http.get(authorize_url(server), headers={"Cookie": f"{name}={secret}"})
    assert 'data-page="sign_in"' in kept.text
    assert (await refresh(server, tokens["refresh_token"])).status_code == 200


async def test_it_redirects_to_a_registered_uri_with_state(server: IdentityServer, browser: Browser) -> None:
    tokens = await tokens_of(server, browser)

    page = await browser.open(
        sign_out_url(
            server, id_token_hint=tokens["id_token"], post_logout_redirect_uri="http://localhost:9/", state="a&b <c>"
        )
    )

    assert page.answer.headers["location"].startswith("http://localhost:9/?")
    assert response_parameters(page) == {"state": "a&b <c>"}


async def test_it_asks_without_a_hint(server: IdentityServer, browser: Browser) -> None:
    """Any site can link here."""
    await tokens_of(server, browser)
    page = await browser.open(
        sign_out_url(server, client_id=str(PORTAL), post_logout_redirect_uri=PORTAL_REDIRECT, state="1")
    )
    assert page.state == (200, "sign_out")
    assert browser.session is not None

    done = await browser.send(page.form)

    assert done.answer.headers["location"] == f"{PORTAL_REDIRECT}?state=1"
    assert browser.session is None


@pytest.mark.parametrize("hint", ["x", "e30.e30.", "a.b.c"])
async def test_it_asks_with_an_invalid_hint(server: IdentityServer, browser: Browser, hint: str) -> None:
    await tokens_of(server, browser)

    page = await browser.open(sign_out_url(server, id_token_hint=hint))

    assert page.state == (200, "sign_out")


async def test_it_asks_with_an_access_token_as_hint(server: IdentityServer, browser: Browser) -> None:
    tokens = await tokens_of(server, browser)

    page = await browser.open(sign_out_url(server, id_token_hint=tokens["access_token"]))

    assert page.state == (200, "sign_out")


async def test_it_asks_with_a_hint_of_another_user(server: IdentityServer, browser: Browser) -> None:
    await tokens_of(server, browser)
    async with open_browser(server) as other:
        answer = response_parameters(await sign_in_at(other, authorize_url(server, OTHER_TENANT), ZOE))
        zoe = (await redeem(server, answer["code"], tenant_id=OTHER_TENANT)).json()

    url = f"{server.url('oauth2/v2.0/logout', OTHER_TENANT)}?{urlencode({'id_token_hint': zoe['id_token']})}"
    page = await browser.open(url)

    assert page.state == (200, "sign_out")
    assert browser.session is not None


async def test_it_asks_with_a_hint_of_another_tenant(server: IdentityServer, browser: Browser) -> None:
    tokens = await tokens_of(server, browser)

    url = server.url("oauth2/v2.0/logout", OTHER_TENANT)
    page = await browser.open(f"{url}?{urlencode({'id_token_hint': tokens['id_token']})}")

    assert page.state == (200, "sign_out")


async def test_it_works_without_a_session(server: IdentityServer, browser: Browser) -> None:
    shown = await browser.open(sign_out_url(server))
    redirected = await browser.open(
        sign_out_url(server, client_id=str(PORTAL), post_logout_redirect_uri=PORTAL_REDIRECT)
    )

    assert shown.state == (200, "signed_out")
    assert redirected.answer.headers["location"] == PORTAL_REDIRECT


async def test_it_accepts_a_request_by_post(server: IdentityServer, browser: Browser) -> None:
    tokens = await tokens_of(server, browser)

    answer = await browser.http.post(
        server.url("oauth2/v2.0/logout"),
        data={"id_token_hint": tokens["id_token"]},
        headers={"Origin": "https://portal.example", "Sec-Fetch-Site": "cross-site"},
    )

    assert answer.status_code == 303
    origin = server.base_url.removesuffix("/identity")
    assert (await browser.open(origin + answer.headers["location"])).state == (200, "signed_out")


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "https://portal.example/back/../other",
        "https://portal.example/back?next=https://evil.example",
        "https://portal.example@evil.example/back",
        "//evil.example",
        "javascript:alert(1)",
        "http://localhost.evil.example/",
    ],
)
async def test_it_rejects_an_unregistered_redirect_uri(server: IdentityServer, browser: Browser, address: str) -> None:
    tokens = await tokens_of(server, browser)

    by_name = await browser.open(sign_out_url(server, client_id=str(PORTAL), post_logout_redirect_uri=address))
    by_token = await browser.open(
        sign_out_url(server, id_token_hint=tokens["id_token"], post_logout_redirect_uri=address)
    )

    assert (by_name.status, by_token.status) == (400, 400)
    assert "location" not in by_name.answer.headers
    assert browser.session is not None


async def test_it_rejects_a_redirect_uri_without_its_client(server: IdentityServer, browser: Browser) -> None:
    unnamed = await browser.open(sign_out_url(server, post_logout_redirect_uri=PORTAL_REDIRECT))
    tokens = await tokens_of(server, browser)
    other = await browser.open(sign_out_url(server, id_token_hint=tokens["id_token"], client_id=str(PORTAL)))

    assert (unnamed.status, other.status) == (400, 400)


async def test_it_rejects_a_forged_confirmation(server: IdentityServer, browser: Browser) -> None:
    await tokens_of(server, browser)
    page = await browser.open(sign_out_url(server))

    without = await browser.send(page.form, {"form_token": ""})
    across = await browser.send(page.form, headers={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})

    assert (without.status, across.status) == (403, 403)
    assert browser.session is not None
    assert (await browser.open(f"{server.url('oauth2/v2.0/logout', CLI)}")).status == 404
