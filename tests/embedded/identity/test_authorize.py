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

AT_PORTAL = {"client_id": str(PORTAL), "redirect_uri": PORTAL_REDIRECT, "scope": MAIL}


@pytest.fixture(autouse=True, scope="module")
async def people(shared_server: IdentityServer) -> None:
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


async def test_the_address_may_be_typed_in_either_letter_case(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server))

    done = await browser.send(page.form, {**credentials(), "address": f" {ADA.address.upper()} "})

    assert "code" in response_parameters(done)


async def test_an_answer_can_travel_as_a_form(server: IdentityServer, browser: Browser) -> None:
    """As MSAL asks for it, whose server on this machine takes nothing else."""
    page = await sign_in_at(browser, authorize_url(server, response_mode="form_post"))

    assert page.status == 200
    assert (page.form.method, page.form.action) == ("post", REDIRECT)
    assert page.form.values.keys() == {"code", "state", "iss"}
    assert page.form.values["state"] == "st&te <1>"
    assert "form-action 'self' http://localhost:4711" in page.answer.headers["content-security-policy"]
    assert (await redeem(server, page.form.values["code"])).status_code == 200


async def test_a_program_may_post_its_request(server: IdentityServer, browser: Browser) -> None:
    url, _, query = authorize_url(server).partition("?")
    cross_site = {"Origin": "https://portal.example", "Content-Type": "application/x-www-form-urlencoded"}

    answer = await browser.http.post(url, content=query, headers=cross_site)

    assert answer.status_code == 303
    page = await browser.open(f"https://{urlsplit(url).netloc}{answer.headers['location']}")
    assert "code" in response_parameters(await browser.send(page.form, credentials()))


async def test_who_is_signed_in_says_yes_to_a_program_on_the_machine(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server))

    assert page.state == (200, "confirm")
    assert "code" in response_parameters(await browser.send(page.form, page.form.button("go_on", "1")))
    # Nothing is asked where the answer is a form that the person sends.
    as_form = await browser.open(authorize_url(server, response_mode="form_post"))
    assert as_form.state == (200, "return")
    assert "code" in as_form.form.values


async def test_who_is_signed_in_goes_on_at_once_to_a_program_with_an_address(
    server: IdentityServer, browser: Browser
) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, **AT_PORTAL))

    assert page.answer.headers["location"].startswith(f"{PORTAL_REDIRECT}?")
    at_portal = {"client_id": str(PORTAL), "redirect_uri": PORTAL_REDIRECT, "client_secret": SECRET, "scope": MAIL}
    assert (await redeem(server, response_parameters(page)["code"], at_portal)).status_code == 200


async def test_somebody_else_can_sign_in_instead(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))
    before = browser.session
    confirm = await browser.open(authorize_url(server))

    page = await browser.open(confirm.links["Sign in with another account"])

    assert page.state == (200, "sign_in")
    assert "code" in response_parameters(await browser.send(page.form, credentials()))
    assert browser.session != before


@pytest.mark.parametrize("prompt", ["login", "login consent"])
async def test_it_asks_again_as_the_program_wants(server: IdentityServer, browser: Browser, prompt: str) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, **AT_PORTAL, prompt=prompt))

    assert page.state == (200, "sign_in")
    assert "code" in response_parameters(await browser.send(page.form, credentials()))


@pytest.mark.parametrize("prompt", ["select_account", "consent"])
async def test_it_lets_choose_as_the_program_wants(server: IdentityServer, browser: Browser, prompt: str) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, **AT_PORTAL, prompt=prompt))

    assert page.state == (200, "confirm")


async def test_it_answers_without_a_page_when_asked_to(server: IdentityServer, browser: Browser) -> None:
    silently = authorize_url(server, **AT_PORTAL, prompt="none")
    nobody = response_parameters(await browser.open(silently))
    await sign_in_at(browser, authorize_url(server))

    somebody = response_parameters(await browser.open(silently))
    on_machine = response_parameters(await browser.open(authorize_url(server, prompt="none")))

    assert nobody["error"] == "login_required"
    assert "code" in somebody
    assert on_machine["error"] == "interaction_required"


@pytest.mark.parametrize("prompt", ["", "none"])
@pytest.mark.parametrize("redirect_uri", ["HTTP://localhost:4711", "http://LOCALHOST:4711"])
async def test_no_spelling_of_an_address_spares_the_question(
    server: IdentityServer, browser: Browser, redirect_uri: str, prompt: str
) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await browser.open(authorize_url(server, redirect_uri=redirect_uri, prompt=prompt))

    assert page.state == (400, "error")


async def test_a_sign_in_may_be_only_so_old(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))
    server.clock.now += timedelta(seconds=30)

    recent = await browser.open(authorize_url(server, **AT_PORTAL, max_age="30"))
    server.clock.now += timedelta(seconds=1)
    too_old = await browser.open(authorize_url(server, **AT_PORTAL, max_age="30"))
    silently = await browser.open(authorize_url(server, **AT_PORTAL, max_age="30", prompt="none"))

    assert "code" in response_parameters(recent)
    assert too_old.state == (200, "sign_in")
    assert response_parameters(silently)["error"] == "login_required"


async def test_a_page_that_was_open_for_too_long_asks_again(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))
    page = await browser.open(authorize_url(server, max_age="60"))
    server.clock.now += timedelta(minutes=2)

    done = await browser.send(page.form, page.form.button("go_on", "1"))

    assert done.state == (200, "sign_in")


async def test_a_hint_fills_in_the_address_and_decides_who_will_do(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))

    right = await browser.open(authorize_url(server, **AT_PORTAL, login_hint=ADA.address.upper()))
    other = await browser.open(authorize_url(server, **AT_PORTAL, login_hint="ben@estate.example"))

    assert "code" in response_parameters(right)
    assert other.form.values["address"] == "ben@estate.example"


async def test_a_session_is_good_in_its_own_organisation_only(server: IdentityServer, browser: Browser) -> None:
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
async def test_it_rejects_a_request_towards_the_program(
    server: IdentityServer, browser: Browser, changes: dict[str, str], error: str
) -> None:
    page = await browser.open(authorize_url(server, **changes))

    answer = response_parameters(page)
    assert page.answer.headers["location"].startswith(f"{REDIRECT}?")
    assert (answer["error"], answer["state"]) == (error, "st&te <1>")
    assert answer["error_description"]
    assert answer["iss"] == f"{server.base_url}/{TENANT}/v2.0"


async def test_a_fault_travels_as_a_form_too(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server, response_mode="form_post", scope="x"))

    assert (page.status, page.form.action) == (200, REDIRECT)
    assert page.form.values["error"] == "invalid_scope"


async def test_a_page_can_be_loaded_again_by_its_address(server: IdentityServer, browser: Browser) -> None:
    """What stands in the browser's line of addresses after a wrong password, and after a question about signing out."""
    page = await browser.open(authorize_url(server))
    failed = await browser.send(page.form, credentials(password="wrong"))

    again = await browser.open(failed.url)

    assert (failed.status, again.state) == (403, (200, "sign_in"))
    assert "code" in response_parameters(await browser.send(again.form, credentials()))
    question = await browser.open(server.url("oauth2/v2.0/logout"))
    assert (await browser.open(question.form.action)).state == question.state == (200, "sign_out")


async def test_it_rejects_what_is_sent_twice(server: IdentityServer, browser: Browser) -> None:
    twice = response_parameters(await browser.open(authorize_url(server) + "&scope=openid"))
    state = response_parameters(await browser.open(authorize_url(server) + "&state=other"))
    client = await browser.open(authorize_url(server) + f"&client_id={CLI}")

    assert twice["error"] == state["error"] == "invalid_request"
    assert "state" not in state
    assert client.state == (400, "error")


@pytest.mark.parametrize("query", ["scope=%FF", "&".join(f"a{number}=1" for number in range(50))])
async def test_it_rejects_what_cannot_be_read(server: IdentityServer, browser: Browser, query: str) -> None:
    page = await browser.open(f"{server.url('oauth2/v2.0/authorize')}?{query}")

    assert page.state == (400, "error")


async def test_it_rejects_an_organisation_that_is_not_there(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server, ADA.id))

    assert page.state == (404, "error")


async def test_a_code_is_good_for_the_program_and_the_address_that_asked(
    server: IdentityServer, browser: Browser
) -> None:
    code = response_parameters(await sign_in_at(browser, authorize_url(server, redirect_uri="http://localhost:5000/")))[
        "code"
    ]

    elsewhere = await redeem(server, code, {"redirect_uri": REDIRECT})

    assert elsewhere.json()["error"] == "invalid_grant"
