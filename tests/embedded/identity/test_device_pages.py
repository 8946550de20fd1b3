# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from chamberlain.embedded.identity import throttling
from chamberlain.embedded.identity.hashing import digest_of
from chamberlain.embedded.identity.session import form_cookie, token_for
from tests.embedded.identity.browser import (
    Browser,
    Page,
    authorize_url,
    credentials,
    open_browser,
    reset_throttling,
    set_test_passwords,
    sign_in_at,
)
from tests.embedded.identity.estate import ADA, OTHER_TENANT, START, ZOE, IdentityServer
from tests.embedded.identity.sign_ins import begin, error_of, part_of, poll


@pytest.fixture(autouse=True, scope="module")
async def users(shared_server: IdentityServer) -> None:
    await set_test_passwords(shared_server)


@pytest.fixture
async def browser(server: IdentityServer) -> AsyncIterator[Browser]:
    await reset_throttling(server)
    async with open_browser(server) as opened:
        yield opened


async def codes_of(server: IdentityServer) -> dict[str, str]:
    codes: dict[str, str] = (await begin(server)).json()
    return codes


async def type_code(browser: Browser, code: str) -> Page:
    page = await browser.open(f"{browser.server.base_url}/device")
    return await browser.send(page.form, {"user_code": code})


async def come_to_decision(browser: Browser, code: str) -> Page:
    page = await type_code(browser, code)
    return await browser.send(page.form, credentials())


async def test_it_works(server: IdentityServer, browser: Browser) -> None:
    codes = await codes_of(server)
    page = await browser.open(codes["verification_uri"])
    assert page.state == (200, "device_code")

    sign_in = await browser.send(page.form, {"user_code": codes["user_code"].lower().replace("-", " ")})
    assert sign_in.state == (200, "sign_in")
    decision = await browser.send(sign_in.form, credentials())
    assert decision.state == (200, "device_decision")
    for shown in (codes["user_code"], ADA.address, "Example &lt;Estate&gt;", "Create groups and teams for you"):
        assert shown in decision.html
    assert "offline_access" not in decision.html
    done = await browser.send(decision.form, decision.form.button("decision", "allow"))

    assert done.state == (200, "device_allowed")
    tokens = (await poll(server, codes["device_code"])).json()
    assert part_of(tokens["access_token"], 1)["oid"] == str(ADA.id)
    assert part_of(tokens["id_token"], 1)["auth_time"] == int(START.timestamp())


@pytest.mark.parametrize(("written", "is_filled_in"), [("{code}", True), ("%22%3E%3Cb%3E", False)])
async def test_a_code_in_the_address_only_fills_in_the_form(
    server: IdentityServer, browser: Browser, written: str, *, is_filled_in: bool
) -> None:
    codes = await codes_of(server)

    page = await browser.open(f"{codes['verification_uri']}?user_code={written.format(code=codes['user_code'])}")

    assert page.state == (200, "device_code")
    assert page.form.values["user_code"] == (codes["user_code"] if is_filled_in else "")
    assert (await poll(server, codes["device_code"])).json()["error"] == "authorization_pending"


async def test_it_rejects_an_empty_password(server: IdentityServer, browser: Browser) -> None:
    page = await type_code(browser, (await codes_of(server))["user_code"])

    again = await browser.send(page.form, {"address": ADA.address, "password": ""})

    assert again.state == (400, "sign_in")
    assert (await browser.send(again.form, credentials())).state == (200, "device_decision")


async def test_a_signed_in_user_needs_no_password(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))

    page = await type_code(browser, (await codes_of(server))["user_code"])

    assert page.state == (200, "device_decision")


async def test_a_device_can_be_denied(server: IdentityServer, browser: Browser) -> None:
    codes = await codes_of(server)
    decision = await come_to_decision(browser, codes["user_code"])
    assert decision.form.buttons == [("decision", "allow"), ("decision", "deny")]

    done = await browser.send(decision.form, decision.form.button("decision", "deny"))

    assert done.state == (200, "device_denied")
    assert error_of(await poll(server, codes["device_code"])) == (400, "access_denied")


async def test_another_account_can_sign_in(server: IdentityServer, browser: Browser) -> None:
    decision = await come_to_decision(browser, (await codes_of(server))["user_code"])

    page = await browser.send(decision.forms[1], decision.forms[1].button("other", "1"))

    assert page.state == (200, "sign_in")
    assert (await browser.send(page.form, credentials())).state == (200, "device_decision")


async def test_users_of_another_tenant_cannot_sign_in(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server, OTHER_TENANT), ZOE)
    page = await type_code(browser, (await codes_of(server))["user_code"])
    assert page.state == (200, "sign_in")

    again = await browser.send(page.form, credentials(ZOE))

    assert again.state == (403, "sign_in")


async def test_it_rejects_a_second_decision(server: IdentityServer, browser: Browser) -> None:
    codes = await codes_of(server)
    decision = await come_to_decision(browser, codes["user_code"])
    await browser.send(decision.form, decision.form.button("decision", "deny"))

    again = await browser.send(decision.form, decision.form.button("decision", "allow"))

    assert again.state == (410, "device_expired")
    assert error_of(await poll(server, codes["device_code"])) == (400, "access_denied")


async def test_it_rejects_a_late_decision(server: IdentityServer, browser: Browser) -> None:
    codes = await codes_of(server)
    decision = await come_to_decision(browser, codes["user_code"])
    server.clock.now += timedelta(minutes=20)

    late = await browser.send(decision.form, decision.form.button("decision", "allow"))

    assert late.status == 410


@pytest.mark.parametrize("code", ["BCDF-GHJK", "nothing", "", "<script>", "\x00", "B" * 500])
async def test_it_rejects_an_unknown_code(browser: Browser, code: str) -> None:
    page = await type_code(browser, code)

    assert page.state == (400, "device_code")
    assert "<script>" not in page.html


async def test_too_many_wrong_codes_block_right_ones_too(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(f"{server.base_url}/device")
    guesses = [browser.send(page.form, {"user_code": f"BCDF-GHJ{letter}"}) for letter in "BCDFGHJKLMNPQRSTVWXZ"]

    statuses = [guess.status for guess in await asyncio.gather(*guesses)]
    right = await type_code(browser, (await codes_of(server))["user_code"])

    assert (statuses.count(400), statuses.count(429)) == (10, 10)
    assert right.state == (429, "error")
    assert right.answer.headers["retry-after"] == "900"
    server.clock.now += timedelta(minutes=15)
    assert (await type_code(browser, (await codes_of(server))["user_code"])).status == 200


async def test_right_codes_do_not_reset_the_throttling(server: IdentityServer, browser: Browser) -> None:
    own = (await codes_of(server))["user_code"]
    statuses = []
    for letter in "BCDFGHJKLMNP":
        await type_code(browser, own)
        statuses.append((await type_code(browser, f"BCDF-GHJ{letter}")).status)

    assert (statuses.count(400), statuses.count(429)) == (10, 2)


async def test_wrong_codes_of_all_networks_are_limited(server: IdentityServer, browser: Browser) -> None:
    for number in range(98):
        await throttling.begin_attempt(server.platform, throttling.code_subjects(f"192.0.2.{number}"))

    statuses = [(await type_code(browser, f"BCDF-GHJ{letter}")).status for letter in "BCDF"]

    assert statuses == [400, 400, 429, 429]


async def test_decisions_are_throttled(server: IdentityServer, browser: Browser) -> None:
    """A signed-in user can compute the tokens of own forms."""
    decision = await come_to_decision(browser, (await codes_of(server))["user_code"])
    assert browser.session is not None
    session = digest_of(browser.session).hex()

    async def allow(code: str) -> int:
        token = token_for(browser.http.cookies[form_cookie(server.base_url)], f"device-decision:{session}:{code}")
        sent = {"form_token": token, "user_code": code, "decision": "allow"}
        return (await browser.send(decision.form, sent)).status

    assert await allow((await codes_of(server))["user_code"].replace("-", "")) == 200
    statuses = [await allow(f"BCDFGHJ{letter}") for letter in "BCDFGHJKLMNP"]

    assert (statuses.count(410), statuses.count(429)) == (10, 2)


async def test_a_decision_is_bound_to_the_shown_code(server: IdentityServer, browser: Browser) -> None:
    """An attacker's code in the form must not be allowed."""
    shown, foreign = await codes_of(server), await codes_of(server)
    decision = await come_to_decision(browser, shown["user_code"])

    swapped = await browser.send(
        decision.form, {"user_code": foreign["user_code"].replace("-", ""), **decision.form.button("decision", "allow")}
    )

    assert swapped.status == 403
    assert error_of(await poll(server, foreign["device_code"])) == (400, "authorization_pending")
