# SPDX-License-Identifier: Apache-2.0
"""The console of a running service: sign-in, session and account page, and attacks on them."""

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import parse_qs, parse_qsl, urlsplit

import msgspec
import pytest

from chamberlain.console.app import PAGES
from chamberlain.console.assets import assets
from chamberlain.console.models import Tokens, context_of
from chamberlain.secrets.keyring import load_keyring
from tests.console.browser import Browser, Page
from tests.console.conftest import ConsoleFixture
from tests.postgres import connected
from tests.services import ADA_MAIL, CLEO_MAIL, ZOE_MAIL

pytestmark = pytest.mark.heavy
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
EXPIRED = "UPDATE chamberlain.console_session SET "


def is_signed_in(console: ConsoleFixture, browser: Browser) -> bool:
    return browser.get(console.url).name == "catalog"


def change(console: ConsoleFixture, statement: str) -> None:
    """Change rows of the database, as time or another process does."""

    async def execute() -> None:
        async with connected(console.service.embedded_addresses.worker) as connection:
            await connection.execute(statement)

    asyncio.run(execute())


def begin(console: ConsoleFixture, browser: Browser, address: str = CLEO_MAIL) -> Page:
    """Go as far as the page that leads to the issuer."""
    page = browser.follow(browser.get(console.url))
    return browser.submit(page.form("/console/sign-in"), {"address": address})


def answer_of(console: ConsoleFixture, browser: Browser, address: str = CLEO_MAIL) -> str:
    """Sign in at the issuer, and return the address that it sends the browser back to."""
    page = browser.follow(begin(console, browser, address))
    return browser.submit(page.forms[0], {"address": address, "password": console.passwords[address]}).location


def test_it_works(console: ConsoleFixture) -> None:
    browser = console.browser()

    page = console.sign_in(browser, CLEO_MAIL, "account/")

    assert (page.status, page.name, page.url) == (200, "account", f"{console.url}account/")
    assert ("127.0.0.1", f"__Host-console-session-{console.service.port}") in browser.cookies
    assert page.answer.headers["content-security-policy"] == POLICY
    assert page.answer.headers["cache-control"] == "no-store"
    assert page.answer.headers["x-frame-options"] == "DENY"
    assert "content-encoding" not in page.answer.headers
    assert not [each for each in console.passwords.values() if each in console.service.said()]


def test_a_browser_that_refuses_secure_cookies_signs_in_with_plain_ones(console: ConsoleFixture) -> None:
    browser = console.browser(accepts_secure=False)

    page = console.sign_in(browser)

    assert (page.status, page.name) == (200, "catalog")
    names = {name for host, name in browser.cookies if host == "127.0.0.1"}
    assert {name for name in names if name.startswith("console-")} == names
    assert len(names) == 3


def test_a_browser_that_accepts_secure_cookies_gets_no_others(console: ConsoleFixture) -> None:
    browser = console.signed_in()

    assert all(name.startswith("__Host-") for _, name in browser.cookies)


def test_every_page_sends_strangers_to_the_sign_in(console: ConsoleFixture) -> None:
    for method, path, _ in PAGES:
        browser, url = console.browser(), f"{console.service.url}{path}"

        page = browser.get(url) if method == "GET" else browser.post(url, [])

        assert page.status == 303, path
        assert urlsplit(page.location).path == "/console/sign-in"


def test_both_languages_and_the_theme_are_chosen_in_the_account(console: ConsoleFixture) -> None:
    browser = console.signed_in()
    account = f"{console.url}account/"
    german = {"Accept-Language": "de"}
    assert browser.get(account, german).language == "de"
    page = browser.get(account)

    browser.post(f"{account}preferences", [*page.forms[0].fields[:1], ("language", "en")])
    browser.post(f"{account}preferences", [*page.forms[0].fields[:1], ("theme", "dark")])

    page = browser.get(account, german)
    assert page.language == "en"
    assert 'data-theme="dark"' in page.html
    browser.post(f"{account}preferences", [*page.forms[0].fields[:1], ("language", "xx"), ("theme", '"><script>')])
    assert browser.get(account, german).language == "en"
    assert "<script>" not in browser.get(account).html


def test_a_user_ends_another_session_and_then_all(console: ConsoleFixture) -> None:
    # Those of other tests.
    earlier = console.signed_in(ADA_MAIL)
    earlier.submit(earlier.get(f"{console.url}account/").form("/console/sign-out/everywhere"))
    one, two, three = [console.signed_in(ADA_MAIL) for _ in range(3)]
    other = console.signed_in(CLEO_MAIL)
    page = one.get(f"{console.url}account/")
    ends = [each for each in page.forms if each.action.endswith("/sessions/end")]
    assert len(ends) == 2

    one.submit(ends[0])
    assert sorted(is_signed_in(console, each) for each in (one, two, three)) == [False, True, True]

    one.submit(page.form("/console/sign-out/everywhere"))
    assert [is_signed_in(console, each) for each in (one, two, three, other)] == [False, False, False, True]


def test_signing_out_ends_the_session_at_the_issuer_too(console: ConsoleFixture) -> None:
    browser = console.signed_in()
    secret = dict(browser.cookies)
    page = browser.get(console.url)

    page = browser.follow(browser.submit(page.form("/console/sign-out")))

    assert (page.url.partition("?")[0], page.name) == (f"{console.url}sign-in", "sign_in")
    page = browser.follow(begin(console, browser))
    assert page.url.startswith("https://localhost:")
    assert "password" in page.html
    browser.cookies.update({key: value for key, value in secret.items() if "console-session" in key[1]})
    assert not is_signed_in(console, browser)


@pytest.mark.parametrize(
    "change_of_time",
    ["ends_at = now() - interval '1 second'", "used_at = now() - interval '1 hour 1 second'"],
    ids=["after 8 hours", "after an hour unused"],
)
def test_a_session_ends_in_time(console: ConsoleFixture, change_of_time: str) -> None:
    browser = console.signed_in()

    change(console, f"{EXPIRED}{change_of_time}")

    assert browser.get(console.url).status == 303


def expire_tokens(console: ConsoleFixture) -> list[Tokens]:
    """Let the access tokens of all sessions end. Returns the tokens."""
    keyring = load_keyring(console.service.data_dir / "keys")

    async def expire() -> list[Tokens]:
        found = []
        async with connected(console.service.embedded_addresses.worker) as connection:
            for row in await connection.fetch("SELECT digest, sealed FROM chamberlain.console_session"):
                context = context_of(row["digest"])
                tokens = msgspec.json.decode(keyring.open(row["sealed"], context), type=Tokens)
                ended = msgspec.json.encode(replace(tokens, until=datetime.now(UTC)))
                await connection.execute(
                    f"{EXPIRED}sealed = $2 WHERE digest = $1", row["digest"], keyring.seal(ended, context)
                )
                found.append(tokens)
        return found

    return asyncio.run(expire())


def test_pages_at_once_refresh_an_ended_token_once(console: ConsoleFixture) -> None:
    """The issuer revokes all tokens if a refresh token is used twice, so a third page would fail then."""
    change(console, "DELETE FROM chamberlain.console_session")
    browser = console.signed_in()
    cookies = "; ".join(f"{name}={value}" for (host, name), value in browser.cookies.items() if host == "127.0.0.1")
    (before,) = expire_tokens(console)

    with ThreadPoolExecutor(4) as threads:
        pages = list(threads.map(lambda _: console.http.get(console.url, headers={"Cookie": cookies}), range(4)))

    (after,) = expire_tokens(console)
    assert [each.status_code for each in pages] == [200] * 4
    assert after.refresh != before.refresh
    assert is_signed_in(console, browser)


def test_a_session_whose_tokens_were_revoked_has_ended(console: ConsoleFixture) -> None:
    browser = console.signed_in()
    expire_tokens(console)
    change(console, "DELETE FROM identity.refresh_tokens")

    assert browser.get(console.url).status == 303
    assert not [name for _, name in browser.cookies if "console-session" in name]


def test_a_form_without_fetch_metadata_is_accepted_from_our_origin(console: ConsoleFixture) -> None:
    """Older browsers send no Sec-Fetch-Site."""
    browser = console.signed_in()
    token = browser.get(console.url).forms[0].fields[0]

    answer = browser.post(
        f"{console.url}account/preferences", [token, ("theme", "dark")], {"Origin": console.service.url}
    )

    assert answer.status == 303


def test_another_site_cannot_begin_a_sign_in(console: ConsoleFixture) -> None:
    browser = console.browser()
    page = browser.follow(browser.get(console.url))
    form = page.form("/console/sign-in")
    stranger = console.browser().get(f"{console.url}sign-in?again=1").form("/console/sign-in")

    assert browser.post(form.action, [*stranger.fields, ("address", CLEO_MAIL)]).status == 403
    assert browser.post(form.action, [("address", CLEO_MAIL)]).status == 403
    crossed = {"Sec-Fetch-Site": "cross-site"}
    assert browser.post(form.action, [*form.fields, ("address", CLEO_MAIL)], crossed).status == 403
    assert not [name for _, name in browser.cookies if "pending" in name]


def test_an_answer_with_another_state_is_refused(console: ConsoleFixture) -> None:
    browser, attacker = console.browser(), console.browser()
    begin(console, browser)

    page = browser.get(answer_of(console, attacker))

    assert (page.status, page.name) == (400, "error")
    assert not is_signed_in(console, browser)


@pytest.mark.parametrize("query", ["", "?state=", "?code=x", "?error=access_denied&state={state}", "?state=%ff&code=x"])
def test_an_incomplete_answer_is_refused(console: ConsoleFixture, query: str) -> None:
    browser = console.browser()
    state = parse_qs(urlsplit(begin(console, browser).location).query)["state"][0]

    page = browser.get(f"{console.url}signed-in{query.replace('{state}', state)}")

    assert (page.status, page.name) == (400, "error")


def test_a_code_of_another_sign_in_is_refused(console: ConsoleFixture) -> None:
    """A stolen code does not fit the verifier of the browser that it is given to."""
    browser, victim = console.browser(), console.browser()
    stolen = dict(parse_qsl(urlsplit(answer_of(console, victim, ADA_MAIL)).query))
    state = parse_qs(urlsplit(begin(console, browser).location).query)["state"][0]

    page = browser.get(f"{console.url}signed-in?code={stolen['code']}&state={state}&iss={stolen['iss']}")

    assert (page.status, page.name) == (400, "error")
    assert not is_signed_in(console, browser)


def test_a_used_code_is_refused(console: ConsoleFixture) -> None:
    browser = console.browser()
    answer = answer_of(console, browser)
    pending = {key: value for key, value in browser.cookies.items() if "pending" in key[1]}
    assert browser.get(answer).status == 303
    assert is_signed_in(console, browser)

    again = browser.get(answer)
    browser.cookies.update(pending)
    with_its_state = browser.get(answer)

    assert [(each.status, each.name) for each in (again, with_its_state)] == [(400, "error")] * 2


def test_an_answer_of_another_issuer_is_refused(console: ConsoleFixture) -> None:
    browser = console.browser()
    answer = answer_of(console, browser)

    page = browser.get(answer.replace("0001%2Fv2.0", "0002%2Fv2.0"))

    assert "0002%2Fv2.0" in page.url
    assert (page.status, page.name) == (400, "error")


def test_a_state_planted_by_another_browser_is_refused(console: ConsoleFixture) -> None:
    """The encrypted cookie belongs to the cookie of the browser that began the sign-in."""
    attacker, victim = console.browser(), console.browser()
    begin(console, victim)
    answer = answer_of(console, attacker)
    victim.cookies.update({key: value for key, value in attacker.cookies.items() if "pending" in key[1]})

    page = victim.get(answer)

    assert (page.status, page.name) == (400, "error")
    assert not is_signed_in(console, victim)


def test_a_session_planted_before_the_sign_in_is_not_used(console: ConsoleFixture) -> None:
    attacker, victim = console.signed_in(ADA_MAIL), console.browser()
    planted = {key: value for key, value in attacker.cookies.items() if "console-session" in key[1]}
    ((_, value),) = planted.items()
    port = console.service.port
    victim.get(f"{console.url}sign-in")
    victim.cookies["127.0.0.1", f"console-session-{port}"] = value
    victim.cookies["127.0.0.1", f"console-browser-{port}"] = "A" * 43
    assert not is_signed_in(console, victim)

    victim.cookies.update(planted)
    form = victim.get(f"{console.url}sign-in").form("/console/sign-in")
    page = victim.follow(victim.submit(form, {"address": CLEO_MAIL}))
    page = victim.submit(page.forms[0], {"address": CLEO_MAIL, "password": console.passwords[CLEO_MAIL]})

    assert victim.follow(page).name == "catalog"
    assert victim.cookies["127.0.0.1", f"__Host-console-session-{port}"] != value


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/console/\\evil.example",
        "/console//evil.example",
        "/console/../identity/",
        "/console/%2e%2e/",
        "/console/%0d%0aLocation:%20https://evil.example",
        "javascript:alert(1)",
        "/console@evil.example/",
        '/console/"><script>alert(1)</script>',
    ],
)
def test_a_sign_in_returns_to_this_console_only(console: ConsoleFixture, target: str) -> None:
    browser = console.browser()
    page = browser.get(f"{console.url}sign-in?again=1")
    form = page.form("/console/sign-in")

    page = browser.submit(form, {"address": CLEO_MAIL, "return_to": target})
    page = browser.follow(page)
    page = browser.submit(page.forms[0], {"address": CLEO_MAIL, "password": console.passwords[CLEO_MAIL]})
    page = browser.get(page.location)

    assert page.location == console.url


@pytest.mark.parametrize("address", ["cleo", "@", "cleo@unknown.example", "cleo@estate.example.evil.example", ""])
def test_an_address_of_no_tenant_is_a_fault(console: ConsoleFixture, address: str) -> None:
    page = begin(console, console.browser(), address)

    assert (page.status, page.name) == (400, "sign_in")


def test_each_tenant_signs_in_at_its_own_issuer(console: ConsoleFixture) -> None:
    page = begin(console, console.browser(), ZOE_MAIL)

    assert "e57a7e00-0000-4000-8000-000000000002" in page.location
    assert is_signed_in(console, console.signed_in(ZOE_MAIL))


def test_an_unknown_page_is_not_found(console: ConsoleFixture) -> None:
    browser = console.signed_in()

    page = browser.get(f"{console.url}nothing/here?x=<script>")

    assert (page.status, page.name) == (404, "error")
    assert page.answer.headers["content-security-policy"] == POLICY


def test_another_host_name_of_the_machine_leads_to_the_console(console: ConsoleFixture) -> None:
    browser = console.browser()

    page = browser.get(f"http://localhost:{console.service.port}/console/account/?x=1")

    assert (page.status, page.location) == (303, f"{console.url}account/?x=1")
    assert not browser.cookies


def test_assets_are_compressed_and_kept(console: ConsoleFixture) -> None:
    browser = console.browser()

    for asset in assets().values():
        page = browser.get(f"{console.service.url}{asset.path}")

        assert page.status == 200
        assert page.answer.content == asset.content
        assert page.answer.headers["content-encoding"] == "gzip"
        assert "immutable" in page.answer.headers["cache-control"]
        assert gzip.decompress(asset.compressed) == asset.content
    old = next(iter(assets().values())).path.replace("assets/", "assets/0")
    assert browser.get(f"{console.service.url}{old}").status == 404
