# SPDX-License-Identifier: Apache-2.0
"""Windows of a real browser, in which a user signs in to the console."""

from typing import Final

from playwright.sync_api import Page

from tests.console.conftest import ConsoleFixture

# Timeout for a page on a busy machine, in milliseconds.
SHOWN_WITHIN: Final = 30_000


def open_signed_in(console: ConsoleFixture, page: Page, address: str, path: str = "") -> None:
    """Open a page of the console, and sign in on the way. The caller waits for the page."""
    page.set_default_timeout(SHOWN_WITHIN)
    page.goto(f"{console.url}{path}")
    page.get_by_label("Work address").fill(address)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Password").fill(console.passwords[address])
    page.get_by_role("button", name="Sign in", exact=True).click()
