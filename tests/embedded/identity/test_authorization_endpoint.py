# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from tests.embedded.identity.browser import (
    Browser,
    authorize_url,
    credentials,
    open_browser,
    reset_throttling,
    response_parameters,
    set_test_passwords,
    sign_in_at,
)
from tests.embedded.identity.estate import ADA, CLI, OTHER_TENANT, SECRET, TENANT, ZOE, IdentityServer
from tests.embedded.identity.sign_ins import (
    MAIL,
    PORTAL,
    PORTAL_REDIRECT,
    REDIRECT,
    load_more_clients,
    part_of,
    redeem,
)

WEB_CLIENT = {"client_id": str(PORTAL), "redirect_uri": PORTAL_REDIRECT, "scope": MAIL}


@pytest.fixture(autouse=True, scope="module")
async def users(shared_server: IdentityServer) -> None:
    await load_more_clients(shared_server)
    await set_test_passwords(shared_server)


@pytest.fixture
async def browser(server: IdentityServer) -> AsyncIterator[Browser]:
    await reset_throttling(server)
    async with open_browser(server) as opened:
        yield opened


async def test_it_works(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server, nonce="n-1"))
    assert page.state == (200, "sign_in")
    assert "chamberlain-cli" in page.html

    done = await browser.send(page.form, credentials())

    answer = response_parameters(done)
    assert done.answer.headers["location"].startswith(f"{REDIRECT}?")
    assert answer["state"] == "st&te <1>"
    assert answer["iss"] == f"{server.base_url}/{TENANT}/v2.0"
    tokens = (await redeem(server, answer["code"])).json()
    claims = part_of(tokens["id_token"], 1)
    assert (claims["oid"], claims["nonce"]) == (str(ADA.id), "n-1")
    assert claims["auth_time"] == int(server.clock.now.timestamp())


async def test_the_address_is_case_insensitive(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server))

    done = await browser.send(page.form, {**credentials(), "address": f" {ADA.address.upper()} "})

    assert "code" in response_parameters(done)


async def test_it_responds_with_a_form(server: IdentityServer, browser: Browser) -> None:
    """MSAL requires it: its local server accepts nothing else."""
    page = await sign_in_at(browser, authorize_url(server, response_mode="form_post"))

    assert page.status == 200
    assert (page.form.method, page.form.action) == ("post", REDIRECT)
    assert page.form.values.keys() == {"code", "state", "iss"}
    assert page.form.values["state"] == "st&te <1>"
    assert "form-action 'self' http://localhost:4711" in page.answer.headers["content-security-policy"]
    assert (await redeem(server, page.form.values["code"])).status_code == 200


async def test_it_accepts_a_request_by_post(server: IdentityServer, browser: Browser) -> None:
    url, _, query = authorize_url(server).partition("?")
    cross_site = {"Origin": "https://portal.example", "Content-Type": "application/x-www-form-urlencoded"}

    answer = await browser.http.post(url, content=query, headers=cross_site)

    assert answer.status_code == 303
    page = await browser.open(f"https://{urlsplit(url).netloc}{answer.headers['location']}")
    assert "code" in response_parameters(await browser.send(page.form, credentials()))


async def test_a_native_client_needs_a_confirmation(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server))

    assert page.state == (200, "confirm")
    assert "code" in response_parameters(await browser.send(page.form, page.form.button("go_on", "1")))
    # The user submits the form with the response, so no confirmation is needed.
    as_form = await browser.open(authorize_url(server, response_mode="form_post"))
    assert as_form.state == (200, "return")
    assert "code" in as_form.form.values


async def test_a_web_client_needs_no_confirmation(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, **WEB_CLIENT))

    assert page.answer.headers["location"].startswith(f"{PORTAL_REDIRECT}?")
    at_portal = {"client_id": str(PORTAL), "redirect_uri": PORTAL_REDIRECT, "client_secret": SECRET, "scope": MAIL}
    assert (await redeem(server, response_parameters(page)["code"], at_portal)).status_code == 200


async def test_another_account_can_sign_in(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))
    before = browser.session
    confirm = await browser.open(authorize_url(server))

    page = await browser.open(confirm.links["Sign in with another account"])

    assert page.state == (200, "sign_in")
    assert "code" in response_parameters(await browser.send(page.form, credentials()))
    assert browser.session != before


@pytest.mark.parametrize("prompt", ["login", "login consent"])
async def test_prompt_login_asks_for_the_password(server: IdentityServer, browser: Browser, prompt: str) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, **WEB_CLIENT, prompt=prompt))

    assert page.state == (200, "sign_in")
    assert "code" in response_parameters(await browser.send(page.form, credentials()))


@pytest.mark.parametrize("prompt", ["select_account", "consent"])
async def test_prompt_consent_shows_the_account(server: IdentityServer, browser: Browser, prompt: str) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, **WEB_CLIENT, prompt=prompt))

    assert page.state == (200, "confirm")


async def test_prompt_none_shows_no_page(server: IdentityServer, browser: Browser) -> None:
    silently = authorize_url(server, **WEB_CLIENT, prompt="none")
    signed_out = response_parameters(await browser.open(silently))
    await sign_in_at(browser, authorize_url(server))

    signed_in = response_parameters(await browser.open(silently))
    native = response_parameters(await browser.open(authorize_url(server, prompt="none")))

    assert signed_out["error"] == "login_required"
    assert "code" in signed_in
    assert native["error"] == "interaction_required"


@pytest.mark.parametrize("prompt", ["", "none"])
@pytest.mark.parametrize("redirect_uri", ["HTTP://localhost:4711", "http://LOCALHOST:4711"])
async def test_other_spellings_of_a_redirect_uri_do_not_skip_the_confirmation(
    server: IdentityServer, browser: Browser, redirect_uri: str, prompt: str
) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, redirect_uri=redirect_uri, prompt=prompt))

    assert page.state == (400, "error")


async def test_max_age_limits_the_age_of_the_sign_in(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))
    server.clock.now += timedelta(seconds=30)

    recent = await browser.open(authorize_url(server, **WEB_CLIENT, max_age="30"))
    server.clock.now += timedelta(seconds=1)
    too_old = await browser.open(authorize_url(server, **WEB_CLIENT, max_age="30"))
    silently = await browser.open(authorize_url(server, **WEB_CLIENT, max_age="30", prompt="none"))

    assert "code" in response_parameters(recent)
    assert too_old.state == (200, "sign_in")
    assert response_parameters(silently)["error"] == "login_required"


async def test_max_age_applies_to_the_confirmation(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))
    page = await browser.open(authorize_url(server, max_age="60"))
    server.clock.now += timedelta(minutes=2)

    done = await browser.send(page.form, page.form.button("go_on", "1"))

    assert done.state == (200, "sign_in")


async def test_login_hint_selects_the_account(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))

    right = await browser.open(authorize_url(server, **WEB_CLIENT, login_hint=ADA.address.upper()))
    other = await browser.open(authorize_url(server, **WEB_CLIENT, login_hint="ben@estate.example"))

    assert "code" in response_parameters(right)
    assert other.form.values["address"] == "ben@estate.example"


async def test_a_session_is_valid_in_its_tenant_only(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, OTHER_TENANT))
    ada_there = await browser.send(page.form, credentials())
    zoe_there = await browser.send(page.form, credentials(ZOE))

    assert page.state == (200, "sign_in")
    assert ada_there.state == (403, "sign_in")
    assert "code" in response_parameters(zoe_there)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": ""}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"scope": ""}, "invalid_scope"),
        ({"scope": "https://other.example/x"}, "invalid_scope"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": ""}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"prompt": "create"}, "invalid_request"),
        ({"prompt": "none login"}, "invalid_request"),
        ({"max_age": "-1"}, "invalid_request"),
        ({"max_age": "1.5"}, "invalid_request"),
        ({"nonce": "a\x00b"}, "invalid_request"),
        ({"nonce": "n" * 513}, "invalid_request"),
        ({"request": "e30.e30."}, "request_not_supported"),
        ({"request_uri": "https://portal.example/r"}, "request_uri_not_supported"),
        ({"registration": "{}"}, "registration_not_supported"),
    ],
)
async def test_it_sends_an_error_to_the_client(
    server: IdentityServer, browser: Browser, changes: dict[str, str], error: str
) -> None:
    page = await browser.open(authorize_url(server, **changes))

    answer = response_parameters(page)
    assert page.answer.headers["location"].startswith(f"{REDIRECT}?")
    assert (answer["error"], answer["state"]) == (error, "st&te <1>")
    assert answer["error_description"]
    assert answer["iss"] == f"{server.base_url}/{TENANT}/v2.0"


async def test_it_sends_an_error_as_a_form(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server, response_mode="form_post", scope="x"))

    assert (page.status, page.form.action) == (200, REDIRECT)
    assert page.form.values["error"] == "invalid_scope"


async def test_a_page_can_be_reloaded_after_a_form(server: IdentityServer, browser: Browser) -> None:
    """The address bar shows the target of the form, after a failed sign-in and at the sign-out."""
    page = await browser.open(authorize_url(server))
    failed = await browser.send(page.form, credentials(password="wrong"))

    again = await browser.open(failed.url)

    assert (failed.status, again.state) == (403, (200, "sign_in"))
    assert "code" in response_parameters(await browser.send(again.form, credentials()))
    question = await browser.open(server.url("oauth2/v2.0/logout"))
    assert (await browser.open(question.form.action)).state == question.state == (200, "sign_out")


async def test_it_rejects_repeated_parameters(server: IdentityServer, browser: Browser) -> None:
    twice = response_parameters(await browser.open(authorize_url(server) + "&scope=openid"))
    state = response_parameters(await browser.open(authorize_url(server) + "&state=other"))
    client = await browser.open(authorize_url(server) + f"&client_id={CLI}")

    assert twice["error"] == state["error"] == "invalid_request"
    assert "state" not in state
    assert client.state == (400, "error")


@pytest.mark.parametrize("query", ["scope=%FF", "&".join(f"a{number}=1" for number in range(50))])
async def test_it_rejects_a_malformed_query(server: IdentityServer, browser: Browser, query: str) -> None:
    page = await browser.open(f"{server.url('oauth2/v2.0/authorize')}?{query}")

    assert page.state == (400, "error")


async def test_it_rejects_an_unknown_tenant(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server, ADA.id))

    assert page.state == (404, "error")


async def test_a_code_is_bound_to_its_redirect_uri(server: IdentityServer, browser: Browser) -> None:
    code = response_parameters(await sign_in_at(browser, authorize_url(server, redirect_uri="http://localhost:5000/")))[
        "code"
    ]

    elsewhere = await redeem(server, code, {"redirect_uri": REDIRECT})

    assert elsewhere.json()["error"] == "invalid_grant"
