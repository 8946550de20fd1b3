# SPDX-License-Identifier: Apache-2.0
"""Users sign in to the console at an issuer that is not the embedded one, and that is strict."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.console.browser import Browser, Page
from tests.console.conftest import ConsoleFixture, open_console
from tests.console.strict_issuer import CLIENT, SECRET, StrictIssuer, run_strict_issuer
from tests.console.test_console import begin, expire_tokens
from tests.service.estate import ESTATE
from tests.services import ADA_MAIL, run_command

pytestmark = pytest.mark.heavy


@dataclass(frozen=True, slots=True)
class OutsideFixture:
    console: ConsoleFixture
    issuer: StrictIssuer

    def sign_in(self, browser: Browser) -> Page:
        return browser.follow(begin(self.console, browser, ADA_MAIL))


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutsideFixture]:
    environment = {"CHAMBERLAIN_CONSOLE_CLIENT_ID": CLIENT, "CHAMBERLAIN_CONSOLE_CLIENT_SECRET": SECRET}
    with run_strict_issuer() as issuer, open_console(environment) as console:
        issuer.redirect_uri = f"{console.url}signed-in"
        issuer.sign_out_uri = f"{console.url}sign-in"
        register(console, tmp_path_factory.mktemp("outside") / "estate.yaml", issuer.address)
        yield OutsideFixture(console, issuer)


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
    browser = outside.console.browser()

    page = outside.sign_in(browser)
    assert (page.status, page.url, page.name) == (200, outside.console.url, "catalog")
    signed_out = browser.follow(browser.submit(page.form("/console/sign-out")))

    assert (signed_out.url, signed_out.name) == (outside.issuer.sign_out_uri, "sign_in")
    assert browser.get(outside.console.url).status == 303
    assert outside.issuer.refused == []


def test_pages_at_once_use_a_refresh_token_once(outside: OutsideFixture) -> None:
    browser = outside.console.browser()
    assert outside.sign_in(browser).name == "catalog"
    before = outside.issuer.refreshed
    expire_tokens(outside.console)

    with ThreadPoolExecutor(4) as threads:
        headers = {"Cookie": "; ".join(f"{name}={value}" for (_, name), value in browser.cookies.items())}
        pages = list(threads.map(lambda _: outside.console.http.get(outside.console.url, headers=headers), range(4)))

    assert [each.status_code for each in pages] == [200] * 4
    assert outside.issuer.refreshed == before + 1
    assert outside.issuer.refused == []


def test_a_session_ends_when_the_issuer_revokes_its_tokens(outside: OutsideFixture) -> None:
    browser = outside.console.browser()
    assert outside.sign_in(browser).name == "catalog"
    outside.issuer.refresh_tokens.clear()
    expire_tokens(outside.console)

    assert browser.get(outside.console.url).status == 303
    assert outside.issuer.refused == ["invalid_grant"]
    outside.issuer.refused.clear()


def test_a_code_with_another_verifier_is_refused_by_the_issuer(outside: OutsideFixture) -> None:
    """A code that was stolen from one browser is of no use in another."""
    victim, thief = outside.console.browser(), outside.console.browser()
    stolen = victim.get(begin(outside.console, victim, ADA_MAIL).location).location
    own = thief.get(begin(outside.console, thief, ADA_MAIL).location).location
    code, state = (dict(pair.split("=", 1) for pair in each.partition("?")[2].split("&")) for each in (stolen, own))

    page = thief.get(own.replace(state["code"], code["code"]))

    assert (page.status, page.name) == (400, "error")
    assert outside.issuer.refused == ["invalid_grant"]
    outside.issuer.refused.clear()
