# SPDX-License-Identifier: Apache-2.0
"""The form of a new request in Chromium: preview, errors and people picker, by keyboard."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import run_chromium
from tests.console.conftest import ConsoleFixture
from tests.console.windows import SHOWN_WITHIN, open_signed_in
from tests.services import ADA_MAIL, APPROVED_TEMPLATE, BEN

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium")]
ROOM = "7e000000-0000-4000-8000-000000000003"
PASTE = """(line, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text", text);
  line.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def chromium(console: ConsoleFixture) -> Iterator[Browser]:
    with run_chromium(console.service.data_dir / "ca.pem") as browser:
        yield browser


@pytest.fixture(scope="module")
def page(console: ConsoleFixture, chromium: Browser) -> Iterator[Page]:
    """A page of Ada, who has signed in."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(SHOWN_WITHIN)
    expect.set_options(timeout=SHOWN_WITHIN)
    sign_in(console, page)
    yield page
    context.close()


def sign_in(console: ConsoleFixture, page: Page) -> None:
    open_signed_in(console, page, ADA_MAIL)
    expect(page.locator("main[data-page=catalog]")).to_be_visible()


def test_it_works(console: ConsoleFixture, page: Page) -> None:
    name = f"Kestrel {uuid4().hex[:8]}"
    page.goto(f"{console.url}new/collab/{APPROVED_TEMPLATE}")

    page.get_by_role("textbox", name="Name", exact=False).first.fill(name)
    expect(page.locator(".preview-title")).to_have_text(f"CONF-{name}")
    owners = page.get_by_role("combobox", name="Owners")
    owners.focus()
    page.keyboard.type("okaf")
    expect(page.get_by_role("option", name="Ben Okafor")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator(f'input[name="/owners/-"][value="{BEN}"]')).to_have_count(1)
    expect(owners).to_be_focused()
    expect(page.locator(".preview dd").first).to_contain_text("Ben Okafor")
    page.get_by_role("button", name="Send request").click()

    expect(page).not_to_have_url(f"{console.url}new/collab/{APPROVED_TEMPLATE}")


def test_the_picker_follows_the_combobox_pattern(console: ConsoleFixture, page: Page) -> None:
    page.goto(f"{console.url}new/collab/{APPROVED_TEMPLATE}")
    line = page.get_by_role("combobox", name="Members")

    expect(line).to_have_attribute("aria-expanded", "false")
    line.focus()
    page.keyboard.type("eli")
    option = page.get_by_role("option", name="Eli Nakamura")
    expect(option).to_be_visible()
    expect(line).to_have_attribute("aria-expanded", "true")
    expect(line).to_have_attribute("aria-activedescendant", str(option.get_attribute("id")))
    page.keyboard.press("Escape")
    expect(option).to_be_hidden()
    expect(line).to_have_value("eli")
    page.keyboard.press("ArrowDown")
    expect(option).to_be_visible()
    page.keyboard.press("Enter")
    chip = page.get_by_role("button", name="Remove Eli Nakamura")
    expect(chip).to_be_visible()
    chip.press("Enter")

    expect(chip).to_have_count(0)
    expect(line).to_be_focused()


def test_a_pasted_list_adds_its_people(console: ConsoleFixture, page: Page) -> None:
    page.goto(f"{console.url}new/collab/{APPROVED_TEMPLATE}")
    line = page.get_by_role("combobox", name="Members")
    line.evaluate(PASTE, "Nakamura, Eli <eli@estate.example>; dara@estate.example\nxyzzy@estate.example")

    expect(page.get_by_role("button", name="Remove Eli Nakamura")).to_be_visible()
    expect(page.get_by_role("button", name="Remove Dara Lindqvist")).to_be_visible()
    expect(line).to_have_value("xyzzy@estate.example")
    with page.expect_response(lambda each: each.request.method == "POST"):
        page.get_by_label("Name", exact=False).first.fill("Pasted")
    expect(page.locator(".preview-title")).to_contain_text("Pasted")
    expect(page.locator("[data-pointer='/members'] [data-fault-text]")).to_be_visible()


def test_an_error_appears_after_its_field_and_the_summary_leads_to_it(console: ConsoleFixture, page: Page) -> None:
    page.goto(f"{console.url}new/mail/{ROOM}")
    seats = page.get_by_label("Seats")

    seats.fill("many")
    expect(page.locator("#field_2fcapacity-fault")).to_be_hidden()
    seats.press("Tab")
    expect(page.locator("#field_2fcapacity-fault")).to_be_visible()
    page.get_by_role("button", name="Send request").click()
    expect(page.locator("[data-summary]")).to_be_focused()
    page.locator("[data-summary] a", has_text="Seats").click()

    expect(seats).to_be_focused()
    expect(seats).to_have_attribute("aria-invalid", "true")
    expect(seats).to_have_value("many")


def test_enter_in_a_line_sends_nothing(console: ConsoleFixture, page: Page) -> None:
    page.goto(f"{console.url}new/mail/{ROOM}")
    line = page.get_by_role("textbox", name="Name", exact=False).first

    line.fill(f"Genf {uuid4().hex[:8]}")
    line.press("Enter")

    expect(page.locator(".preview-address")).to_be_visible()
    expect(page).to_have_url(f"{console.url}new/mail/{ROOM}")


def test_a_session_that_ends_stops_neither_preview_nor_form(console: ConsoleFixture, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(SHOWN_WITHIN)
    sign_in(console, page)
    page.goto(f"{console.url}new/collab/{APPROVED_TEMPLATE}")
    context.clear_cookies()
    name = f"Sparrow {uuid4().hex[:8]}"

    page.get_by_role("textbox", name="Name", exact=False).first.fill(name)
    link = page.locator(".preview").get_by_role("link", name="Sign in")
    expect(link).to_be_visible()
    page.get_by_role("button", name="Send request").click()
    expect(page.locator("main[data-page=signed_out]")).to_be_visible()
    with context.expect_page() as opened:
        page.get_by_role("link", name="Sign in").click()
    assert opened.value.evaluate("opener") is None
    sign_in(console, opened.value)
    page.get_by_role("button", name="Continue").click()

    expect(page.get_by_role("textbox", name="Name", exact=False).first).to_have_value(name)
    expect(page.locator(".preview-title")).to_have_text(f"CONF-{name}")
    page.get_by_role("button", name="Send request").click()
    expect(page.locator("main[data-page=request]")).to_be_visible()
    context.close()
