# SPDX-License-Identifier: Apache-2.0
"""Users sign in to the console at an issuer that is not the embedded one: a certified OpenID provider."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.console.browser import Browser, Page
from tests.console.conftest import ConsoleFixture, open_console
from tests.console.openid_provider import CLIENT, SECRET, OpenidProvider, run_openid_provider
from tests.console.test_console import begin, expire_tokens
from tests.service.estate import ESTATE
from tests.services import ADA_MAIL, run_command

pytestmark = [pytest.mark.heavy, pytest.mark.needs("npm")]


@dataclass(frozen=True, slots=True)
class OutsideFixture:
    console: ConsoleFixture
    provider: OpenidProvider

    def begin(self, browser: Browser) -> Page:
        """Go as far as the first page of the provider, or the console."""
        return browser.follow(begin(self.console, browser, ADA_MAIL))

    def answer_of(self, browser: Browser) -> str:
        """Sign in and consent at the provider, and return the address that it sends the browser back to."""
        sign_in = self.begin(browser)
        assert sign_in.url.startswith(f"{self.provider.address}/interaction/")
        consent = browser.follow(browser.submit(sign_in.forms[0], {"login": ADA_MAIL, "password": "any"}))
        page = browser.submit(consent.forms[0])
        while not page.location.startswith(self.console.url):
            page = browser.get(page.location)
        return page.location

    def sign_in(self, browser: Browser) -> Page:
        return browser.follow(browser.get(self.answer_of(browser)))


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutsideFixture]:
    environment = {"CHAMBERLAIN_CONSOLE_CLIENT_ID": CLIENT, "CHAMBERLAIN_CONSOLE_CLIENT_SECRET": SECRET}
    with open_console(environment) as console, run_openid_provider(console.url) as provider:
        register(console, tmp_path_factory.mktemp("outside") / "estate.yaml", provider.address)
        yield OutsideFixture(console, provider)


def register(console: ConsoleFixture, file: Path, issuer: str) -> None:
    run(console, "export", str(file), "--tenant", ESTATE)
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    document["tenants"][0]["issuers"] = [{"issuer": issuer}]
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    run(console, "apply", str(file), "--yes")


def run(console: ConsoleFixture, *arguments: str) -> None:
    done = run_command(*arguments, "--data-dir", str(console.service.data_dir), environment=console.service.environment)
    assert done.returncode == 0, done.stderr


def test_it_works(outside: OutsideFixture) -> None:
    browser, before = outside.console.browser(), len(outside.provider.events())

    page = outside.sign_in(browser)

    assert (page.status, page.url, page.name) == (200, outside.console.url, "catalog")
    assert outside.provider.events()[before:] == ["authorization_code"]


def test_signing_out_ends_the_session_of_the_provider(outside: OutsideFixture) -> None:
    browser, before = outside.console.browser(), len(outside.provider.events())
    console_page = outside.sign_in(browser)
    other = outside.console.browser()
    other.cookies.update({key: value for key, value in browser.cookies.items() if "console" not in key[1]})
    assert outside.begin(other).name == "catalog"

    question = browser.follow(browser.submit(console_page.form("/console/sign-out")))
    assert question.url.startswith(f"{outside.provider.address}/session/end")
    signed_out = browser.follow(browser.submit(question.forms[0], dict(question.forms[0].buttons)))

    assert (signed_out.url, signed_out.name) == (outside.provider.sign_out_uri, "sign_in")
    assert browser.get(outside.console.url).status == 303
    assert outside.begin(browser).url.startswith(f"{outside.provider.address}/interaction/")
    # The session of the other browser was begun by the one that has ended.
    expire_tokens(outside.console)
    assert other.get(outside.console.url).status == 303
    assert outside.provider.events()[before:] == ["authorization_code"] * 2 + ["invalid_grant at grant.error"]


def test_pages_at_once_use_a_refresh_token_once(outside: OutsideFixture) -> None:
    browser = outside.console.browser()
    assert outside.sign_in(browser).name == "catalog"
    before = len(outside.provider.events())

    # The second time it takes the token that the first time has brought.
    assert load_at_once(outside.console, browser) == [200] * 4
    assert load_at_once(outside.console, browser) == [200] * 4

    # A second use of a token would be an error, and end the sign-in.
    assert outside.provider.events()[before:] == ["refresh_token"] * 2


def load_at_once(console: ConsoleFixture, browser: Browser) -> list[int]:
    """Load four pages with tokens that are due; their statuses."""
    expire_tokens(console)
    headers = {"Cookie": "; ".join(f"{name}={value}" for (_, name), value in browser.cookies.items())}
    with ThreadPoolExecutor(4) as threads:
        pages = threads.map(lambda _: console.http.get(console.url, headers=headers), range(4))
        return [each.status_code for each in pages]


def test_a_code_with_another_verifier_is_refused_by_the_provider(outside: OutsideFixture) -> None:
    """A code that was stolen from one browser is of no use in another."""
    victim, thief = outside.console.browser(), outside.console.browser()
    before = len(outside.provider.events())
    stolen, own = outside.answer_of(victim), outside.answer_of(thief)
    code, state = (dict(pair.split("=", 1) for pair in each.partition("?")[2].split("&")) for each in (stolen, own))

    page = thief.get(own.replace(state["code"], code["code"]))

    assert (page.status, page.name) == (400, "error")
    assert outside.provider.events()[before:] == ["invalid_grant at grant.error"]
