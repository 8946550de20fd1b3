from collections.abc import AsyncIterator
from urllib.parse import urlencode, urlsplit

import pytest

from tests.embedded.identity.browser import (
    Browser,
    answer_in,
    authorize_url,
    forget_attempts,
    give_passwords,
    open_browser,
    sign_in_at,
)
from tests.embedded.identity.estate import CLI, OTHER_TENANT, ZOE, House
from tests.embedded.identity.sign_ins import PORTAL, PORTAL_REDIRECT, load_more_clients, redeem, refresh


@pytest.fixture(autouse=True, scope="module")
async def people(shared_house: House) -> None:
    await load_more_clients(shared_house)
    await give_passwords(shared_house)


@pytest.fixture
async def browser(house: House) -> AsyncIterator[Browser]:
    await forget_attempts(house)
    async with open_browser(house) as opened:
        yield opened


def sign_out_url(house: House, **parameters: str) -> str:
    return f"{house.url('oauth2/v2.0/logout')}?{urlencode(parameters)}"


async def tokens_of(house: House, browser: Browser) -> dict[str, str]:
    """Somebody signs in; what the program gets."""
    answer = answer_in(await sign_in_at(browser, authorize_url(house)))
    tokens: dict[str, str] = (await redeem(house, answer["code"])).json()
    return tokens


async def test_it_works(house: House, browser: Browser) -> None:
    tokens = await tokens_of(house, browser)
    secret = browser.session
    assert secret is not None

    page = await browser.open(sign_out_url(house, id_token_hint=tokens["id_token"]))

    assert (page.status, page.heading) == (200, "Signed out")
    assert browser.session is None
    # What was in the cookie is good for nothing any more.
    name = f"__Host-identity-session-{urlsplit(house.base_url).port}"
    kept = await browser.http.get(authorize_url(house), headers={"Cookie": f"{name}={secret}"})
    assert "<h1>Sign in</h1>" in kept.text
    assert (await refresh(house, tokens["refresh_token"])).status_code == 200


async def test_it_leads_to_a_registered_address_with_the_state(house: House, browser: Browser) -> None:
    tokens = await tokens_of(house, browser)

    page = await browser.open(
        sign_out_url(
            house, id_token_hint=tokens["id_token"], post_logout_redirect_uri="http://localhost:9/", state="a&b <c>"
        )
    )

    assert page.answer.headers["location"].startswith("http://localhost:9/?")
    assert answer_in(page) == {"state": "a&b <c>"}


async def test_it_asks_when_no_token_names_the_person(house: House, browser: Browser) -> None:
    """Any site can lead somebody here."""
    await tokens_of(house, browser)
    page = await browser.open(
        sign_out_url(house, client_id=str(PORTAL), post_logout_redirect_uri=PORTAL_REDIRECT, state="1")
    )
    assert (page.status, page.heading) == (200, "Sign out?")
    assert browser.session is not None

    done = await browser.send(page.form)

    assert done.answer.headers["location"] == f"{PORTAL_REDIRECT}?state=1"
    assert browser.session is None


@pytest.mark.parametrize("hint", ["x", "e30.e30.", "a.b.c"])
async def test_it_asks_when_the_token_is_none_of_ours(house: House, browser: Browser, hint: str) -> None:
    await tokens_of(house, browser)

    page = await browser.open(sign_out_url(house, id_token_hint=hint))

    assert page.heading == "Sign out?"


async def test_it_asks_when_the_token_opens_doors_instead(house: House, browser: Browser) -> None:
    tokens = await tokens_of(house, browser)

    page = await browser.open(sign_out_url(house, id_token_hint=tokens["access_token"]))

    assert page.heading == "Sign out?"


async def test_it_asks_when_the_token_names_somebody_else(house: House, browser: Browser) -> None:
    await tokens_of(house, browser)
    async with open_browser(house) as other:
        answer = answer_in(await sign_in_at(other, authorize_url(house, OTHER_TENANT), ZOE))
        zoe = (await redeem(house, answer["code"], tenant_id=OTHER_TENANT)).json()

    url = f"{house.url('oauth2/v2.0/logout', OTHER_TENANT)}?{urlencode({'id_token_hint': zoe['id_token']})}"
    page = await browser.open(url)

    assert page.heading == "Sign out?"
    assert browser.session is not None


async def test_it_asks_when_the_token_is_of_another_organisation(house: House, browser: Browser) -> None:
    tokens = await tokens_of(house, browser)

    url = house.url("oauth2/v2.0/logout", OTHER_TENANT)
    page = await browser.open(f"{url}?{urlencode({'id_token_hint': tokens['id_token']})}")

    assert page.heading == "Sign out?"


async def test_who_is_signed_out_already_is_told_so(house: House, browser: Browser) -> None:
    told = await browser.open(sign_out_url(house))
    led = await browser.open(sign_out_url(house, client_id=str(PORTAL), post_logout_redirect_uri=PORTAL_REDIRECT))

    assert told.heading == "Signed out"
    assert led.answer.headers["location"] == PORTAL_REDIRECT


async def test_a_program_may_post_its_request(house: House, browser: Browser) -> None:
    tokens = await tokens_of(house, browser)

    answer = await browser.http.post(
        house.url("oauth2/v2.0/logout"),
        data={"id_token_hint": tokens["id_token"]},
        headers={"Origin": "https://portal.example", "Sec-Fetch-Site": "cross-site"},
    )

    assert answer.status_code == 303
    origin = house.base_url.removesuffix("/identity")
    assert (await browser.open(origin + answer.headers["location"])).heading == "Signed out"


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
async def test_it_rejects_an_address_that_is_not_registered(house: House, browser: Browser, address: str) -> None:
    tokens = await tokens_of(house, browser)

    by_name = await browser.open(sign_out_url(house, client_id=str(PORTAL), post_logout_redirect_uri=address))
    by_token = await browser.open(
        sign_out_url(house, id_token_hint=tokens["id_token"], post_logout_redirect_uri=address)
    )

    assert (by_name.status, by_token.status) == (400, 400)
    assert "location" not in by_name.answer.headers
    assert browser.session is not None


async def test_it_rejects_an_address_without_a_program(house: House, browser: Browser) -> None:
    unnamed = await browser.open(sign_out_url(house, post_logout_redirect_uri=PORTAL_REDIRECT))
    tokens = await tokens_of(house, browser)
    other = await browser.open(sign_out_url(house, id_token_hint=tokens["id_token"], client_id=str(PORTAL)))

    assert (unnamed.status, other.status) == (400, 400)


async def test_it_rejects_an_answer_that_was_not_asked_for_here(house: House, browser: Browser) -> None:
    await tokens_of(house, browser)
    page = await browser.open(sign_out_url(house))

    without = await browser.send(page.form, {"form_token": ""})
    across = await browser.send(page.form, headers={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})

    assert (without.status, across.status) == (403, 403)
    assert browser.session is not None
    assert (await browser.open(f"{house.url('oauth2/v2.0/logout', CLI)}")).status == 404
