import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from chamberlain.embedded.identity import throttling
from chamberlain.embedded.identity.csrf import token_for
from chamberlain.embedded.identity.random_secrets import digest_of
from chamberlain.embedded.identity.session import form_cookie
from tests.embedded.identity.browser import (
    Browser,
    Page,
    authorize_url,
    forget_attempts,
    give_passwords,
    open_browser,
    sign_in_at,
    typed,
)
from tests.embedded.identity.estate import ADA, OTHER_TENANT, START, TENANT, ZOE, House
from tests.embedded.identity.sign_ins import begin, error_of, part_of, poll


@pytest.fixture(autouse=True, scope="module")
async def people(shared_house: House) -> None:
    await give_passwords(shared_house)


@pytest.fixture
async def browser(house: House) -> AsyncIterator[Browser]:
    await forget_attempts(house)
    async with open_browser(house) as opened:
        yield opened


async def codes_of(house: House) -> dict[str, str]:
    codes: dict[str, str] = (await begin(house)).json()
    return codes


async def type_code(browser: Browser, code: str) -> Page:
    page = await browser.open(f"{browser.house.base_url}/device")
    return await browser.send(page.form, {"user_code": code})


async def come_to_decision(browser: Browser, code: str) -> Page:
    page = await type_code(browser, code)
    return await browser.send(page.form, typed())


async def test_it_works(house: House, browser: Browser) -> None:
    codes = await codes_of(house)
    page = await browser.open(codes["verification_uri"])
    assert (page.status, page.heading) == (200, "Let a program in")

    sign_in = await browser.send(page.form, {"user_code": codes["user_code"].lower().replace("-", " ")})
    assert (sign_in.status, sign_in.heading) == (200, "Sign in")
    decision = await browser.send(sign_in.form, typed())
    assert (decision.status, decision.heading) == (200, "Let chamberlain-cli in?")
    for shown in (codes["user_code"], ADA.address, str(TENANT), "collab/App.ReadWrite.All", "offline_access"):
        assert shown in decision.html
    done = await browser.send(decision.form, decision.form.buttons["Allow"])

    assert (done.status, done.heading) == (200, "The program is in")
    tokens = (await poll(house, codes["device_code"])).json()
    assert part_of(tokens["access_token"], 1)["oid"] == str(ADA.id)
    assert part_of(tokens["id_token"], 1)["auth_time"] == int(START.timestamp())


async def test_it_rejects_half_of_what_is_needed(house: House, browser: Browser) -> None:
    page = await type_code(browser, (await codes_of(house))["user_code"])

    again = await browser.send(page.form, {"address": ADA.address, "password": ""})

    assert (again.status, again.heading) == (400, "Not signed in")
    assert (await browser.send(again.form, typed())).heading == "Let chamberlain-cli in?"


async def test_who_is_signed_in_is_asked_for_no_password(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house))

    page = await type_code(browser, (await codes_of(house))["user_code"])

    assert page.heading == "Let chamberlain-cli in?"


async def test_the_program_can_be_sent_away(house: House, browser: Browser) -> None:
    codes = await codes_of(house)
    decision = await come_to_decision(browser, codes["user_code"])
    assert next(iter(decision.form.buttons)) == "Deny", "what the key Enter does must be harmless"

    done = await browser.send(decision.form, decision.form.buttons["Deny"])

    assert done.heading == "The program is sent away"
    assert error_of(await poll(house, codes["device_code"])) == (400, "access_denied")


async def test_somebody_else_can_sign_in_instead(house: House, browser: Browser) -> None:
    decision = await come_to_decision(browser, (await codes_of(house))["user_code"])

    page = await browser.send(decision.forms[1], decision.forms[1].buttons["Sign in as somebody else"])

    assert page.heading == "Sign in"
    assert (await browser.send(page.form, typed())).heading == "Let chamberlain-cli in?"


async def test_people_of_another_organisation_are_nobody_here(house: House, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(house, OTHER_TENANT), ZOE)
    page = await type_code(browser, (await codes_of(house))["user_code"])
    assert page.heading == "Sign in"

    again = await browser.send(page.form, typed(ZOE))

    assert (again.status, again.heading) == (403, "Not signed in")


async def test_it_rejects_a_second_decision(house: House, browser: Browser) -> None:
    codes = await codes_of(house)
    decision = await come_to_decision(browser, codes["user_code"])
    await browser.send(decision.form, decision.form.buttons["Deny"])

    again = await browser.send(decision.form, decision.form.buttons["Allow"])

    assert (again.status, again.heading) == (410, "The program does not wait any more")
    assert error_of(await poll(house, codes["device_code"])) == (400, "access_denied")


async def test_it_rejects_a_decision_that_comes_too_late(house: House, browser: Browser) -> None:
    codes = await codes_of(house)
    decision = await come_to_decision(browser, codes["user_code"])
    house.clock.now += timedelta(minutes=20)

    late = await browser.send(decision.form, decision.form.buttons["Allow"])

    assert late.status == 410


@pytest.mark.parametrize("code", ["BCDF-GHJK", "nothing", "", "<script>", "\x00", "B" * 500])
async def test_it_rejects_a_code_that_nobody_shows(browser: Browser, code: str) -> None:
    page = await type_code(browser, code)

    assert (page.status, page.heading) == (400, "No program waits with this code")
    assert "<script>" not in page.html


async def test_no_address_brings_a_code_along(house: House, browser: Browser) -> None:
    code = (await codes_of(house))["user_code"]

    page = await browser.open(f"{house.base_url}/device?user_code={code}")

    assert code not in page.html


async def test_it_rejects_too_many_guesses_and_then_right_ones_too(house: House, browser: Browser) -> None:
    page = await browser.open(f"{house.base_url}/device")
    guesses = [browser.send(page.form, {"user_code": f"BCDF-GHJ{letter}"}) for letter in "BCDFGHJKLMNPQRSTVWXZ"]

    statuses = [guess.status for guess in await asyncio.gather(*guesses)]
    right = await type_code(browser, (await codes_of(house))["user_code"])

    assert (statuses.count(400), statuses.count(429)) == (10, 10)
    assert (right.status, right.heading) == (429, "There were too many attempts")
    assert right.answer.headers["retry-after"] == "900"
    house.clock.now += timedelta(minutes=15)
    assert (await type_code(browser, (await codes_of(house))["user_code"])).status == 200


async def test_right_codes_between_do_not_give_more_guesses(house: House, browser: Browser) -> None:
    own = (await codes_of(house))["user_code"]
    statuses = []
    for letter in "BCDFGHJKLMNP":
        await type_code(browser, own)
        statuses.append((await type_code(browser, f"BCDF-GHJ{letter}")).status)

    assert (statuses.count(400), statuses.count(429)) == (10, 2)


async def test_guesses_from_many_places_are_too_many_as_well(house: House, browser: Browser) -> None:
    for number in range(98):
        await throttling.begin_attempt(house.platform, throttling.code_subjects(f"192.0.2.{number}"))

    statuses = [(await type_code(browser, f"BCDF-GHJ{letter}")).status for letter in "BCDF"]

    assert statuses == [400, 400, 429, 429]


async def test_a_decision_is_no_way_to_guess_either(house: House, browser: Browser) -> None:
    """Somebody who is signed in knows what the tokens of his own forms are made of."""
    decision = await come_to_decision(browser, (await codes_of(house))["user_code"])
    assert browser.session is not None
    session = digest_of(browser.session).hex()

    async def allow(code: str) -> int:
        token = token_for(browser.http.cookies[form_cookie(house.base_url)], f"device-decision:{session}:{code}")
        sent = {"form_token": token, "user_code": code, "decision": "allow"}
        return (await browser.send(decision.form, sent)).status

    assert await allow((await codes_of(house))["user_code"].replace("-", "")) == 200
    statuses = [await allow(f"BCDFGHJ{letter}") for letter in "BCDFGHJKLMNP"]

    assert (statuses.count(410), statuses.count(429)) == (10, 2)


async def test_a_decision_is_about_the_code_that_was_shown(house: House, browser: Browser) -> None:
    """Somebody who gets a foreign code into the form must not have it allowed."""
    shown, foreign = await codes_of(house), await codes_of(house)
    decision = await come_to_decision(browser, shown["user_code"])

    swapped = await browser.send(
        decision.form, {"user_code": foreign["user_code"].replace("-", ""), **decision.form.buttons["Allow"]}
    )

    assert swapped.status == 403
    assert error_of(await poll(house, foreign["device_code"])) == (400, "authorization_pending")
