from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from tests.embedded.identity.browser import (
    Browser,
    answer_in,
    authorize_url,
    forget_attempts,
    give_passwords,
    open_browser,
    sign_in_at,
    typed,
)
from tests.embedded.identity.estate import ADA, CLI, OTHER_TENANT, SECRET, TENANT, ZOE, House
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
async def people(shared_house: House) -> None:
    await load_more_clients(shared_house)
    await give_passwords(shared_house)


@pytest.fixture
async def browser(house: House) -> AsyncIterator[Browser]:
    await forget_attempts(house)
    async with open_browser(house) as opened:
        yield opened


async def test_it_works(house: House, browser: Browser) -> None:
    page = await browser.open(authorize_url(house, nonce="n-1"))
    assert (page.status, page.heading) == (200, "Sign in")
    assert "chamberlain-cli" in page.html

    done = await browser.send(page.form, typed())

    answer = answer_in(done)
    assert done.answer.headers["location"].startswith(f"{REDIRECT}?")
    assert answer["state"] == "st&te <1>"
    assert answer["iss"] == f"{house.base_url}/{TENANT}/v2.0"
    tokens = (await redeem(house, answer["code"])).json()
    claims = part_of(tokens["id_token"], 1)
    assert (claims["oid"], claims["nonce"]) == (str(ADA.id), "n-1")
    assert claims["auth_time"] == int(house.clock.now.timestamp())


async def test_the_address_may_be_typed_in_either_letter_case(house: House, browser: Browser) -> None:
    page = await browser.open(authorize_url(house))

    done = await browser.send(page.form, {**typed(), "address": f" {ADA.address.upper()} "})

    assert "code" in answer_in(done)


async def test_an_answer_can_travel_as_a_form(house: House, browser: Browser) -> None:
    """As MSAL asks for it, whose server on this machine takes nothing else."""
    page = await sign_in_at(browser, authorize_url(house, response_mode="form_post"))

    assert page.status == 200
    assert (page.form.method, page.form.action) == ("post", REDIRECT)
    assert page.form.values.keys() == {"code", "state", "iss"}
    assert page.form.values["state"] == "st&te <1>"
    assert "form-action 'self' http://localhost:4711" in page.answer.headers["content-security-policy"]
    assert (await redeem(house, page.form.values["code"])).status_code == 200


async def test_a_program_may_post_its_request(house: House, browser: Browser) -> None:
    url, _, query = authorize_url(house).partition("?")
    cross_site = {"Origin": "https://portal.example", "Content-Type": "application/x-www-form-urlencoded"}

    answer = await browser.http.post(url, content=query, headers=cross_site)

    assert answer.status_code == 303
    page = await browser.open(f"https://{urlsplit(url).netloc}{answer.headers['location']}")
    assert "code" in answer_in(await browser.send(page.form, typed()))


async def test_who_is_signed_in_says_yes_to_a_program_on_the_machine(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))

    page = await browser.open(authorize_url(house))

    assert (page.status, page.heading) == (200, "Go on as Ada?")
    assert "code" in answer_in(await browser.send(page.form, page.form.buttons["Go on"]))
    # Nothing is asked where the answer is a form that the person sends.
    as_form = await browser.open(authorize_url(house, response_mode="form_post"))
    assert as_form.heading == "Go back to chamberlain-cli"
    assert "code" in as_form.form.values


async def test_who_is_signed_in_goes_on_at_once_to_a_program_with_an_address(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))

    page = await browser.open(authorize_url(house, **AT_PORTAL))

    assert page.answer.headers["location"].startswith(f"{PORTAL_REDIRECT}?")
    at_portal = {"client_id": str(PORTAL), "redirect_uri": PORTAL_REDIRECT, "client_secret": SECRET, "scope": MAIL}
    assert (await redeem(house, answer_in(page)["code"], at_portal)).status_code == 200


async def test_somebody_else_can_sign_in_instead(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))
    before = browser.session
    confirm = await browser.open(authorize_url(house))

    page = await browser.open(confirm.links["Sign in as somebody else"])

    assert page.heading == "Sign in"
    assert "code" in answer_in(await browser.send(page.form, typed()))
    assert browser.session != before


@pytest.mark.parametrize("prompt", ["login", "login consent"])
async def test_it_asks_again_as_the_program_wants(house: House, browser: Browser, prompt: str) -> None:
    await sign_in_at(browser, authorize_url(house))

    page = await browser.open(authorize_url(house, **AT_PORTAL, prompt=prompt))

    assert page.heading == "Sign in"
    assert "code" in answer_in(await browser.send(page.form, typed()))


@pytest.mark.parametrize("prompt", ["select_account", "consent"])
async def test_it_lets_choose_as_the_program_wants(house: House, browser: Browser, prompt: str) -> None:
    await sign_in_at(browser, authorize_url(house))

    page = await browser.open(authorize_url(house, **AT_PORTAL, prompt=prompt))

    assert page.heading == "Go on as Ada?"


async def test_it_answers_without_a_page_when_asked_to(house: House, browser: Browser) -> None:
    silently = authorize_url(house, **AT_PORTAL, prompt="none")
    nobody = answer_in(await browser.open(silently))
    await sign_in_at(browser, authorize_url(house))

    somebody = answer_in(await browser.open(silently))
    on_machine = answer_in(await browser.open(authorize_url(house, prompt="none")))

    assert nobody["error"] == "login_required"
    assert "code" in somebody
    assert on_machine["error"] == "interaction_required"


@pytest.mark.parametrize("prompt", ["", "none"])
@pytest.mark.parametrize("redirect_uri", ["HTTP://localhost:4711", "http://LOCALHOST:4711"])
async def test_no_spelling_of_an_address_spares_the_question(
    house: House, browser: Browser, redirect_uri: str, prompt: str
) -> None:
    await sign_in_at(browser, authorize_url(house))

    page = await browser.open(authorize_url(house, redirect_uri=redirect_uri, prompt=prompt))

    assert (page.status, page.heading) == (400, "The program asked wrongly")


async def test_a_sign_in_may_be_only_so_old(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))
    house.clock.now += timedelta(seconds=30)

    recent = await browser.open(authorize_url(house, **AT_PORTAL, max_age="30"))
    house.clock.now += timedelta(seconds=1)
    too_old = await browser.open(authorize_url(house, **AT_PORTAL, max_age="30"))
    silently = await browser.open(authorize_url(house, **AT_PORTAL, max_age="30", prompt="none"))

    assert "code" in answer_in(recent)
    assert too_old.heading == "Sign in"
    assert answer_in(silently)["error"] == "login_required"


async def test_a_page_that_was_open_for_too_long_asks_again(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))
    page = await browser.open(authorize_url(house, max_age="60"))
    house.clock.now += timedelta(minutes=2)

    done = await browser.send(page.form, page.form.buttons["Go on"])

    assert done.heading == "Sign in"


async def test_a_hint_fills_in_the_address_and_decides_who_will_do(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))

    right = await browser.open(authorize_url(house, **AT_PORTAL, login_hint=ADA.address.upper()))
    other = await browser.open(authorize_url(house, **AT_PORTAL, login_hint="ben@estate.example"))

    assert "code" in answer_in(right)
    assert other.form.values["address"] == "ben@estate.example"


async def test_a_session_is_good_in_its_own_organisation_only(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))

    page = await browser.open(authorize_url(house, OTHER_TENANT))
    ada_there = await browser.send(page.form, typed())
    zoe_there = await browser.send(page.form, typed(ZOE))

    assert page.heading == "Sign in"
    assert (ada_there.status, ada_there.heading) == (403, "Not signed in")
    assert "code" in answer_in(zoe_there)


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
    house: House, browser: Browser, changes: dict[str, str], error: str
) -> None:
    page = await browser.open(authorize_url(house, **changes))

    answer = answer_in(page)
    assert page.answer.headers["location"].startswith(f"{REDIRECT}?")
    assert (answer["error"], answer["state"]) == (error, "st&te <1>")
    assert answer["error_description"]
    assert answer["iss"] == f"{house.base_url}/{TENANT}/v2.0"


async def test_a_fault_travels_as_a_form_too(house: House, browser: Browser) -> None:
    page = await browser.open(authorize_url(house, response_mode="form_post", scope="x"))

    assert (page.status, page.form.action) == (200, REDIRECT)
    assert page.form.values["error"] == "invalid_scope"


async def test_a_page_can_be_loaded_again_by_its_address(house: House, browser: Browser) -> None:
    """What stands in the browser's line of addresses after a wrong password, and after a question about signing out."""
    page = await browser.open(authorize_url(house))
    failed = await browser.send(page.form, typed(password="wrong"))

    again = await browser.open(failed.url)

    assert (failed.status, again.status, again.heading) == (403, 200, "Sign in")
    assert "code" in answer_in(await browser.send(again.form, typed()))
    question = await browser.open(house.url("oauth2/v2.0/logout"))
    assert (await browser.open(question.form.action)).heading == question.heading == "Sign out?"


async def test_it_rejects_what_is_sent_twice(house: House, browser: Browser) -> None:
    twice = answer_in(await browser.open(authorize_url(house) + "&scope=openid"))
    state = answer_in(await browser.open(authorize_url(house) + "&state=other"))
    client = await browser.open(authorize_url(house) + f"&client_id={CLI}")

    assert twice["error"] == state["error"] == "invalid_request"
    assert "state" not in state
    assert (client.status, client.heading) == (400, "The program asked wrongly")


@pytest.mark.parametrize("query", ["scope=%FF", "&".join(f"a{number}=1" for number in range(50))])
async def test_it_rejects_what_cannot_be_read(house: House, browser: Browser, query: str) -> None:
    page = await browser.open(f"{house.url('oauth2/v2.0/authorize')}?{query}")

    assert (page.status, page.heading) == (400, "The program asked wrongly")


async def test_it_rejects_an_organisation_that_is_not_there(house: House, browser: Browser) -> None:
    page = await browser.open(authorize_url(house, ADA.id))

    assert (page.status, page.heading) == (404, "There is no such organisation")


async def test_a_code_is_good_for_the_program_and_the_address_that_asked(house: House, browser: Browser) -> None:
    code = answer_in(await sign_in_at(browser, authorize_url(house, redirect_uri="http://localhost:5000/")))["code"]

    elsewhere = await redeem(house, code, {"redirect_uri": REDIRECT})

    assert elsewhere.json()["error"] == "invalid_grant"
