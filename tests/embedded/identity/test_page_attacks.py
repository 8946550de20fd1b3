# SPDX-License-Identifier: Apache-2.0
"""Attacks on the pages: forged forms, guessing, injection and others."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.applications import Starlette

from chamberlain.embedded.identity import throttling
from chamberlain.embedded.identity.hashing import digest_of
from chamberlain.embedded.identity.rendering import FOLDER
from chamberlain.embedded.identity.server import routes
from tests.embedded.identity.browser import (
    Browser,
    Page,
    authorize_url,
    credentials,
    open_browser,
    reset_throttling,
    response_parameters,
    set_test_passwords,
    sign_in_at,
)
from tests.embedded.identity.estate import ADA, CLI, IdentityServer
from tests.embedded.identity.sign_ins import PORTAL, PORTAL_REDIRECT, begin, load_more_clients

CROSS_SITE = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
MARKUP = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{'evaluated-' * 3}}"


@pytest.fixture(autouse=True, scope="module")
async def users(shared_server: IdentityServer) -> None:
    await load_more_clients(shared_server)
    await set_test_passwords(shared_server)


@pytest.fixture
async def browser(server: IdentityServer) -> AsyncIterator[Browser]:
    await reset_throttling(server)
    async with open_browser(server) as opened:
        yield opened


async def fail(server: IdentityServer, *addresses: str) -> None:
    """Count wrong passwords without the time of their verification."""
    for address in addresses:
        await throttling.begin_attempt(server.platform, throttling.password_subjects(address, "127.0.0.1"))


async def pages_of(browser: Browser) -> list[Page]:
    """Open one page of each kind."""
    server = browser.server
    sign_in = await browser.open(authorize_url(server))
    wrong = await browser.send(sign_in.form, credentials(password="wrong"))
    way_back = await sign_in_at(browser, authorize_url(server, response_mode="form_post"))
    confirm = await browser.open(authorize_url(server))
    device = await browser.open(f"{server.base_url}/device")
    no_code = await browser.send(device.form, {"user_code": "x"})
    decision = await browser.send(device.form, {"user_code": (await begin(server)).json()["user_code"]})
    done = await browser.send(decision.form, decision.form.button("decision", "allow"))
    sign_out = await browser.open(server.url("oauth2/v2.0/logout"))
    signed_out = await browser.send(sign_out.form)
    refused = await browser.open(authorize_url(server, redirect_uri="https://evil.example"))
    return [sign_in, wrong, way_back, confirm, device, no_code, decision, done, sign_out, signed_out, refused]


async def test_it_works(browser: Browser) -> None:
    """Every page has all security headers."""
    pages = await pages_of(browser)

    assert len({page.heading for page in pages}) == len(pages)
    for page in pages:
        headers, policy = page.answer.headers, page.answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; ")
        assert "frame-ancestors 'none'; form-action 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "for evaluation and tests" in page.html
        assert "<script" not in page.html
        assert "style=" not in page.html
        assert '<html lang="en">' in page.html


async def test_redirects_are_not_cached_and_send_no_referrer(browser: Browser) -> None:
    done = await sign_in_at(browser, authorize_url(browser.server))

    assert done.answer.headers["cache-control"] == "no-store"
    assert done.answer.headers["referrer-policy"] == "no-referrer"


async def test_cookies_have_all_protective_attributes(browser: Browser) -> None:
    page = await browser.open(authorize_url(browser.server))
    done = await browser.send(page.form, credentials())

    for answer in (page.answer, done.answer):
        (cookie,) = answer.headers.get_list("set-cookie")
        name, *attributes = cookie.split("; ")
        assert name.startswith("__Host-")
        assert {attribute.lower() for attribute in attributes} == {"httponly", "secure", "path=/", "samesite=lax"}


@pytest.mark.parametrize(
    "headers",
    [
        CROSS_SITE,
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {},
    ],
)
async def test_it_rejects_a_cross_site_form(browser: Browser, headers: dict[str, str]) -> None:
    page = await browser.open(authorize_url(browser.server))

    done = await browser.send(page.form, credentials(), headers)

    assert done.state == (403, "error")
    assert browser.session is None


async def test_it_accepts_a_form_from_its_own_origin(browser: Browser) -> None:
    page = await browser.open(authorize_url(browser.server))

    done = await browser.send(page.form, credentials(), {"Origin": browser.server.base_url.removesuffix("/identity")})

    assert "code" in response_parameters(done)


@pytest.mark.parametrize("token", ["", "x", "0" * 64, "ü"])
async def test_it_rejects_a_form_without_its_token(browser: Browser, token: str) -> None:
    page = await browser.open(authorize_url(browser.server))

    done = await browser.send(page.form, {**credentials(), "form_token": token})

    assert done.status == 403
    assert browser.session is None


async def test_it_rejects_the_token_of_another_browser(server: IdentityServer, browser: Browser) -> None:
    """Login CSRF: an attacker submits an own form in another browser."""
    async with open_browser(server) as attacker:
        form = (await attacker.open(authorize_url(server))).form

    unprepared = await browser.send(form, credentials())
    await browser.open(authorize_url(server))
    prepared = await browser.send(form, credentials())

    assert (unprepared.status, prepared.status) == (403, 403)


async def test_it_rejects_the_token_of_another_form(server: IdentityServer, browser: Browser) -> None:
    device = await browser.open(f"{server.base_url}/device")
    await sign_in_at(browser, authorize_url(server))
    confirm = await browser.open(authorize_url(server))
    sign_out = await browser.open(server.url("oauth2/v2.0/logout"))

    for form, tokens in ((confirm.form, (device, sign_out)), (sign_out.form, (device, confirm))):
        for other in tokens:
            done = await browser.send(form, {"go_on": "1", "form_token": other.form.values["form_token"]})
            assert done.status == 403
    assert browser.session is not None


async def test_a_form_is_bound_to_its_session(server: IdentityServer, browser: Browser) -> None:
    await sign_in_at(browser, authorize_url(server))
    confirm = await browser.open(authorize_url(server))
    await sign_in_at(browser, authorize_url(server, prompt="login"))

    done = await browser.send(confirm.form, confirm.form.button("go_on", "1"))

    assert done.status == 403


async def test_sign_in_replaces_the_session(server: IdentityServer, browser: Browser) -> None:
    name = f"__Host-identity-session-{urlsplit(server.base_url).port}"
    planted = "A" * 43
    page = await browser.open(authorize_url(server))
    keys = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.http.cookies.jar)
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin", "Cookie": f"{keys}; {name}={planted}"}

    done = await browser.send(page.form, credentials(), headers)
    first = browser.session
    await sign_in_at(browser, authorize_url(server, prompt="login"))

    assert done.status == 303
    assert first not in (None, planted)
    assert browser.session not in (None, planted, first)
    # The previous session has ended.
    kept = "SELECT count(*) FROM identity.sessions WHERE digest = $1"
    assert first is not None
    assert await server.worker.fetchval(kept, digest_of(first)) == 0


async def test_a_session_expires(server: IdentityServer, browser: Browser) -> None:
    silently = authorize_url(server, client_id=str(PORTAL), redirect_uri=PORTAL_REDIRECT, prompt="none", scope="openid")
    await sign_in_at(browser, authorize_url(server))

    found = []
    for minutes in (59, 59, 61):
        server.clock.now += timedelta(minutes=minutes)
        found.append("code" in response_parameters(await browser.open(silently)))
    await sign_in_at(browser, authorize_url(server))
    for _ in range(10):
        server.clock.now += timedelta(minutes=50)
        found.append("code" in response_parameters(await browser.open(silently)))

    assert found == [True, True, False, *[True] * 9, False]


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "http://localhost.evil.example/",
        "http://localhost:1@evil.example/",
        "http://localhost@evil.example/",
        "http://evil.example/?http://localhost",
        "http://localhost/other",
        "http://localhost/..",
        "http://localhost/%2e%2e",
        "http://localhost#fragment",
        "http://localhost?more=1",
        "http://localhost\\@evil.example/",
        "http://localhost%2eevil.example/",
        "http://localhost%00.evil.example/",
        "http://localhost\t.evil.example/",
        "http://127.0.0.1/",
        "https://localhost/",
        "//evil.example",
        "localhost",
        "javascript:alert(1)//localhost",
        "data:text/html,x",
        "http://localhost:0/",
        "http://localhost:99999/",
        "http://ⓛocalhost/",
        "http://localhost/\r\nSet-Cookie: a=b",
        "",
    ],
)
async def test_it_rejects_an_unregistered_redirect_uri(browser: Browser, address: str) -> None:
    page = await browser.open(authorize_url(browser.server, redirect_uri=address))

    assert page.state == (400, "error")
    assert "location" not in page.answer.headers
    assert not page.forms
    # Only links of the platform remain.
    assert all("evil" not in link for link in page.links.values())


async def test_it_rejects_the_redirect_uri_of_another_client(browser: Browser) -> None:
    page = await browser.open(authorize_url(browser.server, redirect_uri=PORTAL_REDIRECT))
    unknown = await browser.open(authorize_url(browser.server, client_id=str(ADA.id)))

    assert (page.status, unknown.status) == (400, 400)


async def test_a_changed_redirect_uri_is_validated_again(browser: Browser) -> None:
    page = await browser.open(authorize_url(browser.server))
    page.form.action = page.form.action.replace("http%3A%2F%2Flocalhost%3A4711", "https%3A%2F%2Fevil.example")
    assert "evil" in page.form.action

    done = await browser.send(page.form, credentials())

    assert done.status == 400
    assert browser.session is None


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "localhost:1", "localhost.evil.example"])
async def test_it_rejects_another_host(server: IdentityServer, browser: Browser, host: str) -> None:
    """This prevents DNS rebinding."""
    page = await browser.open(authorize_url(server))

    for path in (urlsplit(authorize_url(server)).path, "/identity/device"):
        answer = await browser.http.get(server.base_url.replace("/identity", path), headers={"Host": host})
        assert answer.status_code == 421
        assert "set-cookie" not in answer.headers
    posted = await browser.http.post(
        page.form.action,
        data={**page.form.values, **credentials()},
        headers={"Host": host, "Origin": f"https://{host}", "Sec-Fetch-Site": "same-origin"},
    )
    assert posted.status_code == 421
    assert host not in posted.text.replace(server.base_url, "")


async def test_a_page_at_another_host_links_to_the_right_one(server: IdentityServer, browser: Browser) -> None:
    wrong = f"{authorize_url(server)}&x=%22%3E%3Cscript%3E"

    page = Page(await browser.http.get(wrong, headers={"Host": "evil.example"}))
    nowhere = Page(await browser.http.get(f"{server.base_url}/device", headers={"Host": "evil.example"}))

    assert list(page.links.values()) == [wrong]
    assert list(nowhere.links.values()) == [f"{server.base_url}/device"]
    assert "<script" not in page.html


@pytest.mark.parametrize("name", ["state", "login_hint", "scope", "client_id", "redirect_uri", "nonce", "prompt"])
async def test_parameters_are_escaped(browser: Browser, name: str) -> None:
    for mode in ("query", "form_post"):
        page = await browser.open(authorize_url(browser.server, response_mode=mode, **{name: MARKUP}))
        assert "<script" not in page.html
        assert "<img" not in page.html
        assert "evaluated-evaluated-" not in page.html


async def test_form_values_are_escaped(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server))
    device = await browser.open(f"{server.base_url}/device")

    wrong = await browser.send(page.form, {"address": MARKUP, "password": MARKUP})
    no_code = await browser.send(device.form, {"user_code": MARKUP})

    assert wrong.form.values["address"] == MARKUP
    assert no_code.form.values["user_code"] == MARKUP
    assert "<script" not in wrong.html + no_code.html
    # The page never contains the password.
    assert wrong.form.values["password"] == ""


async def test_names_are_escaped(server: IdentityServer, browser: Browser) -> None:
    await server.worker.execute("UPDATE identity.accounts SET display_name = $1 WHERE id = $2", MARKUP, ADA.id)
    await server.worker.execute("UPDATE identity.clients SET name = $1 WHERE id = $2", MARKUP, CLI)
    try:
        pages = [await browser.open(authorize_url(server)), await sign_in_at(browser, authorize_url(server))]
        pages += [await browser.open(authorize_url(server)), await browser.open(server.url("oauth2/v2.0/logout"))]
        pages += [await browser.open(authorize_url(server, response_mode="form_post"))]
    finally:
        await server.worker.execute("UPDATE identity.accounts SET display_name = 'Ada' WHERE id = $1", ADA.id)
        await server.worker.execute("UPDATE identity.clients SET name = 'chamberlain-cli' WHERE id = $1", CLI)

    assert all("<script" not in page.html and "<img" not in page.html for page in pages)
    assert "alert(1)" in pages[2].html


async def test_it_does_not_reveal_accounts(browser: Browser) -> None:
    page = await browser.open(authorize_url(browser.server))
    answers, seconds = [], []

    for address in (ADA.address, "nobody@estate.example"):
        taken = []
        for _ in range(3):
            begun = time.perf_counter()
            answers.append(await browser.send(page.form, {"address": address, "password": "wrong"}))
            taken.append(time.perf_counter() - begun)
        # Other load delays a response, so the fastest one counts.
        seconds.append(min(taken))

    assert {answer.status for answer in answers} == {403}
    assert len({answer.html.replace(answer.form.values["address"], "") for answer in answers}) == 1
    # Hashing takes most of the time; without it one would take a tenth of the other.
    assert 0.3 < seconds[0] / seconds[1] < 3


@pytest.mark.parametrize("address", [ADA.address, "nobody@estate.example"])
async def test_too_many_wrong_passwords_block_right_ones_too(
    server: IdentityServer, browser: Browser, address: str
) -> None:
    page = await browser.open(authorize_url(server))
    await fail(server, *[address] * 8)
    for _ in range(2):
        assert (await browser.send(page.form, {"address": address, "password": "wrong"})).status == 403

    blocked = await browser.send(page.form, {**credentials(), "address": address.upper()})

    assert blocked.state == (429, "error")
    assert blocked.answer.headers["retry-after"] == "900"
    assert "15 minutes" in blocked.html
    assert address not in blocked.html
    assert browser.session is None
    # Other addresses are not blocked, and the block ends.
    assert (await browser.send(page.form, {"address": "other@estate.example", "password": "x"})).status == 403
    server.clock.now += timedelta(minutes=15)
    assert (await browser.send(page.form, {"address": address, "password": "wrong"})).status == 403


async def test_concurrent_attempts_do_not_exceed_the_limit(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server))
    await fail(server, *[ADA.address] * 6)

    answers = await asyncio.gather(*(browser.send(page.form, credentials(password=f"wrong {n}")) for n in range(15)))

    statuses = [answer.status for answer in answers]
    assert (statuses.count(403), statuses.count(429)) == (4, 11)


async def test_attempts_for_many_accounts_are_limited_by_network(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server))
    await fail(server, *(f"{number}@estate.example" for number in range(47)))

    tries = (browser.send(page.form, {"address": f"{n}@other.example", "password": "x"}) for n in range(8))
    statuses = [answer.status for answer in await asyncio.gather(*tries)]

    assert (statuses.count(403), statuses.count(429)) == (3, 5)


async def test_a_success_resets_the_counter_of_the_account_only(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server))
    await fail(server, *[ADA.address] * 9)

    assert "code" in response_parameters(await browser.send(page.form, credentials()))

    network = await server.worker.fetchval("SELECT failures FROM identity.sign_in_attempts WHERE kind = 'network'")
    account = await server.worker.fetchval("SELECT failures FROM identity.sign_in_attempts WHERE kind = 'account'")
    assert (network, account) == (9, None)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        # All loopback addresses belong to this machine.
        ("127.0.0.1", "127.44.3.2", True),
        ("127.0.0.1", "::1", True),
        ("127.0.0.1", "::ffff:127.0.0.2", True),
        ("", "", True),
    ],
)
def test_networks_are_grouped(one: str, other: str, *, same: bool) -> None:
    assert (throttling.code_subjects(one) == throttling.code_subjects(other)) == same


async def test_expired_counters_are_deleted(server: IdentityServer, browser: Browser) -> None:
    page = await browser.open(authorize_url(server))
    await fail(server, "one@estate.example", "two@estate.example")
    server.clock.now += timedelta(minutes=16)

    await browser.send(page.form, {"address": "last@estate.example", "password": "x"})

    assert await server.worker.fetchval("SELECT count(*) FROM identity.sign_in_attempts") == 2


@pytest.mark.parametrize("typed_in", [{"address": "", "password": "x"}, {"address": "x", "password": ""}])
async def test_an_empty_field_is_rejected_and_not_counted(
    server: IdentityServer, browser: Browser, typed_in: dict[str, str]
) -> None:
    page = await browser.open(authorize_url(server))

    answer = await browser.send(page.form, typed_in)

    assert answer.state == (400, "sign_in")
    assert await server.worker.fetchval("SELECT count(*) FROM identity.sign_in_attempts") == 0


@pytest.mark.parametrize("address", ["\x00", "a" * 400, "' OR 1=1 --", "ada@estate.example\x00"])
async def test_it_rejects_an_invalid_address(browser: Browser, address: str) -> None:
    page = await browser.open(authorize_url(browser.server))

    answer = await browser.send(page.form, {"address": address, "password": "x"})

    assert answer.status in (400, 403)


async def test_no_user_signs_in_where_other_machines_reach_the_service(
    server: IdentityServer, browser: Browser
) -> None:
    page = await browser.open(authorize_url(server))
    sign_in = await sign_in_at(browser, authorize_url(server))
    assert sign_in.status == 303
    keys = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.http.cookies.jar)
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin", "Cookie": keys}
    open_to_all = Starlette(routes=routes(replace(server.platform, serves_people=False)))
    transport = httpx2.ASGITransport(app=open_to_all)

    async with httpx2.AsyncClient(transport=transport, headers=headers) as http:
        answers = [
            await http.get(authorize_url(server)),
            await http.get(f"{server.base_url}/device"),
            await http.post(page.form.action, data={**page.form.values, **credentials()}),
        ]
        silently = await http.get(authorize_url(server, prompt="none"))

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert all('data-page="error"' in answer.text for answer in answers)
    assert "error=login_required" in silently.headers["location"]


async def test_secrets_are_stored_as_digests(server: IdentityServer, browser: Browser) -> None:
    done = await sign_in_at(browser, authorize_url(server))
    secrets = [browser.session, response_parameters(done)["code"], *credentials().values()]

    rows = await server.worker.fetch("SELECT session::text FROM identity.sessions AS session")
    rows += await server.worker.fetch("SELECT code::text FROM identity.authorization_codes AS code")
    rows += await server.worker.fetch("SELECT attempt::text FROM identity.sign_in_attempts AS attempt")
    hashes = await server.worker.fetch("SELECT password_hash FROM identity.accounts WHERE password_hash IS NOT NULL")

    stored = " ".join(str(row[0]) for row in rows)
    assert stored
    assert all(secret is not None and secret not in stored for secret in secrets)
    assert all(row[0].startswith("$argon2id$") for row in hashes)


async def test_only_static_files_are_served(server: IdentityServer, browser: Browser) -> None:
    style = await browser.http.get(f"{server.base_url}/pages/style.css")

    assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
    for name in ("layout.html", "../page.py", "..%2fpage.py", ""):
        assert (await browser.http.get(f"{server.base_url}/pages/{name}")).status_code == 404
    assert {path.suffix for path in FOLDER.iterdir()} == {".html", ".css"}
