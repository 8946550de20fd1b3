# SPDX-License-Identifier: Apache-2.0
"""A user of Chromium signs in, with and without scripts, on wide and narrow screens."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from playwright.sync_api import Browser, expect

from chamberlain.console.formats import write_time
from tests.chromium import run_chromium
from tests.console.conftest import ConsoleFixture
from tests.console.windows import SHOWN_WITHIN, open_signed_in
from tests.services import ADA_MAIL

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium")]


@pytest.fixture(scope="module")
def chromium(console: ConsoleFixture) -> Iterator[Browser]:
    with run_chromium(console.service.data_dir / "ca.pem") as browser:
        yield browser


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_works(console: ConsoleFixture, chromium: Browser, *, scripts: bool, width: int) -> None:
    context = chromium.new_context(java_script_enabled=scripts, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.set_default_timeout(SHOWN_WITHIN)
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))

    open_signed_in(console, page, ADA_MAIL, "account/")
    expect(page.locator("main[data-page=account]")).to_be_visible(timeout=SHOWN_WITHIN)
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html[data-theme=dark]")).to_be_visible(timeout=SHOWN_WITHIN)

    assert page.evaluate("document.documentElement.scrollWidth") == width
    names = {str(cookie.get("name")) for cookie in context.cookies(console.url)}
    assert {name.startswith("__Host-") for name in names} == {True}
    page.locator("details.menu summary").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.locator("main[data-page=sign_in]")).to_be_visible(timeout=SHOWN_WITHIN)
    assert messages == []
    context.close()


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_scripts_write_times_as_the_server_does(console: ConsoleFixture, chromium: Browser, locale: str) -> None:
    context = chromium.new_context(locale=locale, timezone_id="UTC")
    page = context.new_page()
    page.set_default_timeout(SHOWN_WITHIN)

    page.goto(f"{console.url}account/")
    page.locator("#address").fill(ADA_MAIL)
    page.locator("main button").click()
    page.locator("input[type=password]").fill(console.passwords[ADA_MAIL])
    page.locator("input[type=password]").press("Enter")
    expect(page.locator("main[data-page=account]")).to_be_visible(timeout=SHOWN_WITHIN)

    times = page.locator("time").all()
    moments = [datetime.fromisoformat(each.get_attribute("datetime") or "") for each in times]
    assert times
    assert [f"{each.text_content()} UTC" for each in times] == [write_time(locale[:2], each) for each in moments]
    context.close()
