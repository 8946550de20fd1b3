# SPDX-License-Identifier: Apache-2.0
"""An approver decides in Chromium, with and without scripts, and sees large requests on narrow screens."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import run_chromium
from tests.console.approval_requests import (
    DARA,
    DARA_MAIL,
    add_people,
    ask,
    cancel,
    clear,
    inbox,
    read,
    review,
    template,
)
from tests.console.conftest import ConsoleFixture
from tests.console.windows import SHOWN_WITHIN, open_signed_in
from tests.services import BEN, CLEO_MAIL

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium")]
# Metadata of templates has these fields.
FIELDS = 14
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


@pytest.fixture(scope="module")
def chromium(console: ConsoleFixture) -> Iterator[Browser]:
    with run_chromium(console.service.data_dir / "ca.pem") as browser:
        yield browser


def sign_in(console: ConsoleFixture, page: Page, address: str, path: str = "") -> None:
    """Sign in from a page of the console."""
    open_signed_in(console, page, address, path)
    expect(page.locator("main[data-page]")).to_be_visible(timeout=SHOWN_WITHIN)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_it_works(console: ConsoleFixture, chromium: Browser, *, scripts: bool) -> None:
    clear(console)
    asked = template(console, [DARA])
    approved, rejected = ask(console, asked), ask(console, asked)
    context = chromium.new_context(java_script_enabled=scripts, locale="en-GB")
    page = context.new_page()
    sign_in(console, page, DARA_MAIL)
    clicks = 0

    page.locator(".badge").click()
    clicks += 1
    expect(page.locator("main[data-page=approvals]")).to_be_visible(timeout=SHOWN_WITHIN)
    page.locator(f"form[action$='{approved}/approve']").get_by_role("button", name="Approve").click()
    clicks += 1
    expect(page.get_by_role("status")).to_be_visible(timeout=SHOWN_WITHIN)

    assert clicks <= 3
    assert read(console, approved)["state"] != "pendingApproval"
    form = page.locator(f"form[action$='{rejected}/approve']")
    form.get_by_role("button", name="Reject").click()
    comment = page.get_by_label("Comment")
    expect(comment).to_be_focused(timeout=SHOWN_WITHIN)
    assert comment.get_attribute("aria-invalid") == "true"
    comment.fill("There is one already.")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("status")).to_be_visible(timeout=SHOWN_WITHIN)
    assert read(console, rejected)["state"] == "rejected"
    expect(page.locator(".badge")).to_have_count(0)
    context.close()


def test_large_requests_fit_into_every_width(console: ConsoleFixture, chromium: Browser) -> None:
    clear(console)
    people = add_people(console, *(f"{LONG} {number}" for number in range(200)))
    fields = [{"key": f"el-text-{number}", "label": LONG, "type": "text"} for number in range(1, FIELDS + 1)]
    asked = template(console, [DARA, BEN], [DARA], [BEN], mode="all", customFields=fields)
    request_id = ask(
        console,
        asked,
        displayName=LONG,
        description=f"{LONG} " * 8,
        owners=people[:100],
        members=people,
        metadata={field["key"]: LONG for field in fields},
    )
    page = chromium.new_page()
    sign_in(console, page, DARA_MAIL)

    for address in (inbox(console), review(console, request_id)):
        page.goto(address)
        expect(page.get_by_role("button", name="Approve")).to_be_visible(timeout=SHOWN_WITHIN)
        for width in (1280, 640, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width, (address, width)
    cancel(console, request_id)
    page.context.close()


def test_the_account_page_changes_language_and_theme(console: ConsoleFixture, chromium: Browser) -> None:
    context = chromium.new_context(locale="en-GB")
    page = context.new_page()
    sign_in(console, page, CLEO_MAIL, "account/")

    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("html[lang=de]")).to_be_visible(timeout=SHOWN_WITHIN)
    page.get_by_role("button", name="Dunkel").click()
    expect(page.locator("html[data-theme=dark]")).to_be_visible(timeout=SHOWN_WITHIN)

    page.goto(inbox(console))
    expect(page.locator("html[lang=de][data-theme=dark] main[data-page=approvals]")).to_be_visible()
    context.close()


def test_an_approver_chooses_a_substitute_from_the_list(console: ConsoleFixture, chromium: Browser) -> None:
    page = chromium.new_page()
    sign_in(console, page, DARA_MAIL, "account/")

    page.get_by_role("combobox", name="Name of the person").press_sequentially("okaf")
    page.get_by_role("option", name="Ben Okafor").click()
    page.get_by_role("button", name="Save substitute").click()

    expect(page.get_by_role("button", name="Withdraw")).to_be_visible(timeout=SHOWN_WITHIN)
    expect(page.locator("main")).to_contain_text("Ben Okafor")
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("button", name="Withdraw")).to_have_count(0, timeout=SHOWN_WITHIN)
    page.context.close()
