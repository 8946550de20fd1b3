# SPDX-License-Identifier: Apache-2.0
"""The page of a request follows its progress in Chromium."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import run_chromium
from tests.console.conftest import ConsoleFixture
from tests.console.requests_by_api import BEN_MAIL, DARA_MAIL, act, directory_fault, request_group, request_mailbox
from tests.console.requests_by_api import wait_for as wait_for_state
from tests.console.windows import SHOWN_WITHIN, open_signed_in
from tests.services import APPROVED_TEMPLATE, CLEO_MAIL

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium")]
# In milliseconds.
SEEN_WITHIN = 1_000


@pytest.fixture(scope="module")
def chromium(console: ConsoleFixture) -> Iterator[Browser]:
    with run_chromium(console.service.data_dir / "ca.pem") as browser:
        yield browser


@contextmanager
def open_request(
    console: ConsoleFixture, chromium: Browser, request_id: str, who: str, *, scripts: bool = True
) -> Iterator[Page]:
    """Sign in on the page of a request. It must write no message to the console of the browser."""
    context = chromium.new_context(java_script_enabled=scripts)
    if scripts:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    open_signed_in(console, page, who, f"requests/{request_id}")
    expect(page.locator("main[data-page=request]")).to_be_visible(timeout=SHOWN_WITHIN)
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    yield page
    assert messages == []
    context.close()


def test_it_works(console: ConsoleFixture, chromium: Browser) -> None:
    """A wait ends, and the result appears without a reload. Its address can be copied."""
    with ExitStack() as stack:
        fault = stack.enter_context(ExitStack())
        fault.enter_context(directory_fault(console, "mailboxes.write", "throttled"))
        request_id = request_mailbox(console, "Wren")
        wait_for_state(console, request_id, "waiting")
        page = stack.enter_context(open_request(console, chromium, request_id, CLEO_MAIL))
        expect(page.locator("#request-progress .state")).to_have_text("Waiting")
        page.evaluate("document.body.dataset.loaded = 'once'")

        fault.close()

        expect(page.locator("#request-progress .state")).to_have_text("Ready", timeout=SHOWN_WITHIN)
        assert page.evaluate("document.body.dataset.loaded") == "once"
        expect(page.locator("[data-said]")).to_have_text("Ready")
        expect(page.locator("#request-actions button")).to_have_count(0)
        page.get_by_role("button", name="Copy address").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == "wren@rooms.estate.example"


def test_a_decision_is_seen_within_a_second_and_keeps_the_focus(console: ConsoleFixture, chromium: Browser) -> None:
    with directory_fault(console, "groups.write", "throttled"):
        request_id = request_group(console, "Xenops", BEN_MAIL, APPROVED_TEMPLATE)
        with open_request(console, chromium, request_id, BEN_MAIL) as page:
            summary, cancel = page.locator("#confirm-cancel summary"), page.locator("#cancel")
            summary.click()
            cancel.focus()

            act(console, request_id, "approve", DARA_MAIL, {"comment": "Fine."})
            decided = time.monotonic()
            expect(page.get_by_text("Approved by Dara Lindqvist")).to_be_visible(timeout=SHOWN_WITHIN)
            seen = time.monotonic()

            assert (seen - decided) * 1000 < SEEN_WITHIN
            expect(page.locator("#request-progress .state")).to_have_text("Waiting", timeout=SHOWN_WITHIN)
            # The question is still open, and its button has the focus.
            expect(cancel).to_be_focused()
            expect(page.locator("[data-said]")).to_contain_text("Waiting")


def test_a_part_that_is_gone_leaves_the_focus_in_its_place(console: ConsoleFixture, chromium: Browser) -> None:
    request_id = request_group(console, "Yaffle", BEN_MAIL, APPROVED_TEMPLATE)
    with open_request(console, chromium, request_id, BEN_MAIL) as page:
        page.locator("#confirm-cancel summary").focus()

        act(console, request_id, "reject", DARA_MAIL, {"comment": "There is one."})

        expect(page.locator("#request-progress .state")).to_have_text("Rejected", timeout=SHOWN_WITHIN)
        expect(page.locator("[data-said]")).to_have_text("Rejected")
        assert page.evaluate("document.activeElement.id") == "request-progress"


def test_without_scripts_the_page_is_loaded_again(console: ConsoleFixture, chromium: Browser) -> None:
    request_id = request_group(console, "Zebra finch", BEN_MAIL, APPROVED_TEMPLATE)
    with open_request(console, chromium, request_id, BEN_MAIL, scripts=False) as page:
        page.get_by_role("link", name="Reload").click()
        expect(page.get_by_role("button", name="Copy address")).to_have_count(0)
        page.locator("#confirm-cancel summary").click()

        page.locator("#cancel").click()

        expect(page.locator("#request-progress .state")).to_have_text("Cancelled", timeout=SHOWN_WITHIN)
        expect(page.get_by_role("link", name="Reload")).to_have_count(0)
